"""Real processes that drive runs: two at once, answers from outside, Ctrl-C, kill -9, and going on afterwards."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.chores import Chores, end, is_running, until
from tests.cli.treadle import status, treadle
from treadle.config.project import Project
from treadle.store.leases import driver_of
from treadle.store.sqlite import opened_store

AGENT = ("--agent", "command:./agent.py")
DECIDE = ("run", "chore.yaml", "-p", "decide", *AGENT)


@pytest.fixture
def chores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chores]:
    """Commands without `background` run in this process, which is another one than that of a run's driver."""
    found = Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield found
    found.release()
    for pid in found.agents():
        end(pid)


def refs(chores: Chores) -> str:
    folder = chores.root / ".git"
    packed = folder / "packed-refs"
    loose = " ".join(str(path.relative_to(folder)) for path in (folder / "refs").rglob("*"))
    return loose + (packed.read_text() if packed.exists() else "")


def test_a_second_driver_refuses_and_names_the_first(chores: Chores) -> None:
    with chores.background(*DECIDE) as first:
        until(chores.agents, "the agent works")
        second = treadle("resume", "sweep-1")
        assert (second.code, second.out, second.error) == (2, "", "run.driven")
        assert f"process {first.pid}" in second.err
        assert treadle("resume").error == "run.driven"
        chores.release()
        first.communicate(timeout=30)
    assert (first.returncode, status("sweep-1")["outcome"]) == (0, "Finished")
    assert len(chores.agents()) == 1


def test_resume_lifts_the_pause_of_a_run_that_another_process_drives(chores: Chores) -> None:
    with chores.background(*DECIDE) as first:
        until(chores.agents, "the agent works")
        assert treadle("pause", "sweep-1").code == 0
        resumed = treadle("resume", "sweep-1")
        assert (resumed.code, resumed.err) == (0, "")
        assert f"process {first.pid} " in resumed.out
        assert treadle("status", "sweep-1", "--json").json()["status"] != "paused"
        assert treadle("pause", "sweep-1").code == 0
        assert treadle("resume", "sweep-1", "--json").json()["paused"] == []
        assert treadle("resume", "sweep-1").code == 2, "there is no pause any more"
        chores.release()
        first.communicate(timeout=30)
    assert first.returncode == 0


def test_an_answer_from_another_process_reaches_the_driver_at_once(chores: Chores) -> None:
    chores.release()
    with chores.background("run", "chore.yaml", "-p", "patient", *AGENT) as first:
        assert first.stdout
        until(lambda: "asks a person" in first.stdout.readline(), "it asks")  # type: ignore[union-attr]
        answer = treadle("answer", "sweep-1", "accept")
        assert (answer.code, f"process {first.pid} " in answer.out) == (0, True)
        first.communicate(timeout=30)
    assert (first.returncode, status("sweep-1")["outcome"]) == (0, "Finished")


def test_ctrl_c_ends_the_agent_keeps_its_work_and_can_be_resumed(chores: Chores) -> None:
    with chores.background(*DECIDE) as first:
        until(chores.agents, "the agent works")
        until(lambda: list(chores.root.glob(".treadle/local/worktrees/*/work.txt")), "it has written")
        first.send_signal(signal.SIGINT)
        _, err = first.communicate(timeout=30)
    assert first.returncode == 130
    assert "`treadle resume sweep-1`" in err
    assert not is_running(chores.agents()[0])
    assert "wip" in refs(chores), "what it wrote is saved"
    chores.release()
    again = treadle("resume")
    assert (again.code, len(chores.agents())) == (0, 2)


def test_a_second_ctrl_c_ends_at_once(chores: Chores) -> None:
    stubborn = chores.root / "agent.py"
    deaf = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint("
    stubborn.write_text(stubborn.read_text().replace("print(", deaf, 1))
    with chores.background(*DECIDE, "--set", "limits.grace=60") as first:
        until(chores.agents, "the agent works")
        assert first.stderr
        until(lambda: "begins" in first.stderr.readline(), "it has begun")  # type: ignore[union-attr]
        first.send_signal(signal.SIGINT)
        until(lambda: "Ctrl-C again stops at once" in first.stderr.readline(), "it heard")  # type: ignore[union-attr]
        first.send_signal(signal.SIGINT)
        assert first.wait(timeout=20) == 130


def test_after_kill_9_the_agent_works_on_and_is_not_started_again(chores: Chores) -> None:
    with chores.background(*DECIDE) as first:
        until(chores.agents, "the agent works")
        first.kill()
        first.wait()
    assert is_running(chores.agents()[0])
    chores.release()
    again = treadle("resume", "sweep-1")
    assert (again.code, len(chores.agents())) == (0, 1)


def test_a_command_that_does_not_drive_leaves_living_agents_alone(chores: Chores) -> None:
    with chores.background(*DECIDE) as first:
        until(chores.agents, "the agent works")
        first.kill()
        first.wait()
    paused = treadle("pause", "sweep-1")
    assert (paused.code, "`treadle resume sweep-1`" in paused.out) == (0, True)
    assert status("sweep-1")["status"] == "paused"
    assert is_running(chores.agents()[0])
    chores.release()
    assert (treadle("resume", "sweep-1").code, len(chores.agents())) == (0, 1)


def test_abort_from_another_process_ends_the_agent_and_the_run(chores: Chores) -> None:
    with chores.background(*DECIDE) as first:
        until(chores.agents, "the agent works")
        assert treadle("abort", "sweep-1").code == 0
        first.communicate(timeout=30)
    assert (first.returncode, status("sweep-1")["outcome"]) == (1, "Aborted")
    assert not is_running(chores.agents()[0])
    assert treadle("resume", "sweep-1").error == "run.ended"


def test_done_reaches_a_driver_that_waits(chores: Chores) -> None:
    with chores.background("serve") as service:
        run = treadle("run", "chore.yaml", "-p", "decide", "--level", "0")
        assert run.code == 3
        until(lambda: _driver(chores) == service.pid, "it is served")
        done = treadle("done", "--exit", "Did", "--field", "summary=x")
        assert f"process {service.pid} drives sweep-1" in done.out
        until(lambda: _outcome(chores) == "Finished", "it ends")
        service.send_signal(signal.SIGTERM)
        assert service.wait(timeout=20) == 0


def test_serve_drives_existing_and_new_runs_and_refuses_a_second_service(chores: Chores) -> None:
    with chores.background(*DECIDE) as first:
        until(chores.agents, "the agent works")
        first.kill()
        first.wait()
    with chores.background("serve") as service:
        until(lambda: _driver(chores) == service.pid, "it is taken up")
        second = treadle("serve")
        assert (second.code, second.error, f"process {service.pid}" in second.err) == (2, "service.running", True)
        chores.release()
        until(lambda: _outcome(chores) == "Finished", "it ends")
        followed = treadle(*DECIDE)
        assert (followed.code, status("sweep-1-2")["outcome"]) == (0, "Finished")
        os.kill(service.pid, signal.SIGINT)
        out, err = service.communicate(timeout=20)
    assert "sweep-1 root: work · worker\n" in out
    assert [line for line in err.splitlines() if "sweep-1 " in line and "Finished" in line]
    assert len(chores.agents()) == 2


def test_serve_in_the_background_of_a_script_is_interrupted_as_soon_as_it_says_that_it_serves(chores: Chores) -> None:
    with chores.background("serve", is_script=True) as service:
        assert service.stdout
        assert str(chores.root) in service.stdout.readline()
        service.send_signal(signal.SIGINT)
        assert service.wait(timeout=20) == 0


def _driver(chores: Chores) -> int:
    with opened_store(Project(chores.root)) as store:
        return driver_of(store.run("sweep-1"))


def _outcome(chores: Chores) -> str:
    with opened_store(Project(chores.root)) as store:
        return store.run("sweep-1").outcome


def test_a_reader_that_goes_away_learns_how_the_run_goes_on(chores: Chores) -> None:
    with chores.background("run", "chore.yaml", "-p", "ask", *AGENT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        chores.release()
        said = process.stderr.read()
        assert process.wait(30) == 1
    assert "`treadle resume sweep-1`" in said
    assert treadle("resume", "sweep-1").code == 3
