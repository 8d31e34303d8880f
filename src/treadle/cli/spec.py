"""`treadle spec`: write an example input for a protocol, and check an input before a run."""

import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import typer

from treadle.cli.config import load_current_settings
from treadle.cli.documents import Fault, faults
from treadle.cli.guard import complain, quote_word
from treadle.cli.library import findings_of, list_protocol_folders, load_protocol, load_with_warning, read_example
from treadle.cli.options import JsonOption
from treadle.cli.output import STDOUT, print_json, print_text, write_new
from treadle.config.project import find_project
from treadle.engines.start import load_run_input
from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.answers.inputs import MAX_TEXT, load_input
from treadle.protocol.fields import RecordType, bare, parse_type
from treadle.protocol.findings import Finding
from treadle.protocol.load import read_stream, read_text
from treadle.protocol.model import Protocol
from treadle.protocol.reading.yaml import read_yaml

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def spec() -> None:
    """Write and check specs, which say what to build."""


@app.command()
def new(
    file: Annotated[
        Path, typer.Argument(help="The file to write: *.yaml, *.md or *.json; - writes YAML to standard output.")
    ] = Path("spec.yaml"),
    protocol: Annotated[
        str | None,
        typer.Option("--protocol", "-p", help="The protocol; by default the setting `protocol.default`."),
    ] = None,
) -> None:
    """Write a commented example of a protocol's input. Never overwrite a file."""
    name = protocol or load_current_settings().config().protocol
    load_with_warning(name)
    if str(file) in STDOUT:
        print_text(read_example(name), nl=False)
        return
    write_new(file, convert_example(read_example(name), file))
    print_text(
        f"{file} is written; edit it, then `treadle spec check {quote_word(file)} --protocol {quote_word(name)}`"
    )
    if file.suffix.lower() == ".json":
        again = f"treadle spec new --protocol {quote_word(name)} -"
        print_text(f"JSON has no comments; `{again}` prints the example with its notes")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="The file to check; - reads YAML or JSON from standard input.")],
    protocol: Annotated[
        str | None,
        typer.Option("--protocol", "-p", help="The protocol; by default every protocol that accepts the file."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Check whether a protocol accepts a file as its input.

    Exit code 0: it does; 2: it does not, and Treadle prints one finding per line.
    """
    found = judge_spec(file, protocol)
    if json:
        print_json(found.as_json())
    elif found.protocols:
        print_text(str(found))
    else:
        complain(str(found))
    if not found.protocols:
        raise typer.Exit(2)


# Check a file as the input of a protocol.

_STDIN: Final = "-"


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a file is a valid input of a protocol: `treadle spec check --json`."""

    schema: Literal[1] = 1
    file: str
    protocols: tuple[str, ...]
    """The protocols that accept it."""
    message: str
    findings: tuple[Fault, ...]
    code: str = ""
    """The kind of fault, if no protocol accepts it."""


class SpecVerdict(msgspec.Struct, frozen=True):
    """The protocols that accept a file, or the findings if none does."""

    file: str
    protocols: tuple[str, ...] = ()
    message: str = ""
    findings: tuple[Finding, ...] = ()
    code: str = "spec.invalid"
    """The kind of fault, if no protocol accepts it."""

    def __str__(self) -> str:
        if self.protocols:
            return f"{self.file} is a valid input for {', '.join(self.protocols)}"
        if not self.findings:
            return f"{self.message} [{self.code}]"
        return "\n".join([self.message, *(f"  {finding}" for finding in self.findings), f"[{self.code}]"])

    def as_json(self) -> Judgement:
        """Convert the verdict for programs."""
        found = faults(self.findings)
        code = "" if self.protocols else self.code
        return Judgement(file=self.file, protocols=self.protocols, message=self.message, findings=found, code=code)


def judge_spec(file: Path, protocol: str | None) -> SpecVerdict:
    """Check a file against a protocol; without one, against every protocol with an input."""
    try:
        text = read_spec(file)
        if protocol is None:
            return _judge_with_all(file, text)
        model = load_with_warning(protocol)
        if not _input_type(model):
            raise TreadleError(
                f"{protocol} asks for no input, so there is nothing to check {file} against", code="spec.not_asked"
            )
        message, findings = _faults(model, file, text)
        return SpecVerdict(str(file), () if findings else (protocol,), message, findings)
    except ProtocolError as error:
        return SpecVerdict(str(file), (), error.message, findings_of(error, str(file)), error.code)
    except TreadleError as error:
        return SpecVerdict(str(file), (), str(error), code=error.code)


def _judge_with_all(file: Path, text: str) -> SpecVerdict:
    """Return the protocols that accept the file; if none does, the findings.

    The findings are those common to all protocols, or those of the protocol that shares most fields with the file.
    """
    models = _models()
    faults = {name: _faults(model, file, text) for name, model in models.items()}
    good = tuple(name for name, (_, findings) in faults.items() if not findings)
    if good:
        return SpecVerdict(str(file), good)
    message, findings = next(iter(faults.values()))
    if all(others == findings for _, others in faults.values()):
        return SpecVerdict(str(file), (), message, findings)
    keys, usual = _keys(file, text), ""
    with suppress(TreadleError):  # other commands report settings that cannot be read
        usual = load_current_settings().config().protocol  # wins if several protocols share the file's fields
    near = max(models, key=lambda name: (len(keys & _fields(models[name])), name == usual, -len(faults[name][1])))
    if not keys & _fields(models[near]):
        raise TreadleError(
            f"{file} has no field that any protocol asks for; name the one you mean: --protocol NAME",
            code="spec.no_protocol",
        )
    guess = f"it is closest to an input of {near}, so Treadle checked it as one"
    message = f"no protocol accepts {file}; {guess} (--protocol names another of {', '.join(models)})"
    return SpecVerdict(str(file), (), message, faults[near][1])


def find_accepting_protocols(file: Path, text: str) -> tuple[str, ...]:
    """Return the protocols that accept a file."""
    return tuple(name for name, model in _models().items() if not _faults(model, file, text)[1])


def _models() -> dict[str, Protocol]:
    """Load the protocols that have an input; skip those that do not load."""
    models = {}
    for name in list_protocol_folders():
        try:
            models[name] = load_protocol(name).protocol
        except ProtocolError:
            continue
    return {name: model for name, model in models.items() if _input_type(model)}


def _input_type(model: Protocol) -> str:
    return model.graphs[model.root].input[1]


def _fields(model: Protocol) -> set[str]:
    """Return all names of the fields of a protocol's input."""
    root = bare(parse_type(_input_type(model)))
    fields = model.types[root.name].fields if isinstance(root, RecordType) else {}
    return {name for field, it in fields.items() for name in (field, *it.also)}


def _keys(file: Path, text: str) -> set[str]:
    """Return the keys of the file, or of its front matter."""
    is_markdown = file.suffix.lower() in (".md", ".markdown")
    try:
        value = read_yaml(text.partition("---")[2].partition("\n---")[0] if is_markdown else text, str(file)).value
    except ProtocolError:
        return set()
    return set(value) if isinstance(value, dict) else set()


def _faults(model: Protocol, file: Path, text: str) -> tuple[str, tuple[Finding, ...]]:
    """Check the file as input of a protocol, in the current project if any; return the message and the findings."""
    project = find_project()
    try:
        if project:
            load_run_input(project, model, text, str(file))
        else:
            load_input(model, text, str(file))
    except ProtocolError as error:
        return error.message, findings_of(error, str(file))
    return "", ()


def read_spec(file: Path) -> str:
    """Read the text of an input; if the file is missing, the error names the command that writes an example."""
    if str(file) == _STDIN:
        return read_stream(sys.stdin.buffer, "standard input", MAX_TEXT)
    if not os.path.lexists(file):
        raise TreadleError(
            f"there is no file {file}; `treadle spec new --protocol NAME {quote_word(file)}` writes an example",
            code="spec.missing",
        )
    return read_text(file, MAX_TEXT, code="spec.unreadable")


# An example input in the format of its file name: YAML, Markdown with front matter, or JSON.

BODY: Final = "description"
_BLOCK: Final = re.compile(rf"^{BODY}:.*\n(?:[ \t]+.*\n|[ \t]*\n)*", re.MULTILINE)
"""The description with all its lines: those below it that are indented or empty."""


def convert_example(text: str, file: Path) -> str:
    """Convert a commented YAML example into the format of the file name."""
    match file.suffix.lower():
        case ".yaml" | ".yml":
            return text
        case ".md" | ".markdown":
            # The description is the text below, everything else the front matter, comments included.
            value = read_yaml(text, "").plain()
            body = value.get(BODY) if isinstance(value, dict) else None
            if not isinstance(body, str):
                return f"---\n{text}---\n"
            return f"---\n{_BLOCK.sub('', text, count=1)}---\n\n{body.strip()}\n"
        case ".json":
            data = msgspec.json.encode(read_yaml(text, str(file)).plain())
            return msgspec.json.format(data, indent=2).decode() + "\n"
        case other:
            what = f"Treadle cannot read files named *{other}" if other else "the name has no extension"
            raise TreadleError(f"{file}: {what}; use the extension .yaml, .md or .json", code="spec.format")
