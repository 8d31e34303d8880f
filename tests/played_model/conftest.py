from collections.abc import Iterator

import pytest

from played_model.script import read_scripts
from played_model.server import ModelServer

SCRIPTS = """
scripts:
  hello:
    - say: Hello, ünïcode world.
      usage: {tokens_in: 10, cache_read: 900, cache_write: 90, tokens_out: 20, reasoning: 5}
  write:
    - say: I write.
      call:
        - {tool: [Write, write_file], with: {path: a.txt, content: "x\\n", deep: [{n: 1.5, yes: true, nil: null}]}}
        - first:
            - {tool: Bash, with: {command: ls}}
            - {tool: shell, with: {argv: [ls]}}
    - call: {tool: "*emit_exit", with: {type: Done}}
    - say: Done.
  silent:
    - {}
  busy:
    - fail: {status: 429, times: 2, message: slow down, headers: {retry-after: 7, x-more: "yes"}}
      say: After all.
  broken:
    - fail: {status: 529}
  quota:
    - fail: {status: 429, type: insufficient_quota, message: no money}
  odd:
    - fail: {status: 400, body: {whatever: [1]}}
  cut:
    - {say: A text that is never told to its end., misbehave: cut}
  hang:
    - {say: A text that is never told to its end., misbehave: hang}
  long:
    - {say: "It is too lo", stop_reason: max_tokens}
  slow:
    - {sleep: 3000, say: Too late.}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(read_scripts(SCRIPTS, "scripts.yaml")) as running:
        yield running


@pytest.fixture
def fresh() -> Iterator[ModelServer]:
    """One that has not failed yet, and that a test may close."""
    with ModelServer(read_scripts(SCRIPTS, "scripts.yaml")) as running:
        yield running
