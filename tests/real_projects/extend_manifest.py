"""Adds tests to a manifest as an agent does that finds one: other entries stay.

Arguments: file, spec id, entries as JSON; `-` as the spec id leaves the one that is there.
"""

import json
import sys
from pathlib import Path


def main(name: str, spec_id: str, entries: str) -> None:
    file = Path(name)
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    found.setdefault("acceptance_criteria_map", {}).update(json.loads(entries))
    if spec_id != "-":
        found["spec_id"] = spec_id
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
