import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from treadle.cli.guard import blame, guard
from treadle.errors import PortError, ProtocolError, TreadleError
from treadle.protocol.findings import Finding, Place


def raising(error: BaseException) -> Callable[[], NoReturn]:
    def run() -> NoReturn:
        raise error

    return run


def test_a_command_that_ends_well() -> None:
    assert guard(lambda: "whatever it returns") == 0


def test_an_error_is_a_sentence_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert guard(raising(TreadleError("v3.yaml:7: unknown key", code="config.unknown_key"))) == 2
    assert capsys.readouterr() == ("", "treadle: v3.yaml:7: unknown key [config.unknown_key]\n")


def test_a_program_gets_the_error_as_a_document(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["treadle", "protocol", "show", "own", "--json"])
    found = Finding(
        Place("own.yaml", 7, 3), "node.impl", "is never reached", "remove it", code="protocol.unreachable_step"
    )
    assert guard(raising(ProtocolError("own does not pass", (found, "and 1 more"), code="protocol.unsound"))) == 2
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert (error["code"], error["message"]) == ("protocol.unsound", "own does not pass")
    assert [(it["file"], it["line"], it["code"]) for it in error["findings"]] == [
        ("own.yaml", 7, "protocol.unreachable_step")
    ]
    assert err.startswith("treadle: own does not pass\n")


@pytest.mark.parametrize(("arguments", "asked"), [(["say", "--", "--json"], False), (["say", "--json", "--"], True)])
def test_json_behind_two_dashes_is_no_option(
    arguments: list[str], asked: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["treadle", *arguments])
    assert guard(raising(PortError("busy", code="store.locked"))) == 2
    assert bool(capsys.readouterr().out) is asked


def test_findings_stand_below_the_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert guard(raising(ProtocolError("v3 has 2 errors", ("node.impl: one", "node.tests: two")))) == 2
    assert (
        capsys.readouterr().err == "treadle: v3 has 2 errors\n  node.impl: one\n  node.tests: two\n[protocol.invalid]\n"
    )


def test_an_interrupt_exits_with_130() -> None:
    assert guard(raising(KeyboardInterrupt())) == 130


def test_an_unexpected_error_is_called_a_bug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREADLE_DEBUG", raising=False)
    assert guard(raising(KeyError("step"))) == 70
    message = capsys.readouterr().err
    assert "KeyError: 'step'" in message
    assert "[treadle.bug]" in message
    assert "TREADLE_DEBUG=1" in message
    assert "Traceback" not in message


def test_a_bug_shows_its_traceback_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_DEBUG", "1")
    with pytest.raises(KeyError):
        guard(raising(KeyError("step")))


def test_an_exit_code_passes_through() -> None:
    with pytest.raises(SystemExit, match="3"):
        guard(raising(SystemExit(3)))


def test_a_broken_pipe_is_silent() -> None:
    script = "import sys; from treadle.cli.guard import guard; sys.exit(guard(lambda: print('x' * 1_000_000)))"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_a_port_error_says_whether_to_try_again() -> None:
    assert PortError("the store is locked", retryable=True).retryable
    assert not PortError("the store is not a database").retryable


@pytest.mark.parametrize("arguments", [["foo"], ["protocol", "show", "nope"], ["demo", "--faults", "2"]])
def test_an_error_with_an_unwritable_stderr_is_no_bug(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "treadle", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    closed = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command]
    done = subprocess.run(closed, stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")


def test_an_error_acts_on_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert guard(raising(TreadleError("a\x1b[31mb\u202e"))) == 2
    assert capsys.readouterr().err == "treadle: a␛[31mb⟨U+202E⟩ [treadle.error]\n"


@pytest.mark.parametrize("arguments", [[], ["--version"], ["protocol", "draw", "v3"]])
def test_an_unwritable_stdout_is_no_bug(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "treadle", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.count("\n"), "No space left on device" in done.stderr) == (74, 1, True)
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    done = subprocess.run(closed, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.count("\n"), "closed" in done.stderr) == (74, 1, True)


@pytest.mark.parametrize("others", [{}, {"PYTHONUTF8": "1"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}])
def test_an_unencodable_output_gets_working_advice(others: dict[str, str]) -> None:
    def said(encoding: str) -> "subprocess.CompletedProcess[bytes]":
        env = {**os.environ, **others, "PYTHONIOENCODING": encoding}
        code = "import sys; from treadle.cli.guard import guard; sys.exit(guard(lambda: print(chr(0x2500))))"
        return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=False)

    failed = said("ascii")
    advice = failed.stderr.decode().strip().rpartition("; set PYTHONIOENCODING=")[2]
    assert (failed.returncode, advice) == (74, "utf-8")
    assert said(advice).returncode == 0


def test_the_code_of_a_long_message_follows_its_last_line() -> None:
    assert blame(TreadleError("it failed\nthis was printed\n\n", code="env.tests")).endswith("printed\n[env.tests]")
    assert blame(TreadleError("it failed", code="env.tests")) == "it failed [env.tests]"
