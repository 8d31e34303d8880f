"""Stories that were begun before Treadle: read from work orders that Treadle has not written itself."""

from contextlib import suppress

from treadle.cli import library
from treadle.cli.config import load_current_settings
from treadle.cli.guard import quote_word
from treadle.config.project import Project, open_project
from treadle.errors import TreadleError
from treadle.git.files import read_plain_file
from treadle.protocol.model import Protocol
from treadle.runtime.placed_files import PlacedFiles
from treadle.views.story_files import STATE, has_story_files, story_globs
from treadle.views.work_order import LeftOff, read_left_off


def find_unfinished_stories(project: Project, protocol: Protocol) -> list[LeftOff]:
    """Return the unfinished stories of a project, each once."""
    if not has_story_files(protocol):
        return []
    placed, found = PlacedFiles(project.local), dict[str, LeftOff]()
    for path in [one for glob in story_globs(protocol, (STATE,)) for one in sorted(project.root.glob(glob))]:
        name = path.relative_to(project.root).as_posix()
        data = read_plain_file(project.root, name)
        if data is not None and not placed.is_ours(name, data) and (one := read_left_off(name, data, protocol)):
            found.setdefault(one.story, one)
    return list(found.values())


def describe_stories_before_any_run() -> list[str]:
    """Describe the unfinished stories of the current project, by its default protocol; empty once it has a store."""
    with suppress(TreadleError):
        project = open_project()
        if not project.store.exists():
            protocol = library.open_protocol(load_current_settings().config().protocol).protocol
            return [describe_story(one) for one in find_unfinished_stories(project, protocol)]
    return []


def describe_story(one: LeftOff) -> str:
    """Describe the position of a story, and the command that continues it."""
    alone = f"; `treadle run SPEC --only {quote_word(one.part)}` runs only its current step" if one.part else ""
    return f"{one.file} says that {one.stands}: `treadle run SPEC` {one.begins}{alone}"
