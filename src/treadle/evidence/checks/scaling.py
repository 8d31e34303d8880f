"""`scaling`, advice for whoever reviews: whether the limits on time and space that a spec names are kept."""

from collections.abc import Mapping
from typing import Final

import msgspec

from treadle.evidence.findings import Found, Problem, Ran, found, note, problem
from treadle.evidence.frozen import measured_tree
from treadle.evidence.growth import Growth, growth
from treadle.evidence.scaling_plot import plot
from treadle.evidence.scaling_targets import Target, targets
from treadle.evidence.scaling_verdict import Answer, Line, judged, points_of
from treadle.evidence.subject import Subject
from treadle.protocol.answers.paths import clean_path, path_fault
from treadle.protocol.items import Json
from treadle.toolchains.scaling import Measured, Probe

_LIMITS: Final = ("time", "space")
_NOBODY: Final = (
    "no test calls a public function of the target; name it in `complexityConstraints.function`, or let a test file"
    " define `sizes(n)`"
)
NOTE: Final = "a factor of log n more or less is not told apart; space is what Python allocates, the result included"


class Scaled(msgspec.Struct, frozen=True, kw_only=True):
    """One limit of one function."""

    limit: str
    claimed: str
    verdict: Answer
    reason: str
    function: str = ""
    inputs: str = ""
    lines: tuple[Line, ...] = ()
    plot: str = ""
    """The picture in the payload store."""
    ran: Ran | None = None

    def __str__(self) -> str:
        whose = f" of {self.function}" if self.function else ""
        return f"{self.limit}{whose}, {self.claimed}: {self.verdict} ({self.reason})"


async def scaling(s: Subject) -> Found:
    """The limits on time and space that the spec names, measured on inputs of growing size; advice, never a verdict."""
    results = await scaled(s)
    if not results:
        return found(notes=[note("the spec names no limit on time or space", code="scaling.no_limit")])
    return Found(
        problems=tuple(_problem(one) for one in results if one.verdict != "fits"),
        notes=(
            *(note(str(one), code="scaling.fits") for one in results if one.verdict == "fits"),
            note(NOTE, code="scaling.precision"),
        ),
        ran=next((one.ran for one in results if one.ran), None),
        facts={"scaling": [_fact(one) for one in results]},
    )


def _problem(one: Scaled) -> Problem:
    if one.verdict == "exceeds":
        wanted = f"{one.limit} {one.claimed}, or a reviewer who is content"
        return problem(str(one), expected=wanted, code="scaling.exceeded")
    return problem(str(one), code="scaling.unmeasured")


def _fact(one: Scaled) -> dict[str, Json]:
    worst = next((line for line in one.lines if line.is_over), one.lines[0] if one.lines else None)
    points: list[Json] = [dict(point) for point in points_of(one.lines)]  # type: ignore[arg-type]
    return {
        "limit": one.limit,
        "function": one.function,
        "claimed": one.claimed,
        "verdict": one.verdict,
        "reason": one.reason,
        "slope": round(worst.slope, 3) if worst else None,
        "inputs": one.inputs,
        "points": points,
        "plot": one.plot,
    }


async def scaled(s: Subject) -> list[Scaled]:
    """Every limit of the spec, for every function that it is about."""
    limits = constraints(s.input)
    bounds: dict[str, Growth] = {}
    results: list[Scaled] = []
    for limit in _LIMITS:
        try:
            if text := limits.get(limit):
                bounds[limit] = growth(text)
        except ValueError as error:
            results.append(Scaled(limit=limit, claimed=limits[limit], verdict="unmeasurable", reason=str(error)))
    if not bounds:
        return results
    chosen = await _targets(s, limits.get("function", ""))
    if not chosen:
        return results + [_unmeasurable(limit, bound, _NOBODY) for limit, bound in bounds.items()]
    tree = await measured_tree(s)
    for target in chosen:
        probe = _probe(target, tuple(bounds))
        measured = await s.measure.scaling(probe, tree)
        results += [_result(s, limit, bound, target, measured) for limit, bound in bounds.items()]
    return results


def constraints(given: Mapping[str, Json]) -> dict[str, str]:
    """The limits of a spec: time, space, and the function that they are about."""
    value = given.get("complexityConstraints")
    return {name: text for name, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}


def _unmeasurable(limit: str, bound: Growth, reason: str) -> Scaled:
    return Scaled(limit=limit, claimed=bound.text, verdict="unmeasurable", reason=reason)


async def _targets(s: Subject, wanted: str) -> list[Target]:
    tree = await s.entries()
    folder = s.input.get("targetPath")
    inside = clean_path(folder) if isinstance(folder, str) and not path_fault(folder) else ""
    python = [path for path in tree if path.endswith(".py")]
    own = [path for path in python if s.tests.is_code(path) and (not inside or f"{path}/".startswith(f"{inside}/"))]
    mine = [path for path in python if s.tests.is_test(path) and (not s.tests.folders or _is_in(path, s.tests.folders))]
    code = {path: await s.text(path) or "" for path in own[:500]}
    tests = {path: await s.text(path) or "" for path in mine[:500]}
    return targets(code, tests, wanted.strip().rpartition(".")[2].partition("(")[0], _criteria(s))


def _is_in(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _criteria(s: Subject) -> str:
    listed = s.input.get("acceptanceCriteria")
    return (
        "\n".join(str(one.get("text")) for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ""
    )


def _probe(target: Target, wants: tuple[str, ...]) -> Probe:
    return Probe(module=target.module, name=target.name, sizes=target.sizes, sizes_file=target.sizes_file, wants=wants)


def _result(s: Subject, limit: str, bound: Growth, target: Target, measured: Measured) -> Scaled:
    verdict = judged(limit, bound, measured)
    name = f"{target.module}.{target.name}" if target.module else target.name
    shown = [line for line in verdict.lines if verdict.worst and line.what == verdict.worst.what]
    picture = plot(f"{limit} of {name}", shown, bound)
    return Scaled(
        limit=limit,
        claimed=bound.text,
        verdict=verdict.verdict,
        reason=verdict.reason,
        function=name,
        inputs=measured.inputs,
        lines=verdict.lines,
        plot=s.case.payloads.put({"kind": "plot", "svg": picture}) if picture else "",
        ran=Ran(command=measured.command, exit=measured.exit, duration=measured.duration, isolation=measured.isolation),
    )
