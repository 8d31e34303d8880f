"""Stories that were begun before Treadle: what their work orders say, where Treadle has not written them itself."""

from contextlib import suppress

from treadle.cli import library, settings
from treadle.cli.advice import word
from treadle.config.project import Project, open_project
from treadle.errors import TreadleError
from treadle.git.users_files import look_at
from treadle.protocol.model import Protocol
from treadle.runtime.placed import Placed
from treadle.views.left_off import LeftOff, left_off
from treadle.views.story_files import has_story_files, order_globs


def stories_left_off(project: Project, protocol: Protocol) -> list[LeftOff]:
    """Those that stand in the middle, each once."""
    if not has_story_files(protocol):
        return []
    placed, found = Placed(project.local), dict[str, LeftOff]()
    for path in [one for glob in order_globs(protocol) for one in sorted(project.root.glob(glob))]:
        name = path.relative_to(project.root).as_posix()
        data = look_at(project.root, name)
        if data is not None and not placed.is_ours(name, data) and (one := left_off(name, data, protocol)):
            found.setdefault(one.story, one)
    return list(found.values())


def before_any_run() -> list[str]:
    """What there is to say of them in the project around, by its protocol; nothing once it has runs to speak of."""
    with suppress(TreadleError):
        project = open_project()
        if not project.store.exists():
            protocol = library.opened(settings.here().config().protocol).protocol
            return [told(one) for one in stories_left_off(project, protocol)]
    return []


def told(one: LeftOff) -> str:
    """Where a story stands, and how it is taken up."""
    return f"{one.file} says that {one.stands}: {_how(one)}"


def _how(one: LeftOff) -> str:
    alone = f"; `treadle run SPEC --only {word(one.part)}` does the step where it stands" if one.part else ""
    return f"`treadle run SPEC` {one.begins}{alone}"
