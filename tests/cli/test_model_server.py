"""`treadle model-server` as a process of its own."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.treadle import treadle

BODY = {"model": "m", "messages": [{"role": "user", "content": "[[script:hello]] \x1b[2J"}]}


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    file = tmp_path / "scripts.yaml"
    file.write_text("scripts: {hello: [say: Hi., {say: On., misbehave: hang}]}\n")
    return file


@contextmanager
def started(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "treadle", "model-server", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: "subprocess.Popen[str]") -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def say_hello(url: str) -> str:
    request = urllib.request.Request(f"{url}/v1/messages", json.dumps(BODY).encode(), {"x-api-key": "sk-1"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(json.load(answer)["content"][0]["text"])


def test_it_prints_its_address_and_each_request_and_ends_when_its_input_closes(scripts: Path) -> None:
    with started(str(scripts), "--json") as process:
        welcome = line(process)
        assert welcome == {
            "schema": 1,
            "url": f"http://127.0.0.1:{welcome['port']}",
            "port": welcome["port"],
            "scripts": ["hello"],
        }
        assert say_hello(welcome["url"]) == "Hi."
        told = line(process)
        assert (told["wire"], told["script"], told["step"], told["status"]) == ("anthropic", "hello", 0, 200)
        assert told["body"] == BODY
        assert "sk-1" not in json.dumps(told)
        out, err = process.communicate(timeout=10)  # closes its input
        assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_on_a_signal(scripts: Path, number: int) -> None:
    with started(str(scripts)) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[5].rstrip(";")
        assert process.stdout.readline() == "scripts: hello\n"
        assert say_hello(url) == "Hi."
        assert process.stdout.readline() == "anthropic m hello[0]: 200\n"
        process.send_signal(number)
        assert process.wait(timeout=10) == 0


def test_a_script_with_a_mistake_stops_the_server(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("scripts: {a: [sya: x]}\n")
    outcome = treadle("model-server", str(wrong))
    assert (outcome.code, outcome.lacks(f"{wrong}:1: scripts.a.0: ", "'sya'", "'say'")) == (2, [])
    assert treadle("model-server", str(tmp_path / "none.yaml")).code == 2
    assert treadle("model-server", str(wrong), "--port", "70000").code == 2
