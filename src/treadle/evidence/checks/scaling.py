"""`scaling`, advice for reviewers: whether the code keeps the limits on time and space that a spec names.

`parse_growth` reads a limit such as `O(n log n)`, `find_targets` finds the functions that it applies to by the calls
of the tests, `judge_limit` compares their measured costs with it, and `draw_plot` shows both.
"""

import ast
import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import combinations
from statistics import median
from typing import Final, Literal

import msgspec

from treadle.evidence.checks.scope import measured_tree
from treadle.evidence.code_shapes import Function, parse_python
from treadle.evidence.findings import CheckOutcome, CommandRun, conclude, note, problem
from treadle.evidence.subject import Subject
from treadle.protocol.items import Json
from treadle.protocol.paths import clean_path, path_fault
from treadle.toolchains.scaling import ScalingMeasurement, ScalingProbe

_WORDS: Final = {
    "constant": "1",
    "logarithmic": "log n",
    "linear": "n",
    "linearithmic": "n log n",
    "quadratic": "n^2",
    "cubic": "n^3",
    "exponential": "2^n",
}
_SIGNS: Final = (("**", "^"), ("²", "^2"), ("³", "^3"), ("√", "sqrt "), ("₂", ""), ("·", " "), ("×", " "), ("*", " "))
_FACTOR: Final = re.compile(
    r"""(?:log2|log|lg|ln)(?:\^(?P<logs>\d+(?:\.\d+)?))?\s*(?:\(\s*(?P<log1>[a-z])\s*\)|(?P<log2>[a-z]))
      | sqrt\s*(?:\(\s*(?P<root1>[a-z])\s*\)|(?P<root2>[a-z]))
      | (?P<base>\d+(?:\.\d+)?)\^(?P<exponent>[a-z])
      | \d+(?:\.\d+)?
      | (?P<factorial>[a-z])!
      | (?P<variable>[a-z])(?:\^(?P<power>\d+(?:\.\d+)?))?""",
    re.VERBOSE,
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
    bounds = re.findall(r"[OoΘθ]\s*\(((?:[^()]|\([^()]*\))*)\)", text)
    if len(bounds) > 1:
        raise ValueError(f"'{text}' names more than one bound")
    words = [form for word, form in _WORDS.items() if re.search(rf"\b{word}\b", text.lower())]
    inner = (bounds or words or [""])[0].strip()
    if not inner:
        raise ValueError(f"'{text}' is no growth such as O(n log n)")
    plain = re.sub(r"len\(\w+\)", "n", inner.lower())
    for sign, ascii_sign in _SIGNS:
        plain = plain.replace(sign, ascii_sign)

    variables: set[str] = set()
    terms = []
    for part in plain.split("+"):
        if not part.strip() or _FACTOR.sub("", part).strip():
            raise ValueError(f"'{part.strip()}' in '{text}' cannot be read")
        power = logs = base = factorials = 0.0
        for factor in _FACTOR.finditer(part):
            if factor["log1"] or factor["log2"]:
                logs += float(factor["logs"] or 1)
            elif factor["root1"] or factor["root2"]:
                power += 0.5
            elif factor["exponent"]:
                base += math.log(max(float(factor["base"]), 1.0))
            elif factor["factorial"]:
                factorials += 1
            elif factor["variable"]:
                power += float(factor["power"] or 1)
            variables |= {value for value in factor.groupdict().values() if value and value.isalpha()}
        terms.append((power, logs, base, factorials))
    if len(variables) > 1:
        raise ValueError(f"'{text}' depends on more than one size ({', '.join(sorted(variables))})")
    return Growth(f"O({inner})", tuple(terms))


# Finds the functions that a limit applies to: those of the target that the tests call. Python only.
#
# Tests may define how to make inputs of a size: `sizes_<function>(n)`, or `sizes(n)` for all, returns the arguments
# as a tuple, or a function without parameters that does the work.

_MOST_FUNCTIONS: Final = 3


def find_targets(
    code: Mapping[str, str], tests: Mapping[str, str], wanted: str = "", about: str = ""
) -> list[ScalingProbe]:
    """Return the functions to measure: `wanted`, else those that criteria (`about`) name, else all that tests call."""
    functions = {
        path: {node.name for node in _parse(text).body if isinstance(node, Function)} for path, text in code.items()
    }

    def is_offered(module: str, name: str) -> bool:
        path = f"/{module.replace('.', '/')}"
        files = [file for file in functions if f"/{file}".endswith((f"{path}.py", f"{path}/__init__.py"))]
        if any(file.endswith("__init__.py") for file in files):
            files = list(functions)  # a package may offer a function of any neighbour
        return any(name in functions[file] for file in files)

    sizes: dict[str, str] = {}
    called: dict[tuple[str, str], None] = {}
    for file, text in tests.items():
        module = _parse(text)
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
                if place and not function.startswith("_") and is_offered(place, function):
                    called[place, function] = None

    chosen = [one for one in called if not wanted or one[1] == wanted]
    named = [one for one in chosen if re.search(rf"\b{re.escape(one[1])}\b", about)]
    targets = []
    for place, name in (named or chosen)[:_MOST_FUNCTIONS]:
        maker = next((one for one in (f"sizes_{name}", "sizes") if one in sizes), "")
        targets.append(ScalingProbe(module=place, name=name, sizes=maker, sizes_file=sizes.get(maker, "")))
    makers = [one for one in sizes if not wanted or one in ("sizes", f"sizes_{wanted}")]
    if not targets and makers:  # methods, for example: the work of `sizes` is measured itself
        maker = max(makers, key=len) if wanted else makers[0]
        return [ScalingProbe(module="", name=wanted or maker, sizes=maker, sizes_file=sizes[maker])]
    return targets


def _parse(text: str) -> ast.Module:
    """Parse a file; one that cannot be parsed defines and calls nothing."""
    return parse_python(text) or ast.Module(body=[], type_ignores=[])


# Compares measured costs with a limit. Counted instructions decide first, processor time only where it is clear.

_WAYS: Final[dict[str, tuple[tuple[str, float, float], ...]]] = {
    # what is counted, the excess that is still no sign, and the least cost that says anything
    "time": (("instructions", 0.25, 1.0), ("seconds", 0.4, 5e-5)),
    "space": (("bytes", 0.25, 0.0),),
}
_FEWEST_POINTS: Final = 4
_LAST_POINTS: Final = 5
"""The largest sizes count: small ones show the fixed costs."""
_FLOOR: Final = {"bytes": 1024.0}
"""Bytes that every call may use."""
_HOPELESS: Final = 20
"""A stopped call that ran this many times longer than the limit allows exceeds it, even though it did not finish."""


class CostLine(msgspec.Struct, frozen=True, kw_only=True):
    """Costs of one kind for inputs of one shape."""

    shape: str
    what: str
    points: tuple[tuple[int, float], ...]
    slope: float
    """The exponent of n that the last points follow."""
    excess: float
    """By how much that is more than the limit has."""
    is_over: bool


class ScalingResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one limit of one function, with its reason and the measured costs."""

    limit: str
    claimed: str
    verdict: Literal["fits", "exceeds", "unmeasurable"] = "unmeasurable"
    reason: str
    function: str = ""
    inputs: str = ""
    lines: tuple[CostLine, ...] = ()
    """The line that the verdict rests on is first."""
    plot: str = ""
    """The picture in the payload store."""
    ran: CommandRun | None = None

    def __str__(self) -> str:
        whose = f" of {self.function}" if self.function else ""
        return f"{self.limit}{whose}, {self.claimed}: {self.verdict} ({self.reason})"

    @property
    def fact(self) -> dict[str, Json]:
        """Its record in the evidence."""
        return {
            "limit": self.limit,
            "function": self.function,
            "claimed": self.claimed,
            "verdict": self.verdict,
            "reason": self.reason,
            "slope": round(self.lines[0].slope, 3) if self.lines else None,
            "inputs": self.inputs,
            "points": [
                {"shape": line.shape, "what": line.what, "n": n, "cost": cost}
                for line in self.lines
                for n, cost in line.points
            ],
            "plot": self.plot,
        }


def exponent(points: Sequence[tuple[int, float]], bound: Growth | None = None) -> float:
    """The power of n that costs follow, or by which they outgrow a bound: the median of all pairs, against outliers."""
    logs = [(math.log(n), math.log(cost) - (bound.log(n) if bound else 0.0)) for n, cost in points]
    return median((b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(logs, 2))


def judge_limit(limit: str, bound: Growth, measured: ScalingMeasurement, function: str = "") -> ScalingResult:
    """Compare the costs of a function with one limit (`time` or `space`)."""
    costs: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for one in measured.points:
        costs.setdefault((one.what, one.shape), []).append((one.n, max(one.cost, _FLOOR.get(one.what, 1e-9))))

    lines = []
    for what, tolerance, least in _WAYS[limit]:
        for (counted, shape), points in costs.items():
            last = [(n, cost) for n, cost in points if cost >= least][-_LAST_POINTS:]
            if counted == what and len(last) >= _FEWEST_POINTS:
                excess = exponent(last, bound)
                lines.append(
                    CostLine(
                        shape=shape,
                        what=what,
                        points=tuple(points),
                        slope=exponent(last),
                        excess=excess,
                        is_over=excess > tolerance,
                    )
                )
    lines.sort(key=lambda line: (not line.is_over, line.what == "seconds", -line.excess))

    verdict: Literal["fits", "exceeds", "unmeasurable"] = "unmeasurable"
    reason = measured.problem
    if lines and (lines[0].is_over or not measured.problem):
        verdict = "exceeds" if lines[0].is_over else "fits"
        largest = lines[0].points[-1][0]
        reason = f"{lines[0].what} grow as n^{lines[0].slope:.2f} on {lines[0].shape} inputs up to n = {largest}"
    for stop in measured.stops:
        finished = costs.get(("seconds", stop.shape))
        # A deep recursion or a lack of memory is no sign of a slow function, a timeout is.
        if limit == "time" and stop.what == "seconds" and stop.why == "TooMuch" and finished:
            n, cost = finished[-1]
            allowed = cost * math.exp(min(bound.log(stop.n) - bound.log(n), 50.0))
            if allowed * _HOPELESS <= stop.cost:
                verdict = "exceeds"
                reason = (
                    f"n = {stop.n} ({stop.shape} inputs) did not end in {stop.cost:.1f} s,"
                    f" and n = {n} took {cost:.6f} s"
                )
                break
    return ScalingResult(
        limit=limit,
        claimed=bound.text,
        verdict=verdict,
        reason=reason or "there are too few sizes to tell",
        function=function,
        inputs=measured.inputs,
        lines=tuple(lines),
        ran=CommandRun(
            command=measured.command, exit=measured.exit, duration=measured.duration, isolation=measured.isolation
        ),
    )


_COLOURS: Final = ("#1f6feb", "#bf3989", "#1a7f37", "#9a6700")
_GREY: Final = "#57606a"


def draw_plot(title: str, lines: Sequence[CostLine], bound: Growth) -> str:
    """Plot the costs that the verdict rests on, and the limit, on logarithmic axes: one self-contained SVG."""
    lines = [line for line in lines if line.what == lines[0].what][: len(_COLOURS)]
    if not lines:
        return ""
    sizes = [math.log(n) for line in lines for n, _ in line.points]
    costs = [math.log(cost) for line in lines for _, cost in line.points]
    width, height = max(0.5, max(sizes) - min(sizes)), max(0.5, max(costs) - min(costs))

    def place(n: int, log_cost: float) -> tuple[str, str]:
        return (
            f"{12 + 456 * (math.log(n) - min(sizes)) / width:.1f}",
            f"{288 - 200 * (log_cost - min(costs)) / height:.1f}",
        )

    def write(top: int, text: str, colour: str = "#24292f") -> str:
        return f'<text x="12" y="{top}" font-size="11" fill="{colour}">{escape(text)}</text>'

    def join(places: Sequence[tuple[str, str]], colour: str, dashes: str = "") -> str:
        way = " ".join(map(",".join, places))
        return f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-dasharray="{dashes}"/>'

    smallest, largest = (round(math.exp(size)) for size in (min(sizes), max(sizes)))
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 300" font-family="sans-serif" role="img">',
        f'<title>{escape(title)}</title><rect width="480" height="300" fill="#ffffff"/>',
        write(16, title),
        write(30, f"{lines[0].what} for n = {smallest} to {largest}"),
        write(44, f"limit: {bound.text}", _GREY),
    ]
    # The limit has no scale of its own: it is drawn through the middle of the first line.
    middle, cost = lines[0].points[len(lines[0].points) // 2]
    shift = math.log(cost) - bound.log(middle)
    parts.append(join([place(n, bound.log(n) + shift) for n, _ in lines[0].points], _GREY, "4 3"))
    for at, (line, colour) in enumerate(zip(lines, _COLOURS, strict=False)):
        places = [place(n, math.log(cost)) for n, cost in line.points]
        parts += [join(places, colour), write(58 + 14 * at, f"{line.shape}: n^{line.slope:.2f}", colour)]
        parts += [f'<circle cx="{x}" cy="{y}" r="2.5" fill="{colour}"/>' for x, y in places]
    return "".join([*parts, "</svg>"])


_NO_FUNCTION: Final = (
    "no test calls a public function of the target; name it in `complexityConstraints.function`, or let a test file"
    " define `sizes(n)`"
)
_PRECISION: Final = "a factor of log n is within the error; space is what Python allocates, the result included"


async def scaling(s: Subject) -> CheckOutcome:
    """The limits on time and space that the spec names, measured on inputs of growing size; advice, never a verdict."""
    results = await measure_limits(s)
    if not results:
        return conclude(notes=[note("the spec names no limit on time or space", code="scaling.no_limit")])
    over = [
        problem(str(one), expected=f"{one.limit} {one.claimed}, or a reviewer who is content", code="scaling.exceeded")
        if one.verdict == "exceeds"
        else problem(str(one), code="scaling.unmeasured")
        for one in results
        if one.verdict != "fits"
    ]
    fits = [note(str(one), code="scaling.fits") for one in results if one.verdict == "fits"]
    return CheckOutcome(
        problems=tuple(over),
        notes=(*fits, note(_PRECISION, code="scaling.precision")),
        ran=next((one.ran for one in results if one.ran), None),
        facts={"scaling": [one.fact for one in results]},
    )


async def measure_limits(s: Subject) -> list[ScalingResult]:
    """Measure every limit of the spec for every function that it applies to."""
    constraints = s.input.get("complexityConstraints") or {}
    named = constraints.items() if isinstance(constraints, dict) else ()
    limits = {name: text for name, text in named if isinstance(text, str)}
    bounds: dict[str, Growth] = {}
    results: list[ScalingResult] = []
    for limit in ("time", "space"):
        try:
            if text := limits.get(limit):
                bounds[limit] = parse_growth(text)
        except ValueError as error:
            results.append(ScalingResult(limit=limit, claimed=limits[limit], reason=str(error)))
    if not bounds:
        return results

    probes = await _probes(s, limits.get("function", ""))
    if not probes:
        none = [ScalingResult(limit=limit, claimed=bound.text, reason=_NO_FUNCTION) for limit, bound in bounds.items()]
        return results + none
    tree = await measured_tree(s)
    for probe in probes:
        measured = await s.measure.scaling(msgspec.structs.replace(probe, wants=tuple(bounds)), tree)
        name = f"{probe.module}.{probe.name}" if probe.module else probe.name
        for limit, bound in bounds.items():
            result = judge_limit(limit, bound, measured, name)
            if svg := draw_plot(f"{limit} of {name}", result.lines, bound):
                result = msgspec.structs.replace(result, plot=s.case.payloads.put({"kind": "plot", "svg": svg}))
            results.append(result)
    return results


async def _probes(s: Subject, wanted: str) -> list[ScalingProbe]:
    folder = s.input.get("targetPath")
    target = clean_path(folder) if isinstance(folder, str) and not path_fault(folder) else ""
    criteria = s.input.get("acceptanceCriteria")
    listed = criteria if isinstance(criteria, list) else []
    about = "\n".join(str(one.get("text")) for one in listed if isinstance(one, dict))

    def is_below(path: str, folders: Sequence[str]) -> bool:
        return not any(folders) or any(f"{path}/".startswith(f"{one}/") for one in folders)

    python = [path for path in await s.entries() if path.endswith(".py")]
    code = [path for path in python if s.tests.is_code(path) and is_below(path, [target])]
    tests = [path for path in python if s.tests.is_test(path) and is_below(path, s.tests.folders)]
    name = wanted.strip().rpartition(".")[2].partition("(")[0]
    return find_targets(await s.texts(code[:500]), await s.texts(tests[:500]), name, about)
