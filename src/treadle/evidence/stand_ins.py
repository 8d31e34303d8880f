"""Whether new Python tests could put something else in the place of the code under test.

Then what is written in a test says nothing about what it calls, and only a run does.
"""

import re
from collections.abc import Mapping
from typing import Final

from treadle.evidence.subject import Subject

_MEANS: Final = re.compile(
    r"\b(fixture|usefixtures|monkeypatch|mocker|mock|patch|setattr|__setattr__|__dict__|__globals__|__code__|globals"
    r"|vars|modules|exec|eval|reload|import_module|__import__|pytest_plugins|settrace|setprofile|hookimpl)\b"
)
_AROUND: Final = ("conftest.py", "sitecustomize.py", "usercustomize.py")


async def may_be_replaced(s: Subject) -> bool:
    """Whether anything that this instance has written for its tests has the means to exchange a function."""
    origin = await s.git.origin(s.case.state, s.job.inst)
    changed = [one.path for one in await s.git.changes(origin, s.work.commit) if one.kind != "deleted"]
    around = [path for path in changed if path.endswith(".py") and not s.tests.is_code(path)]
    return has_means(await s.texts(around)) if around else False


def has_means(texts: Mapping[str, str]) -> bool:
    """Whether some files could, by their names or by what they say."""
    return any(path.rpartition("/")[2] in _AROUND or _MEANS.search(text) for path, text in texts.items())
