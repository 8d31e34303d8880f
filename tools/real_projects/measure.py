"""Runs the stories of all real packages and writes what they measured to `docs/real-projects.md`: `make soak-full`."""

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.real_projects.packages import RECORD

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "real-projects.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
HEAD = "| package | version | tests | suite, s | criteria verified | story, s | date | commit |\n" + "|---" * 8 + "|\n"
# One story at a time: what is measured of one is not to depend on another.
STORIES = ["-m", "pytest", "-q", "-m", "real", "tests/real_projects/test_stories.py", "-p", "no:xdist"]


def main() -> None:
    with TemporaryDirectory() as folder:
        record = Path(folder) / "record.jsonl"
        env = {**os.environ, RECORD: str(record)}
        done = subprocess.run([sys.executable, *STORIES, *sys.argv[1:]], cwd=ROOT, env=env, check=False)
        stories = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    if stories:
        write(stories)
        print(f"{PAGE.relative_to(ROOT)}: {len(stories)} stories measured")
    sys.exit(done.returncode)


def write(stories: list[dict[str, Any]]) -> None:
    """Replace the rows of what was measured; those of other packages stay."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    table, _, after = rest.partition(END)
    rows = {line.split("|")[1].strip(): line for line in table.strip().splitlines()[2:]}
    rows |= {story["package"]: row(story) for story in stories}
    lines = "\n".join(rows[name] for name in sorted(rows))
    PAGE.write_text(f"{before}{BEGIN}\n{HEAD}{lines}\n{END}{after}", encoding="utf-8")


def row(story: dict[str, Any]) -> str:
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    cells = (
        story["package"], story["version"], story["tests"], f"{story['suite']:.1f}", f"{story['verified']} of 12",
        f"{story['seconds']:.0f}", today, commit(),
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def commit() -> str:
    """The commit that was measured, with a mark if the tree has changes."""
    words = ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
