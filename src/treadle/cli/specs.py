"""Whether a file is what a protocol asks for."""

from pathlib import Path

from treadle.cli.library import names, opened
from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.answers.inputs import MAX_TEXT, load_input


def accepted_by(file: Path, protocol: str | None) -> list[str]:
    """The protocols that take the file; an error with all that is wrong if none does."""
    text = _text(file)
    if protocol is not None:
        load_input(opened(protocol).protocol, text, str(file))
        return [protocol]
    faults = {name: _faults(name, file, text) for name in names()}
    accepted = [name for name, count in faults.items() if not count]
    if not accepted:
        nearest = sorted(faults.items(), key=lambda entry: entry[1])
        counts = ", ".join(f"{name}: {count}" for name, count in nearest)
        hint = f"`treadle spec check {file} --protocol {nearest[0][0]}` lists them"
        raise TreadleError(f"{file} is good for no protocol (problems by protocol: {counts}); {hint}")
    return accepted


def _faults(name: str, file: Path, text: str) -> int:
    """How much is wrong with the file for a protocol; one that does not load takes nothing."""
    try:
        load_input(opened(name).protocol, text, str(file))
    except ProtocolError as error:
        return max(len(error.findings), 1)
    return 0


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_TEXT:
            raise TreadleError(f"{file} has more than {MAX_TEXT} bytes; make it smaller")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TreadleError(
            f"{file} is not there; `treadle spec new --protocol NAME {file}` writes an example"
        ) from None
    except UnicodeDecodeError as error:
        raise TreadleError(f"{file} is not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except OSError as error:
        raise TreadleError(f"{file} cannot be read: {error.strerror}") from None
