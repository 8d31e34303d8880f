"""The contract suite of an instance: where it is, and which tests are in it."""

from typing import Final

from treadle.evidence.past import accepted
from treadle.evidence.subject import Subject

_NO_TESTS: Final = (".json", ".md", ".txt", ".yaml", ".yml", ".toml", ".ini", "__init__.py", "conftest.py")


def contract_place(s: Subject) -> str:
    """Where the contract suite is: as the claim says, or the newest accepted exit that says it."""
    said = [s.case.claim, *(one.payload for one in reversed(accepted(s.case, s.inst)))]
    values = [value for each in said for name, value in each.items() if "contract" in name.lower() and value]
    return next((value for value in values if isinstance(value, str)), "")


async def contract_files(s: Subject) -> list[str]:
    """The test files of the contract suite: the file that is named, or those in the folder."""
    place = contract_place(s).rstrip("/")
    entries = await s.entries() if place else {}
    inside = [path for path in entries if path.startswith(f"{place}/") and s.tests.is_test(path)]
    return [place] if place in entries else sorted(path for path in inside if not path.endswith(_NO_TESTS))
