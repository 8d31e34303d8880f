"""Why a new test is not red, in words that its author can act on.

Red is a test that ran and failed by an assertion (of any kind: `pytest.fail`, a `pytest.raises` that saw nothing, a
class derived from `AssertionError`) or because something is not implemented, however deep below the test it was raised.
So is one that could not even be prepared because the code under test, and no file of the tests, is not implemented.
Any other failure may as well be a mistake in the test, and nobody could tell before the implementation is there.
"""

import re
from typing import Final

from treadle.toolchains.results import TestResult

RIGHT: Final = "it fails by an assertion, or because something is not implemented"
_BY_KIND: Final = {
    "import": "import only what is there, as it is spelt there. What a skeleton lacks is for the scaffold to add; "
    "where there is none, catch the ImportError, and put a function in its place that calls `pytest.fail(…)`",
    "fixture": "a fixture that fails only where it meets code that is not implemented, in no file of the tests",
    "timeout": "a test that ends: it waits for something, or never leaves a loop",
    "exit": "a test that does not end the test run; to test that, `with pytest.raises(SystemExit)`",
    "hook": "tests that fail by themselves: leave their reports as they are",
}
_UNKNOWN: Final = (
    "call it as the interface says; a name or a parameter that the skeleton does not have is for the scaffold to add"
)
_STUB: Final = (
    "add what the tests call and what is not there as a stub where the implementation belongs: its signature, and a "
    "body that only raises NotImplementedError"
)
_BY_ERROR: Final = dict.fromkeys(("AttributeError", "NameError", "TypeError", "UnboundLocalError"), _UNKNOWN)
_TYPE: Final = re.compile(r"(?:E\s+)?(?:[\w.]*\.)?(\w+)(?::|\Z|\s)")


def advice(test: TestResult, *, adds_stubs: bool = False) -> str:
    """What the author of a test that is not red has to do, who may add what is missing by name, or may not."""
    if test.verdict == "xfailed":
        return "no such mark: it shall simply fail"
    if test.verdict == "skipped":
        return f"no skip: {RIGHT}"
    if adds_stubs and (test.kind == "import" or raised(test.message) in _BY_ERROR):
        return f"{RIGHT}; {_STUB}"
    if test.kind in _BY_KIND:
        return f"{RIGHT}; {_BY_KIND[test.kind]}"
    if test.kind != "error":
        return RIGHT
    name = raised(test.message)
    told = _BY_ERROR.get(name)
    if told is None:
        what = name or "this error"
        told = (
            f"if {what} shows that the behaviour is missing, let the test say so: catch it around the call and"
            f" `pytest.fail(…)`; if {what} is the behaviour, `with pytest.raises(…)`; else mend the test"
        )
    return f"{RIGHT}; {told}"


def raised(message: str) -> str:
    """The name of the exception that a message begins with; empty if it does not."""
    found = _TYPE.match(message.strip())
    return found[1] if found and found[1][:1].isupper() else ""
