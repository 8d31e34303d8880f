"""Runners that find the lanes of runs."""

import json
from pathlib import Path

import pytest

from treadle.config.detect.folder import Folder
from treadle.config.detect.worktrees import strays


@pytest.mark.parametrize(
    ("package", "files", "said"),
    [
        ({"devDependencies": {"vitest": "4"}}, {}, "vitest also finds"),
        ({"devDependencies": {"vitest": "4"}}, {"vitest.config.ts": "exclude: ['.treadle/**']"}, ""),
        ({"scripts": {"test": "jest --ci"}}, {}, '"<rootDir>/.treadle/"'),
        ({"devDependencies": {"jest": "1"}, "jest": {"testPathIgnorePatterns": ["<rootDir>/.treadle/"]}}, {}, ""),
        ({"devDependencies": {"mocha": "1"}}, {".mocharc.json": '{"ignore": [".treadle/**"]}'}, ""),
        ({"scripts": {"test": "node --test"}}, {}, ""),
        ({}, {}, ""),
    ],
)
def test_what_is_advised(tmp_path: Path, package: dict[str, object], files: dict[str, str], said: str) -> None:
    for name, text in {"package.json": json.dumps(package), **files}.items():
        (tmp_path / name).write_text(text)
    advice = strays(Folder(tmp_path))
    assert said in advice
    assert bool(said) == bool(advice)
