"""Why exported names changed, as whoever approved a merge has said it."""

from treadle.kernel.commands import RunEffect
from treadle.ports import Case


def change_reasons(job: RunEffect, case: Case) -> dict[str, str]:
    """Name → reason, out of what the merge was given; the last word counts."""
    found: dict[str, str] = {}
    for ref in [ref for refs in job.inputs.values() for ref in refs if ref]:
        given = case.payloads.get(ref)
        listed = given.get("changeReasons") if isinstance(given, dict) else None
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict):
                found[str(one.get("symbol", ""))] = str(one.get("reason", ""))
    return found


def reason_for(symbol: str, reasons: dict[str, str], otherwise: str) -> str:
    """The reason for a name; it may have been given for the name alone, without where it comes from."""
    near = [name for name in reasons if name and (symbol == name or symbol.endswith(f".{name}"))]
    return reasons[max(near, key=len)] if near else otherwise
