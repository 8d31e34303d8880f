"""How trees differ is asked once, and not all of it is kept for ever."""

from pathlib import Path

import pytest

from tests.git.place import Stage, git, repository, run, write
from treadle.git import comparisons
from treadle.git.comparisons import compared
from treadle.git.process import Said

RAW = ("-r", "--name-only")


async def commits(root: Path, count: int) -> list[str]:
    found = []
    for n in range(count):
        write(root, {f"{n}.txt": f"{n}\n"})
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", str(n))
        found.append(git(root, "rev-parse", "HEAD"))
    return found


@pytest.mark.parametrize(("most", "largest", "asked"), [(200, 4_000_000, 2), (1, 4_000_000, 3), (200, 6, 3)])
def test_the_latest_answers_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, largest: int, asked: int
) -> None:
    monkeypatch.setattr(comparisons, "_MOST", most)
    monkeypatch.setattr(comparisons, "_LARGEST", largest)

    async def story() -> None:
        there = (await Stage(repository(tmp_path)).start()).repository
        one, two, three = await commits(there.root, 3)
        questions = []
        real = there.git

        async def noted(*words: str) -> Said:
            questions.append(words)
            return await real(*words)

        monkeypatch.setattr(there, "git", noted)
        for _ in range(2):
            assert await compared(there, RAW, one, two) == b"1.txt\n"
        assert await compared(there, RAW, two, three) == b"2.txt\n"
        assert await compared(there, RAW, one, two) == b"1.txt\n"
        assert len(questions) == asked

    run(story())
