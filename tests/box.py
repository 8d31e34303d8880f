"""Where `make box-tools` put bubblewrap, for the tests that need it."""

import asyncio
import os
from pathlib import Path

import pytest

from tools.box.install import FOLDER
from treadle.enclosures.box import BubblewrapBox, find_box

PATH = f"{FOLDER}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
"""With bubblewrap on it, if there is one."""


def box_here(monkeypatch: pytest.MonkeyPatch, hidden: tuple[Path, ...] = ()) -> BubblewrapBox:
    """A box that works; skips the test, saying what to do, if there is none. From here on runs use it."""
    monkeypatch.setenv("PATH", PATH)
    monkeypatch.delenv("TREADLE_SET", raising=False)
    found = asyncio.run(find_box())
    if isinstance(found, str):
        pytest.skip(f"{found}; run `make box-tools`, or `apt install bubblewrap`")
    return BubblewrapBox(program=found.program, env=found.env, hidden=hidden)
