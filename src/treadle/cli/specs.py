"""Whether a file is what a protocol asks for."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.cli import settings
from treadle.cli.advice import word
from treadle.cli.documents import Judgement, faults
from treadle.cli.examine import findings_of, looked_at
from treadle.cli.library import loaded, names
from treadle.config.project import find_project
from treadle.engines.earlier import given
from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.answers.inputs import MAX_TEXT, load_input
from treadle.protocol.fields import RecordType, bare, parse_type
from treadle.protocol.findings import Finding
from treadle.protocol.load import read_stream, read_text
from treadle.protocol.model import Protocol
from treadle.protocol.reading.source import read

_STDIN: Final = "-"
_GUESS: Final = "it is nearest to what {} asks for, and was checked as that"


class Judged(msgspec.Struct, frozen=True):
    """A file with the protocols that take it; without any, what is wrong with it."""

    file: str
    protocols: tuple[str, ...] = ()
    message: str = ""
    findings: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        if self.protocols:
            return f"{self.file} is good for {', '.join(self.protocols)}"
        return "\n".join([self.message, *(f"  {finding}" for finding in self.findings)])

    def as_json(self) -> Judgement:
        """The judgement for programs."""
        found = faults(self.findings)
        return Judgement(file=self.file, protocols=self.protocols, message=self.message, findings=found)


def judged(file: Path, protocol: str | None) -> Judged:
    """What a protocol says to the file; without one, what every protocol says that takes an input."""
    try:
        return _judged(file, protocol)
    except ProtocolError as error:
        return Judged(str(file), (), error.message, findings_of(error, str(file)))
    except TreadleError as error:
        return Judged(str(file), (), str(error))


def _judged(file: Path, protocol: str | None) -> Judged:
    text = text_of_spec(file)
    if protocol is None:
        return _guessed(file, text)
    model = looked_at(protocol)
    if not _input_type(model):
        raise TreadleError(
            f"{protocol} asks for no input, so there is nothing to check {file} against", code="spec.not_asked"
        )
    message, findings = _faults(model, file, text)
    return Judged(str(file), () if findings else (protocol,), message, findings)


def _guessed(file: Path, text: str) -> Judged:
    """Whoever takes the file; else what is wrong with it for all of them, or for the one that knows its fields."""
    models = _models()
    faults = {name: _faults(model, file, text) for name, model in models.items()}
    good = tuple(name for name, (_, findings) in faults.items() if not findings)
    if good:
        return Judged(str(file), good)
    message, findings = next(iter(faults.values()))
    if all(others == findings for _, others in faults.values()):
        return Judged(str(file), (), message, findings)
    keys, usual = _keys(file, text), _usual()
    near = max(models, key=lambda name: (len(keys & _fields(models[name])), name == usual, -len(faults[name][1])))
    if not keys & _fields(models[near]):
        raise TreadleError(
            f"{file} has no field that any protocol asks for; name the one you mean: --protocol NAME",
            code="spec.no_protocol",
        )
    message = f"{file} is good for no protocol; {_GUESS.format(near)} (--protocol names another of {', '.join(models)})"
    return Judged(str(file), (), message, faults[near][1])


def _usual() -> str:
    """The protocol of the settings: of several that know the file's fields, it is the one that is meant."""
    with suppress(TreadleError):  # settings that cannot be read are told by those who need them
        return settings.here().config().protocol
    return ""


def takers(file: Path, text: str) -> tuple[str, ...]:
    """The protocols that take a file."""
    return tuple(name for name, model in _models().items() if not _faults(model, file, text)[1])


def _models() -> dict[str, Protocol]:
    """The protocols that take an input and load."""
    models = {}
    for name in names():
        try:
            models[name] = loaded(name).protocol
        except ProtocolError:
            continue
    return {name: model for name, model in models.items() if _input_type(model)}


def _input_type(model: Protocol) -> str:
    return model.graphs[model.root].input[1]


def _fields(model: Protocol) -> set[str]:
    """The names that the fields of a protocol's input go by."""
    root = bare(parse_type(_input_type(model)))
    fields = model.types[root.name].fields if isinstance(root, RecordType) else {}
    return {name for field, it in fields.items() for name in (field, *it.also)}


def _keys(file: Path, text: str) -> set[str]:
    """The keys of the file, or of its front matter."""
    is_markdown = file.suffix.lower() in (".md", ".markdown")
    try:
        value = read(text.partition("---")[2].partition("\n---")[0] if is_markdown else text, str(file)).value
    except ProtocolError:
        return set()
    return set(value) if isinstance(value, dict) else set()


def _faults(model: Protocol, file: Path, text: str) -> tuple[str, tuple[Finding, ...]]:
    """What is wrong with the file for a protocol, in the project around the current folder if there is one."""
    project = find_project()
    try:
        if project:
            given(project, model, text, str(file))
        else:
            load_input(model, text, str(file))
    except ProtocolError as error:
        return error.message, findings_of(error, str(file))
    return "", ()


def text_of_spec(file: Path) -> str:
    """The text of an input; an error that says how to write one."""
    if str(file) == _STDIN:
        return read_stream(sys.stdin.buffer, "standard input", MAX_TEXT)
    if not os.path.lexists(file):
        raise TreadleError(
            f"{file} is not there; `treadle spec new --protocol NAME {word(file)}` writes an example",
            code="spec.missing",
        )
    return read_text(file, MAX_TEXT)
