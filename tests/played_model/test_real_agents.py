"""The programs that the server is made for, each as it comes, with a fake key and a network of its own."""

from pathlib import Path

import pytest

from tests.real_agents import AGENTS, KEY, Ended, play, starting

SCRIPTS = r"""
scripts:
  hello:
    - say: Hello!!
  write:
    find: {folder: '[Ww]orking directory: (\S+)'}
    steps:
      - say: I write it.
        call:
          first:
            - {tool: Write, with: {file_path: "{folder}/hello.txt", content: "hi\n"}}
            - {tool: exec_command, with: {cmd: "echo hi > hello.txt"}}
            - {tool: write_file, with: {file_path: hello.txt, content: "hi\n"}}
            - {tool: write, with: {filePath: "{folder}/hello.txt", content: "hi\n"}}
      - say: It is written.
  busy:
    - fail: {status: 429, times: 1, headers: {retry-after: 1}}
      call: {tool: nothing}  # so that a title, which is asked for without tools, is not what fails
"""


@pytest.mark.agents
@pytest.mark.parametrize("agent", AGENTS)
def test_a_real_agent_talks_works_and_waits(agent: str, tmp_path: Path) -> None:
    starts = [starting(agent, f"Do it. [[script:{name}]]", tmp_path / name) for name in ("hello", "write", "busy")]
    hello, write, busy = play(SCRIPTS, *starts, folder=tmp_path)

    assert told(hello) == [("hello", 0, 200)], hello
    assert "Hello!!" in hello.out

    assert told(write) == [("write", 0, 200), ("write", 1, 200)], write
    assert (tmp_path / "write" / "work" / "hello.txt").read_text() == "hi\n"

    assert told(busy) == [("busy", 0, 429), ("busy", 0, 200)], busy

    assert [ended.code for ended in (hello, write, busy)] == [0, 0, 0]
    assert KEY not in repr([ended.exchanges for ended in (hello, write, busy)])


def told(ended: Ended) -> list[tuple[str, int, int]]:
    return [(each.script, each.step, each.status) for each in ended.turns]
