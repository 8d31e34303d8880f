"""One test that is all there is for several criteria."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from treadle.evidence.findings import Problem, problem, some
from treadle.toolchains.test_names import function_of


def one_for_many(groups: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """By test, without its parameters, the criteria that have no other one; if they are several."""
    found: dict[str, list[str]] = {}
    for name, tests in groups.items():
        if name and len(functions := {function_of(id_) for id_ in tests}) == 1:
            found.setdefault(functions.pop(), []).append(name)
    return {test: names for test, names in found.items() if len(names) > 1}


def overburdened(shared: Mapping[str, Sequence[str]], passing: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    """Such tests that pass with a wrong implementation: they cannot be the one case that each criterion needs."""
    for test, listed in shared.items():
        names = [name for name in listed if passing.get(name)]
        if len(names) > 1:
            what = f"is the only test of {some(names)}, and passes if {some(passing[names[0]], 2)}"
            yield problem(
                f"{what}: it cannot show all of them",
                test=test,
                expected="a test for each criterion",
                code="red.one_for_many",
            )


def idle_beside(shared: Mapping[str, Sequence[str]], listed: Collection[str], new: Sequence[str]) -> Iterator[str]:
    """Such tests beside which others stand for nothing, in words."""
    idle = list(dict.fromkeys(function_of(id_) for id_ in new if id_ not in listed))
    for test, names in shared.items() if idle else ():
        others = some([one.rpartition("/")[2] for one in idle])
        yield f"{test} is the only test of {some(names)}, while no criterion has {others}: is the manifest right?"
