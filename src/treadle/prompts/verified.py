"""What has been checked of the work that a step is given, so that nobody checks it again."""

from collections.abc import Mapping
from typing import Final

from treadle.protocol.catalogue import CHECKS, RECORDS
from treadle.protocol.checks.shapes import variable
from treadle.protocol.items import Json
from treadle.protocol.model import CHECK_EXITS, CheckRef, Step

_RECORD: Final = RECORDS | {"measure"}
"""They say nothing about the work."""


def verified(steps: Mapping[str, Step], step: Step) -> dict[str, Json]:
    """By step and exit of a step's needs: what an accepted exit has passed, in words."""
    found: dict[str, dict[str, Json]] = {}
    for need in step.needs:
        if need.step and not need.up:
            source = steps.get(need.step)
            checks = _passed(source, need.exit) if source else ()
            texts = [CHECKS[check.name].help for check in checks if _says_something(check)]
            found.setdefault(variable(need.step), {})[need.exit] = list(texts)
    return dict(found)


def _passed(source: Step, exit_: str) -> tuple[CheckRef, ...]:
    if source.kind == "check":
        return source.checks if exit_ == CHECK_EXITS[0] else ()
    return source.gates.get(exit_, ())


def _says_something(check: CheckRef) -> bool:
    return not check.advisory and check.name in CHECKS and check.name not in _RECORD
