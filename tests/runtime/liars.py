"""Agents' programs that do not play fair: `python liars.py NAME`; each stops by itself."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

OUT = Path(os.environ["TREADLE_OUT"])


def answer(body: object, act: str = os.environ["TREADLE_ACT"], token: str = os.environ["TREADLE_TOKEN"]) -> None:
    head = {"format": 1, "act": act, "token": token, "retry": None, "at": 0, "via": "emit"}
    (OUT / "answer.json").write_text(json.dumps({**head, "answer": body}))


def honest() -> None:
    answer({"exit": {"type": "Ok"}})


def hangs() -> None:
    signal.alarm(100)
    signal.pause()


def floods() -> None:
    """As many megabytes as it is told, and an answer at the end of it."""
    line = b"x" * 1_000_000
    for _ in range(int(sys.argv[2])):
        os.write(1, line)
    os.write(1, b'\n{"exit": {"type": "Ok"}}\n')


def says_no_text() -> None:
    os.write(1, b'{"exit": {"type": "Ok", "note": "caf\xe9"}}\n')


def says_fifty_megabytes() -> None:
    sys.stdout.write(json.dumps({"exit": {"type": "Ok", "note": "x" * 50_000_000}}))


def says_it_deeply() -> None:
    sys.stdout.write('{"exit": {"type": "Ok", "note": ' + "[" * 100_000 + "]" * 100_000 + "}}")


def says_much() -> None:
    sys.stdout.write(json.dumps({"exit": {"type": "Ok", "note": "x" * 900_000}}))


def breeds() -> None:
    """A child that outlives its parent in a session of its own."""
    program = (
        "import os, pathlib, signal; signal.alarm(100); "
        "pathlib.Path('pid').write_text(str(os.getpid())); signal.pause()"
    )
    subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    while not Path("pid").exists() or not Path("pid").read_text():
        pass
    honest()


def says_nothing() -> None:
    pass


def only_complains() -> None:
    sys.stderr.write("the exit must be Ok or Nok\n")


def breaks_aloud() -> None:
    sys.stdout.write("no network here\n")
    sys.exit(3)


def breaks() -> None:
    sys.stderr.write("out of credits\n")
    sys.exit(3)


def answers_twice() -> None:
    answer({"exit": {"type": "Nok"}})
    honest()


def answers_for_another() -> None:
    answer({"exit": {"type": "Ok"}}, act="root:work#7.7")


def answers_with_an_old_token() -> None:
    answer({"exit": {"type": "Ok"}}, token="0" * 32)


def hands_over_an_old_attempt() -> None:
    Path(".ai").mkdir(exist_ok=True)
    Path(".ai/HANDOFF.md").write_text("---\nstep: work\nattempt: 7\nstatus: pass\n---\nDone long ago.\n")


def answers_no_json() -> None:
    (OUT / "answer.json").write_text('{"exit": ')


def answers_no_text() -> None:
    (OUT / "answer.json").write_bytes(b'{"format": 1, "act": "\xff\xfe"}')


def answers_fifty_megabytes() -> None:
    with (OUT / "answer.json").open("w") as file:
        file.write('{"exit": {"type": "Ok", "note": "')
        for _ in range(50):
            file.write("y" * 1_000_000)
        file.write('"}}')


def answers_deeply() -> None:
    (OUT / "answer.json").write_text("[" * 200_000 + "]" * 200_000)


def answers_through_a_pipe() -> None:
    os.mkfifo(OUT / "answer.json")


def contradicts_itself() -> None:
    honest()
    sys.stdout.write('{"exit": {"type": "Nok"}}')


def claims_a_strange_exit() -> None:
    answer({"exit": {"type": "AllTestsPass"}})


def breaks_once() -> None:
    """The first try breaks; the second, in the same lane, does not."""
    if Path("tried").exists():
        honest()
    else:
        Path("tried").touch()
        sys.exit(1)


def waits_to_be_nudged() -> None:
    note = Path(os.environ["TREADLE_BUNDLE"], "nudge.md")
    signal.alarm(60)
    while not note.exists():
        time.sleep(0.02)
    answer({"exit": {"type": "Ok", "note": note.read_text()}})


if __name__ == "__main__":
    globals()[sys.argv[1]]()
