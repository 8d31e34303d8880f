"""What checks have measured in a story: never what an agent says about it."""

from collections.abc import Sequence
from typing import Final

import msgspec

from treadle.kernel.events import CheckResult
from treadle.protocol.items import Json
from treadle.views.bank.standing import payload_ref
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import payload, texts
from treadle.views.payload import Get

_LINTS: Final = frozenset({"lint", "post_check"})


class Tests(msgspec.Struct, frozen=True, kw_only=True, rename={"passed": "pass", "failed": "fail", "skipped": "skip"}):
    """How many tests ended how."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured last."""

    tests: Tests | None = None
    failing: tuple[str, ...] = ()
    lint: bool | None = None
    """Whether the linter and the project's own check found nothing; None: there is none, or nobody has run it."""


def measured(deeds: Sequence[Deed], get: Get) -> Measured:
    """What the checks of some activities say, the last word on each question."""
    records = (payload(get, result.report_ref) for deed in reversed(deeds) for result in _results(deed))
    tests, failing = next((_tests(it) for it in records if isinstance(it.get("tests"), dict)), (None, ()))
    return Measured(tests=tests, failing=failing, lint=_lint(deeds, get))


def changed_by(deed: Deed, get: Get) -> tuple[str, ...]:
    """The files that a session has changed, as git told."""
    for result in _results(deed):
        record = payload(get, result.report_ref)
        if "files_changed" in record:
            return texts(record["files_changed"])
    ref = deed.found or (deed.failures[-1].detail_ref if deed.failures else "")
    failure = payload(get, ref) if ref else {}
    return texts(payload(get, payload_ref(deed)).get("files_changed") or failure.get("files_changed"))


def _results(deed: Deed) -> tuple[CheckResult, ...]:
    return deed.checked.results if deed.checked else ()


def _tests(record: dict[str, Json]) -> tuple[Tests, tuple[str, ...]]:
    counted = record["tests"] if isinstance(record["tests"], dict) else {}
    numbers = {name: value for name, value in counted.items() if isinstance(value, int)}
    return msgspec.convert(numbers, Tests), texts(record.get("failing_tests"))


def _lint(deeds: Sequence[Deed], get: Get) -> bool | None:
    """A check that ran no command has nothing to say: the project has no such command."""
    for deed in reversed(deeds):
        asked = [it for it in _results(deed) if it.check in _LINTS and not it.skipped]
        ran = [it.ok for it in asked if payload(get, it.report_ref).get("command")]
        if ran:
            return all(ran)
    return None
