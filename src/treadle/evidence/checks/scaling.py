"""`scaling`, advice for reviewers: whether the code keeps the limits on time and space that a spec names.

`parse_growth` reads a limit such as `O(n log n)`, `find_targets` finds the functions that it applies to by the calls
of the tests, and `judge_limit` compares their measured costs with it.
"""

import ast
import math
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import PurePosixPath
from statistics import median
from typing import Final

import msgspec

from treadle.evidence.checks.contract import ran_of
from treadle.evidence.checks.scope import measured_tree
from treadle.evidence.code_shapes import Function, parse_python
from treadle.evidence.findings import CheckOutcome, conclude, note, problem
from treadle.evidence.subject import Subject
from treadle.toolchains.results import CommandResult
from treadle.toolchains.scaling import CallCost, ScalingMeasurement, ScalingProbe

_WORDS: Final = {
    "constant": "1",
    "logarithmic": "log n",
    "linear": "n",
    "linearithmic": "n log n",
    "quadratic": "n^2",
    "cubic": "n^3",
    "exponential": "2^n",
}
_SIGNS: Final = str.maketrans({"²": "^2", "³": "^3", "√": "sqrt ", "₂": "", "·": " ", "×": " ", "*": " "})
_FACTOR: Final = re.compile(
    r"(?P<log>log(\^[\d.]+)?\s*[a-z])|(?P<root>sqrt\s*[a-z])|(?P<base>[\d.]+\^[a-z])|(?P<factorial>[a-z]!)"
    r"|(?P<power>[a-z](\^[\d.]+)?)|[\d.]+"
)


class Growth(msgspec.Struct, frozen=True):
    """An upper bound; of a sum, the largest term counts."""

    text: str
    terms: tuple[tuple[float, ...], ...]
    """Of each term the exponents of n, log n, e^n and n!."""

    def log(self, n: float) -> float:
        """The natural logarithm of its value, for n of 3 or more."""
        logs = (math.log(n), math.log(math.log(n)), n, math.lgamma(n + 1))
        return max(sum(power * log for power, log in zip(term, logs, strict=True)) for term in self.terms)


def parse_growth(text: str) -> Growth:
    """Parse a bound as people write it; raise `ValueError` with the reason if it cannot be measured."""
    words = [form for word, form in _WORDS.items() if re.search(rf"\b{word}\b", text.lower())]
    bounds = re.findall(r"[OoΘθ]\s*\(((?:[^()]|\([^()]*\))*)\)", text) or words
    if len(bounds) > 1:
        raise ValueError(f"'{text}' names more than one bound")
    if not bounds or not bounds[0].strip():
        raise ValueError(f"'{text}' is no growth such as O(n log n)")
    plain = re.sub(r"len\(\w+\)", "n", bounds[0].lower()).replace("**", "^").translate(_SIGNS)
    plain = re.sub(r"\(\s*([a-z])\s*\)", r"\1", re.sub("log2|lg|ln", "log", plain))

    terms = []
    for part in plain.split("+"):
        if not part.strip() or _FACTOR.sub("", part).strip():
            raise ValueError(f"'{part.strip()}' in '{text}' cannot be read")
        power = logs = base = factorial = 0.0
        for factor in _FACTOR.finditer(part):
            number = float(re.sub(r"[^\d.]", "", factor[0]) or 1)
            power += number if factor["power"] else 0.5 if factor["root"] else 0
            logs += number if factor["log"] else 0
            base += math.log(max(number, 1)) if factor["base"] else 0
            factorial += bool(factor["factorial"])
        terms.append((power, logs, base, factorial))
    sizes = sorted(set(re.findall("[a-z]", re.sub("log|sqrt", "", plain))))
    if len(sizes) > 1:
        raise ValueError(f"'{text}' depends on more than one size ({', '.join(sizes)})")
    return Growth(f"O({bounds[0].strip()})", tuple(terms))


def find_targets(
    code: Mapping[str, str], tests: Mapping[str, str], wanted: str = "", about: str = ""
) -> list[ScalingProbe]:
    """Return at most three functions to measure: `wanted`, else those that `about` names, else all that tests call.

    Tests may define `sizes_<function>(n)`, or `sizes(n)` for all: it returns the arguments of size n as a tuple, or a
    function without parameters that does the work.
    """
    empty = ast.Module(body=[], type_ignores=[])
    offered = [
        (f".{path.removesuffix('.py').replace('/', '.')}.", node.name)
        for path, text in code.items()
        for node in (parse_python(text) or empty).body
        if isinstance(node, Function) and not node.name.startswith("_")
    ]
    sizes: dict[str, str] = {}
    called: dict[tuple[str, str], None] = {}
    for file, text in tests.items():
        module = parse_python(text) or empty
        names = [node.name for node in module.body if isinstance(node, ast.FunctionDef)]
        sizes |= {name: file for name in names if name == "sizes" or name.startswith("sizes_")}
        imported: dict[str, str] = {}
        for node in ast.walk(module):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
            elif isinstance(node, ast.Import):
                imported |= {one.asname or one.name: one.name for one in node.names}
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                owner, _, name = ast.unparse(node.func).rpartition(".")
                target = f"{imported.get(owner, owner)}.{name}" if owner else imported.get(name, "")
                place, _, function = target.rpartition(".")
                # A package may offer the functions of its modules.
                if place and any(f".{place}." in path and function == one for path, one in offered):
                    called[place, function] = None

    chosen = [one for one in called if wanted in ("", one[1])]
    named = [one for one in chosen if re.search(rf"\b{re.escape(one[1])}\b", about)]
    # Where no function is called, for example with methods, the work of `sizes` is measured itself.
    makers = [one for one in sizes if not wanted or one in ("sizes", f"sizes_{wanted}")]
    targets = []
    for place, name in (named or chosen)[:3] or [("", wanted or one) for one in makers[:1]]:
        maker = next((one for one in (f"sizes_{name}", "sizes", name) if one in sizes), "")
        targets.append(ScalingProbe(module=place, name=name, sizes=maker, sizes_file=sizes.get(maker, "")))
    return targets


class ScalingResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one limit of one function, with its reason and the measured costs."""

    limit: str
    claimed: str
    verdict: str = "unmeasurable"
    """Or `fits`, `exceeds`."""
    reason: str
    function: str = ""
    slope: float | None = None
    """The exponent of n in the costs that the verdict rests on."""
    inputs: str = ""
    points: tuple[CallCost, ...] = ()

    def __str__(self) -> str:
        whose = f" of {self.function}" if self.function else ""
        return f"{self.limit}{whose}, {self.claimed}: {self.verdict} ({self.reason})"


_WAYS: Final[dict[str, tuple[tuple[str, float, float], ...]]] = {
    # what is counted, the excess that is still no sign, and the cost that smaller ones count as
    "time": (("instructions", 0.25, 1.0), ("seconds", 0.4, 5e-5)),
    "space": (("bytes", 0.25, 1024.0),),
}


def exponent(points: Sequence[tuple[int, float]], bound: Growth | None = None) -> float:
    """The power of n that costs follow, or by which they outgrow a bound: the median of all pairs, against outliers."""
    logs = [(math.log(n), math.log(cost) - (bound.log(n) if bound else 0.0)) for n, cost in points]
    return median((b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(logs, 2))


def judge_limit(limit: str, bound: Growth, measured: ScalingMeasurement, function: str = "") -> ScalingResult:
    """Compare the costs of a function with one limit (`time` or `space`)."""
    lines: list[tuple[bool, bool, float, float, str]] = []
    verdict, slope, reason = "unmeasurable", None, measured.problem or "there are too few sizes to tell"
    for what, tolerance, floor in _WAYS[limit]:
        for shape in dict.fromkeys(one.shape for one in measured.points):
            calls = [one for one in measured.points if (one.what, one.shape) == (what, shape)]
            points = [(one.n, max(one.cost, floor)) for one in calls[-5:]]  # small sizes show the fixed costs
            if len(points) >= 4:
                power, excess = exponent(points), exponent(points, bound)
                text = f"{what} grow as n^{power:.2f} on {shape} inputs up to n = {points[-1][0]}"
                lines.append((excess > tolerance, what != "seconds", excess, power, text))
    if lines and (max(lines)[0] or not measured.problem):
        is_over, _, _, slope, reason = max(lines)  # the worst decides, and counted instructions before time
        verdict = "exceeds" if is_over else "fits"

    # A call exceeds the limit even without an end if it ran 20 times longer than the limit allows. A deep recursion or
    # a lack of memory is no sign of a slow function.
    for stop in measured.stops:
        done = [one for one in measured.points if (one.what, one.shape) == ("seconds", stop.shape)]
        if (limit, stop.what, stop.why) == ("time", "seconds", "TooMuch") and done:
            n, cost = done[-1].n, done[-1].cost
            if cost * math.exp(min(bound.log(stop.n) - bound.log(n), 50.0)) * 20 <= stop.cost:
                verdict = "exceeds"
                reason = f"n = {stop.n} ({stop.shape} inputs) did not end in {stop.cost:.1f} s, n = {n} in {cost:.6f} s"
    return ScalingResult(
        limit=limit,
        claimed=bound.text,
        verdict=verdict,
        reason=reason,
        function=function,
        slope=slope if slope is None else round(slope, 3),
        inputs=measured.inputs,
        points=tuple(one for one in measured.points if (one.what == "bytes") == (limit == "space")),
    )


async def scaling(s: Subject) -> CheckOutcome:
    """The limits on time and space that the spec names, measured on inputs of growing size; advice, never a verdict."""
    results, ran = await measure_limits(s)
    if not results:
        return conclude(notes=[note("the spec names no limit on time or space", code="scaling.no_limit")])
    problems = [
        problem(str(one), expected=f"{one.limit} {one.claimed}, or the reviewer's approval", code="scaling.exceeded")
        if one.verdict == "exceeds"
        else problem(str(one), code="scaling.unmeasured")
        for one in results
        if one.verdict != "fits"
    ]
    fits = [note(str(one), code="scaling.fits") for one in results if one.verdict == "fits"]
    precision = "a factor of log n is within the error; space is what Python allocates, the result included"
    return CheckOutcome(
        problems=tuple(problems),
        notes=(*fits, note(precision, code="scaling.precision")),
        ran=ran_of(ran) if ran else None,
        facts={"scaling": msgspec.to_builtins(results)},
    )


async def measure_limits(s: Subject) -> tuple[list[ScalingResult], CommandResult | None]:
    """Measure every limit of the spec for every function that it applies to; also return the first run."""
    constraints = s.input.get("complexityConstraints")
    named = constraints if isinstance(constraints, dict) else {}
    limits = {name: text for name, text in named.items() if isinstance(text, str)}
    bounds: dict[str, Growth] = {}
    results: list[ScalingResult] = []
    for limit in ("time", "space"):
        try:
            if text := limits.get(limit):
                bounds[limit] = parse_growth(text)
        except ValueError as error:
            results.append(ScalingResult(limit=limit, claimed=limits[limit], reason=str(error)))
    if not bounds:
        return results, None

    def is_below(path: str, folders: Sequence[str]) -> bool:
        return any(PurePosixPath(path).is_relative_to(one) for one in folders)

    python = [path for path in await s.entries() if path.endswith(".py")]
    target = str(s.input.get("targetPath") or "")
    code = [path for path in python if s.tests.is_code(path) and is_below(path, [target])]
    tests = [path for path in python if s.tests.is_test(path) and is_below(path, s.tests.folders or [""])]
    wanted = limits.get("function", "").strip().rpartition(".")[2].partition("(")[0]
    criteria = s.input.get("acceptanceCriteria")
    listed = criteria if isinstance(criteria, list) else []
    about = "\n".join(str(one.get("text")) for one in listed if isinstance(one, dict))
    probes = find_targets(await s.texts(code[:500]), await s.texts(tests[:500]), wanted, about)
    if not probes:
        reason = (
            "no test calls a public function of the target; name it in `complexityConstraints.function`, or let a test"
            " file define `sizes(n)`"
        )
        results += [ScalingResult(limit=limit, claimed=bound.text, reason=reason) for limit, bound in bounds.items()]
    ran, tree = None, await measured_tree(s)
    for probe in probes:
        measured = await s.measure.scaling(msgspec.structs.replace(probe, wants=tuple(bounds)), tree)
        name = f"{probe.module}.{probe.name}".removeprefix(".")
        results += [judge_limit(limit, bound, measured, name) for limit, bound in bounds.items()]
        ran = ran or measured.run
    return results, ran
