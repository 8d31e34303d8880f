"""Everything that honest node tests hand over crosses between judge and subject, and every test passes."""

import re

from tests.toolchains.seam_js.apart import reasons, run_somewhere
from tests.toolchains.seam_js.honest_project import CODE, TESTS

_NAMED = re.compile(r"^\s*(?:test|it)\('([^']+)'", re.MULTILINE)


def test_every_honest_test_passes_apart() -> None:
    ran = run_somewhere(CODE | TESTS)
    verdicts = {id: test.verdict for id, test in ran.run.tests.items()}
    assert {id for id, verdict in verdicts.items() if verdict != "passed"} == {"tests/hooks.test.js::skipped"}, reasons(
        ran
    )
    names = {(file, name) for file, text in TESTS.items() for name in _NAMED.findall(text)}
    assert names <= {(id.partition("::")[0], id.rpartition("::")[2]) for id in verdicts}, reasons(ran)
    assert (ran.problem, ran.run.bent, ran.run.problems, ran.breaches) == ("", (), (), ())
    assert (ran.uncrossable, ran.failed_to_cross) == ({}, {})
    assert ran.run.is_green
    assert len(ran.crossed) > 50
