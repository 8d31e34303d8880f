"""Agents' programs, most of them bad: `python hostile.py NAME`; they import little, so that they start quickly."""

import json
import os
import signal
import sys
from pathlib import Path

LIFE = 120
"""Seconds after which each of them ends by itself, so that a test that fails leaves nothing behind for ever."""


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def note(pid: int) -> None:
    with Path("pids").open("a") as file:
        file.write(f"{pid}\n")


def answers() -> None:
    say("hello")
    body = {
        "format": 1,
        "act": os.environ["TREADLE_ACT"],
        "token": os.environ["TREADLE_TOKEN"],
        "retry": None,
        "at": 0,
        "via": "emit",
        "answer": {"exit": {"type": "Ok"}},
    }
    part = Path(os.environ["TREADLE_OUT"], "part")
    part.write_text(json.dumps(body))
    part.replace(part.with_name("answer.json"))


def answers_and_stays() -> None:
    answers()
    works()


def works() -> None:
    note(os.getpid())
    say("hello")
    while True:
        signal.pause()


def ignores_term() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    works()


def leaves(deaf: bool = False) -> None:
    """One child in its own session, one that has daemonised, one that has also forgotten its environment."""
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN); " if deaf else ""
    for depth, env in ((1, dict(os.environ)), (2, dict(os.environ)), (2, {})):
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if depth == 2 and os.fork():
                os._exit(0)
            os.set_inheritable(writing, True)
            ready = f"os.write({writing}, b'%d' % os.getpid()); os.close({writing}); signal.pause()"
            program = f"import os, signal; signal.alarm({LIFE}); {ignore}{ready}"
            os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", program], env)
        os.close(writing)
        note(int(os.read(reading, 20)))


def leaves_and_stays() -> None:
    leaves()
    works()


def floods_much() -> None:
    floods(200)


def floods(megabytes: int = 30) -> None:
    line = b"x" * 999 + b"\n"
    for _ in range(megabytes):  # each write is blocked until all of it is taken
        os.write(1, line * 1000)
    say("the end")


def says_nothing() -> None:
    pass


def says_no_text() -> None:
    os.write(1, b"\xff\xfe\x80 \x1b[31mred\x1b[0m \x00 caf\xc3\xa9\n")


def closes_its_output() -> None:
    os.close(1)
    os.close(2)
    Path("went-on").touch()
    os._exit(7)


def kills_its_keeper() -> None:
    note(os.getpid())
    os.kill(os.getppid(), signal.SIGKILL)
    while True:
        signal.pause()


def leaves_the_deaf() -> None:
    leaves(deaf=True)


def stops_its_keeper() -> None:
    leaves()
    note(os.getpid())
    os.kill(os.getppid(), signal.SIGSTOP)
    while True:
        signal.pause()


def kills_itself() -> None:
    sys.stderr.write("last words\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def ends_with_three() -> None:
    sys.exit(3)


def dumps() -> None:
    Path("environment.json").write_text(json.dumps(dict(os.environ)))


def reads() -> None:
    say(f"input: {sys.stdin.read()!r}, session: {os.getsid(0) == os.getppid()}, folder: {Path.cwd()}")


if __name__ == "__main__":
    signal.alarm(LIFE)
    globals()[sys.argv[1]]()
