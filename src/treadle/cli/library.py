"""The protocols available in the current folder: the built-in ones, and the project's own in `.treadle/`.

A project changes protocols by overlays, templates and rules; a change that cannot apply is reported, never skipped.
Commands that run a protocol refuse one with errors; commands that show it only warn.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from treadle.cli.documents import Fault, faults
from treadle.cli.guard import complain, quote_word
from treadle.cli.project import OWN_FOLDER, root
from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.alone import TERMS_FILE, Terms, read_terms
from treadle.protocol.check import check
from treadle.protocol.findings import LOAD, Finding, Place, suggest
from treadle.protocol.load import BUILT_IN, Loaded, available, find, load_source, read_text, read_tree
from treadle.protocol.model import Protocol, base_of
from treadle.protocol.reading.assembly import MAIN
from treadle.protocol.reading.part import quote_name
from treadle.simulate.scope import FILE, SMALL, Scope, read_scopes, unknown_names
from treadle.views.words import count_words

# A project's changes to protocols: overlays, templates, rules. A change that cannot apply is reported, never skipped.

OVERLAY: Final = ".yaml"
NOTES: Final = ".md"


def own_folder(name: str) -> Path:
    """Return one of the project's folders for Treadle: `protocols`, `overlays` or `templates`."""
    return Path(root()) / OWN_FOLDER / name


def find_rules_file() -> Path | None:
    """Return the project's rules file, or None; raise `ProtocolError` if its path is a folder or a broken link."""
    path = Path(root()) / ".ai" / "step-rules.yaml"
    if not os.path.lexists(path):
        return None
    if found := _no_file(path):
        raise ProtocolError(f"{path} cannot be loaded", tuple(found), code="protocol.invalid")
    return path


def find_overlays(name: str) -> list[Path]:
    """Return the project's overlays that extend this protocol."""
    return [path for path in _entries(own_folder("overlays")) if path.suffix == OVERLAY and read_extends(path) == name]


def find_templates(name: str) -> list[tuple[str, Path]]:
    """Return the project's templates that replace those of a protocol, by template name."""
    folder = own_folder("templates") / name
    return [(path.relative_to(folder).as_posix(), path) for path in sorted(folder.rglob("*.jinja"))]


def find_misplaced(known: Collection[str]) -> list[Finding]:
    """Find everything in the project's folders that applies to none of the known protocols."""
    folders = [own_folder(name) for name in ("", "protocols", "overlays", "templates")]
    found = [
        _misplaced(Place(str(path)), "", "this must be a folder", "move it away")
        for path in folders
        if os.path.lexists(path) and not path.is_dir()
    ]
    for path in _entries(own_folder("overlays")):
        found += _overlay_faults(path, known)
    for path in _entries(own_folder("templates")):
        if path.name not in known:
            found.append(_unknown(Place(str(path)), "templates", path.name, known))
    return found


def _entries(folder: Path) -> list[Path]:
    """List a folder, without hidden files and notes."""
    try:
        entries = list(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise TreadleError(f"{folder} cannot be read: {error.strerror}", code="file.unreadable") from None
    return sorted(path for path in entries if not path.name.startswith(".") and path.suffix != NOTES)


def _overlay_faults(path: Path, known: Collection[str]) -> list[Finding]:
    if faults := _no_file(path):
        return faults
    if path.suffix != OVERLAY:
        hint = f"rename it to {path.stem}{OVERLAY}" if path.suffix == ".yml" else "rename it, or move it away"
        return [_misplaced(Place(str(path)), "", f"an overlay's name ends in {OVERLAY}", hint)]
    try:
        tree = read_tree(path)
    except ProtocolError as error:
        return list(findings_of(error, str(path)))
    place, name = tree.key_place("extends"), read_extends(path)
    if not name:
        hint = f"write `extends:` and one of {', '.join(known)}"
        return [_misplaced(place, "extends", "this overlay does not say which protocol it changes", hint)]
    return [] if name in known else [_unknown(place, "extends", name, known)]


def read_extends(path: Path) -> str:
    """Return the protocol named under `extends`; empty if the key is missing or the file cannot be read."""
    try:
        tree = read_tree(path)
    except ProtocolError:
        return ""
    entry = tree.value.get("extends") if isinstance(tree.value, dict) else None
    return entry.value.partition("@")[0] if entry and isinstance(entry.value, str) else ""


def _no_file(path: Path) -> list[Finding]:
    """Return why a path is no file that can be read; empty if it is one."""
    if path.is_dir():
        return [_misplaced(Place(str(path)), "", "this is a folder, and should be a file", "move it away")]
    if path.is_symlink() and not path.exists():
        return [_misplaced(Place(str(path)), "", "this link leads nowhere", "repair or remove it")]
    return []


def _unknown(place: Place, where: str, name: str, known: Collection[str]) -> Finding:
    hint = " ".join(filter(None, (suggest(name, known), f"choose from {', '.join(known)}")))
    return _misplaced(place, where, f"there is no protocol '{name}'", hint)


def _misplaced(place: Place, where: str, message: str, hint: str) -> Finding:
    return Finding(place, where, message, hint, LOAD, code="protocol.overlay")


EXAMPLE: Final = "example.yaml"


def list_protocol_folders() -> dict[str, Path]:
    """Map each protocol that can be named here to its folder."""
    return available([own_folder("protocols")])


def is_built_in(name: str) -> bool:
    """Whether Treadle comes with a protocol of this name."""
    return name in available()


def source_of(folder: Path) -> str:
    """Describe where a protocol comes from."""
    return "built in" if folder.is_relative_to(BUILT_IN) else str(folder)


def open_protocol(name: str) -> Loaded:
    """Load a protocol by name or path; refuse a named one if any change of the project cannot apply."""
    known = list_protocol_folders()
    found = find_misplaced(known) if name in known else []
    if found:
        raise ProtocolError("the project's changes cannot be applied", tuple(found), code="protocol.invalid")
    return load_protocol(name)


def load_protocol(name: str) -> Loaded:
    """Load a protocol by name or path; a named one with those changes of the project that apply."""
    known = list_protocol_folders()
    if name not in known:
        return load_source(find_folder(name))
    return load_source(
        name,
        search=[own_folder("protocols")],
        overlays=find_overlays(name),
        templates=dict(find_templates(name)),
        rules=find_rules_file() if (known[name] / "step-rules.yaml").is_file() else None,
    )


def find_folder(name: str) -> Path:
    """Find the folder of a protocol, by name or path."""
    known = list_protocol_folders()
    if name in known:
        return known[name]
    if not os.path.exists(name) and Path(name).name == name:  # noqa: PTH110 - a name too long for a path does not exist
        hint = suggest(name, known)
        raise TreadleError(
            f"there is no protocol {quote_name(name)}{f' ({hint})' if hint else ''}; choose from {', '.join(known)}",
            code="protocol.unknown",
        )
    return find(Path(name))


def read_example(name: str) -> str:
    """Read the commented example of a protocol's input: its own, or that of the protocol that it extends."""
    own = find_folder(name)
    for place in _lineage(own):
        if (place / EXAMPLE).is_file():
            return read_text(place / EXAMPLE)
    raise ProtocolError(
        f"{own / EXAMPLE}: this protocol has no example of its input; write one, or see its page",
        code="protocol.no_example",
    )


def read_protocol_terms(name: str) -> dict[str, Terms]:
    """Read the terms for running steps of a protocol alone: its own, or those of the protocol that it extends."""
    found = next((place / TERMS_FILE for place in _lineage(find_folder(name)) if (place / TERMS_FILE).is_file()), None)
    return read_terms(read_tree(found)) if found else {}


def _lineage(own: Path) -> Iterator[Path]:
    """Yield a protocol's folder, then those that it extends; a protocol may extend the built-in one of its own name."""
    seen: list[Path] = []
    at: Path | None = own
    while at is not None:
        yield at
        seen.append(at.resolve())
        base = read_extends(at / MAIN)
        places = [place / base for place in (own_folder("protocols"), BUILT_IN)] if base else []
        at = next((place for place in places if (place / MAIN).is_file() and place.resolve() not in seen), None)


def read_protocol_scopes(name: str) -> dict[str, Scope]:
    """Return the named scopes of a protocol, for `explore`; the first one is the default."""
    path = find_folder(name) / FILE
    return {SMALL.name: SMALL} | (read_scopes(read_text(path), str(path)) if path.is_file() else {})


# The findings in protocols: `check` lists them all, commands that show a protocol warn, commands that run it refuse.

TOLD: Final = 3
"""The number of findings in a refusal; `check` lists them all."""


class ProtocolFault(Fault, frozen=True, kw_only=True):
    """One thing that is wrong with a protocol."""

    protocol: str


class ExaminedProtocol(msgspec.Struct, frozen=True):
    """A protocol with its findings."""

    name: str
    findings: tuple[Finding, ...]
    summary: str = ""

    @property
    def failed(self) -> bool:
        return any(finding.level == "error" for finding in self.findings)

    def lines(self) -> Iterator[str]:
        """Yield the findings, one per line, then a summary."""
        here = f"{Path.cwd()}/"
        yield from (str(finding).removeprefix(here) for finding in self.findings)
        errors = sum(finding.level == "error" for finding in self.findings)
        found = (
            f"{count_words(len(self.findings), 'finding')}, {errors} to repair"
            if self.findings
            else f"{self.summary}, no findings"
        )
        yield f"{self.name}: {found}"

    def as_json(self) -> Iterator[ProtocolFault]:
        for fault in faults(self.findings):
            yield ProtocolFault(protocol=self.name, **msgspec.structs.asdict(fault))


def examine(wanted: Iterable[str]) -> list[ExaminedProtocol]:
    """Load and check protocols, by default all available ones, and the project's changes that apply to none of them."""
    known = list_protocol_folders()
    wanted = list(wanted) or list(known)
    results = [_examined(name) for name in wanted]
    stray = tuple(find_misplaced(known)) if any(name in known for name in wanted) else ()
    return [*results, ExaminedProtocol("the project's changes", stray)] if stray else results


def _examined(name: str) -> ExaminedProtocol:
    try:
        found = load_protocol(name)
    except TreadleError as error:
        return ExaminedProtocol(name, findings_of(error, name))
    graphs = found.protocol.graphs
    steps = sum(len({base_of(step) for step in graph.steps}) for graph in graphs.values())
    summary = f"{count_words(len(graphs), 'graph')}, {count_words(steps, 'step')}"
    return ExaminedProtocol(name, (*_scope_faults(name, found.protocol), *_checked(found)), summary)


def _scope_faults(name: str, protocol: Protocol) -> tuple[Finding, ...]:
    """Return the findings in a protocol's scopes file, which only `explore` reads."""
    try:
        named = read_protocol_scopes(name)
    except TreadleError as error:
        return findings_of(error, name)
    place = Place(str(find_folder(name) / FILE))
    return tuple(
        Finding(place, f"scope {scope.name}", problem, code="protocol.scope")
        for scope in named.values()
        for problem in unknown_names(protocol, scope)
    )


def findings_of(error: TreadleError, place: str) -> tuple[Finding, ...]:
    """Convert an error into findings."""
    found = error.findings if isinstance(error, ProtocolError) else ()
    return tuple(it for it in found if isinstance(it, Finding)) or (
        Finding(Place(place), "", str(error), code=error.code),
    )


def load_sound_protocol(name: str) -> Protocol:
    """Load a protocol to run; refuse one that does not pass its checks."""
    found = open_protocol(name)
    errors = _errors(found)
    if errors:
        more = (f"and {len(errors) - TOLD} more",) if len(errors) > TOLD else ()
        raise ProtocolError(_refusal(name, errors), (*errors[:TOLD], *more), code="protocol.unsound")
    return found.protocol


def load_with_warning(name: str) -> Protocol:
    """Load a protocol to show; warn if it does not pass its checks."""
    found = open_protocol(name)
    errors = _errors(found)
    if errors:
        complain(f"warning: {_refusal(name, errors)}")
    return found.protocol


def _checked(found: Loaded) -> list[Finding]:
    return found.relocate(check(found.protocol, found.place_of))


def _errors(found: Loaded) -> list[Finding]:
    return [finding for finding in _checked(found) if finding.level == "error"]


def _refusal(name: str, errors: list[Finding]) -> str:
    count = count_words(len(errors), "finding")
    return f"{name} does not pass its checks, {count}; run `treadle protocol check {quote_word(name)}`"
