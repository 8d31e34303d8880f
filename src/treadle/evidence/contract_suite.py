"""The contract suite of an instance: where it is, and which tests are in it."""

from collections.abc import Mapping
from typing import Final

from treadle.evidence.past import accepted, commit_of
from treadle.evidence.subject import Subject
from treadle.protocol.items import Json

_NO_TESTS: Final = (".json", ".md", ".txt", ".yaml", ".yml", ".toml", ".ini", "__init__.py", "conftest.py")


def contract_place(s: Subject) -> str:
    """Where the contract suite is: as the claim says, or the newest accepted exit that says it."""
    said = [s.case.claim, *(one.payload for one in reversed(accepted(s.case, s.inst)))]
    return next((place for each in said if (place := _place_in(each))), "")


def _place_in(fields: Mapping[str, Json]) -> str:
    values = [value for name, value in fields.items() if "contract" in name.lower() and value]
    return next((value for value in values if isinstance(value, str)), "")


async def contract_files(s: Subject) -> list[str]:
    """The test files of the contract suite: the file that is named, or those in the folder."""
    return await _files(s, contract_place(s))


async def planned_contract(s: Subject) -> list[str]:
    """The test files that the contract suite had when it was accepted; none if nothing accepted names one."""
    for one in reversed(accepted(s.case, s.inst)):
        place, commit = _place_in(one.payload), commit_of(s.case, one)
        if place and commit:
            return await _files(s, place, commit)
    return []


async def _files(s: Subject, place: str, commit: str = "") -> list[str]:
    place = place.rstrip("/")
    entries = await s.entries(commit) if place else {}
    inside = [path for path in entries if path.startswith(f"{place}/") and s.tests.is_test(path)]
    return [place] if place in entries else sorted(path for path in inside if not path.endswith(_NO_TESTS))
