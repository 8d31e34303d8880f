import asyncio
import sys
from pathlib import Path

import pytest

from tests.toolchains.projects import write
from treadle.toolchains.junit import Junit, read_junit, results_of
from treadle.toolchains.results import TestRun

VITEST = """<?xml version="1.0" encoding="UTF-8" ?>
<testsuites name="vitest tests" tests="3" failures="2" errors="0" time="0.012">
  <testsuite name="src/sum.test.ts" tests="3" failures="2" errors="0" skipped="1" time="0.003">
    <testcase classname="src/sum.test.ts" name="sum &gt; adds" time="0.001"/>
    <testcase classname="src/sum.test.ts" name="sum &gt; is wrong" time="0.002">
      <failure message="expected 3 to be 4 // Object.is equality" type="AssertionError">
AssertionError: expected 3 to be 4 // Object.is equality
 &#8767; src/sum.test.ts:9:20</failure>
    </testcase>
    <testcase classname="src/sum.test.ts" name="sum &gt; throws" time="0">
      <failure message="sum is not a function" type="TypeError">TypeError: sum is not a function</failure>
    </testcase>
    <testcase classname="src/sum.test.ts" name="sum &gt; later" time="0"><skipped/></testcase>
  </testsuite>
</testsuites>"""
SUREFIRE = """<testsuite name="com.example.SumTest" tests="3" errors="1" failures="1" time="0.1">
  <testcase name="adds" classname="com.example.SumTest" time="1,234.5"/>
  <testcase name="isWrong" classname="com.example.SumTest" time="0.002">
    <failure message="expected: &lt;4&gt; but was: &lt;3&gt;" type="org.opentest4j.AssertionFailedError">…</failure>
  </testcase>
  <testcase name="isMissing" classname="com.example.SumTest" time="0">
    <error type="java.lang.UnsupportedOperationException">…</error>
  </testcase>
</testsuite>"""
JEST = """<testsuites><testsuite name="sum"><testcase classname="sum" name="adds" file="src/sum.test.js">
<failure>Error: expect(received).toBe(expected) // Object.is equality</failure></testcase></testsuite></testsuites>"""


def kinds(report: str) -> dict[str, tuple[str, str]]:
    return {id: (test.verdict, test.kind) for id, test in results_of(read_junit(report.encode())).items()}


def test_a_report_of_vitest_is_read() -> None:
    assert kinds(VITEST) == {
        "src/sum.test.ts::sum > adds": ("passed", ""),
        "src/sum.test.ts::sum > is wrong": ("failed", "assertion"),
        "src/sum.test.ts::sum > throws": ("failed", "unknown"),
        "src/sum.test.ts::sum > later": ("skipped", ""),
    }


def test_a_report_of_surefire_is_read() -> None:
    assert kinds(SUREFIRE) == {
        "com.example.SumTest::adds": ("passed", ""),
        "com.example.SumTest::isWrong": ("failed", "assertion"),
        "com.example.SumTest::isMissing": ("error", "not_implemented"),
    }
    assert results_of(read_junit(SUREFIRE.encode()))["com.example.SumTest::adds"].duration == 1234.5


def test_a_report_of_jest_is_read() -> None:
    assert kinds(JEST) == {"src/sum.test.js::sum::adds": ("failed", "assertion")}


def test_several_results_with_one_name_are_numbered() -> None:
    case = '<testcase classname="c" name="t"{}'
    both = [case.format("/>"), case.format("><failure/></testcase>"), case.format("><skipped/></testcase>")]
    sly = '<testcase classname="c" name="t (2)"/>'
    assert kinds(f"<testsuite>{sly}{''.join(both)}</testsuite>") == {
        "c::t (2)": ("passed", ""),
        "c::t": ("passed", ""),
        "c::t (2)'": ("failed", "unknown"),
        "c::t (3)": ("skipped", ""),
    }


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is not XML"),
        (b"<testsuites>", "it is not XML"),
        (b"<html/>", "it begins with <html>"),
        (b'<!DOCTYPE x [<!ENTITY a "aaaa">]><testsuites>&a;</testsuites>', "it declares a document type"),
        ('<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "a">]><testsuites/>'.encode("utf-16"), "a document type"),
        (b"\xff\xfe\x00", "it is not XML"),
        (b'<?xml version="1.0" encoding="no-such"?><testsuites/>', "it is not XML"),
    ],
)
def test_a_malformed_report_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_junit(data)


def test_a_deeply_nested_report_is_read() -> None:
    deep = "<testsuite>" * 5_000 + '<testcase name="t"/>' + "</testsuite>" * 5_000
    assert len(read_junit(f"<testsuites>{deep}</testsuites>".encode())) == 1


def test_a_huge_report_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.toolchains.junit.MOST", 1_000)
    many = b'<testcase name="t"/>' * 1_000
    with pytest.raises(ValueError, match="1,000 elements"):
        read_junit(b"<testsuite>" + many + b"</testsuite>")


def run(path: Path, *command: str, report: str = "", ids: tuple[str, ...] | None = None) -> TestRun:
    return asyncio.run(Junit(command=command, report=report, timeout=60.0).test(path, ids))


def writes(text: str, where: str, code: int = 0) -> tuple[str, ...]:
    """A runner that leaves a report and an exit code."""
    return (sys.executable, "-c", f"import sys; open({where!r}, 'w').write({text!r}); sys.exit({code})")


def test_files_by_a_pattern_and_only_fresh_ones(tmp_path: Path) -> None:
    write(tmp_path, "out/old.xml", SUREFIRE)
    passing = '<testsuite><testcase classname="c" name="t"/></testsuite>'
    ran = run(tmp_path, *writes(passing, "out/new.xml"), report="out/*.xml")
    assert (list(ran.tests), ran.is_green) == (["c::t"], True)
    stale = run(tmp_path, sys.executable, "-c", "pass", report="out/*.xml")
    no_report, no_tests = stale.problems
    assert "fresh" in no_report
    assert "no tests" in no_tests
    assert not stale.is_green
    (tmp_path / "secret").write_text(passing)
    link = f"import os; os.symlink({str(tmp_path / 'secret')!r}, 'out/link.xml')"
    linked = run(tmp_path, sys.executable, "-c", link, report="out/*.xml")
    assert linked.tests == {}
    assert "link.xml" in linked.problems[0]
    assert "plain" in linked.problems[0]


def test_a_planted_report_is_not_believed(tmp_path: Path) -> None:
    passing = '<testsuite><testcase classname="c" name="t"/></testsuite>'
    planted = (*writes(passing, "junit.xml"), "{report}")
    ran = run(tmp_path, *planted, report="*.xml")
    assert ran.tests == {}
    assert "fresh" in ran.problems[0]
    within = run(tmp_path, *writes(f"{passing}\n", "junit.xml"), report="*.xml")
    assert "lies in the checkout" in within.limits[-1]


def test_ids_are_those_of_every_checkout(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    report = f'<testsuite><testcase classname="{here}/a.test.js" name="t" file="{here}/a.test.js"/></testsuite>'
    ran = run(here, *writes(report, "r.xml"), report="r.xml")
    assert [(id, test.file) for id, test in ran.tests.items()] == [("a.test.js::t", "a.test.js")]


def test_report_and_exit_code_are_compared(tmp_path: Path) -> None:
    bent = run(tmp_path, *writes(VITEST, "r.xml"), report="r.xml")
    [contradiction] = bent.bent
    assert [it for it in ("ended with 0", "src/sum.test.ts::sum > is wrong") if it not in contradiction] == []
    passing = '<testsuite><testcase classname="c" name="t"/></testsuite>'
    odd = run(tmp_path, *writes(passing, "r.xml", code=1), report="r.xml")
    [problem] = odd.problems
    assert "ended with 1" in problem
    assert (odd.bent, odd.is_green) == ((), False)


def test_a_run_without_results_shows_the_commands_output(tmp_path: Path) -> None:
    ran = run(tmp_path, sys.executable, "-c", "print('no worker began'); raise SystemExit(1)", "{report}")
    assert "fresh" in ran.problems[0]
    assert "ended with 1" in ran.problems[1]
    assert ran.problems[1].endswith("\nno worker began")
    hangs = "import signal; print('waits', flush=True); signal.pause()"
    late = asyncio.run(Junit(command=(sys.executable, "-c", hangs, "{report}"), timeout=1.0).test(tmp_path))
    assert (late.ended, late.output) == ("timeout", "waits\n")
    assert [it for it in (sys.executable, "1 s") if it not in late.problems[0]] == []


def test_chosen_tests_are_sorted_out_afterwards(tmp_path: Path) -> None:
    ids = ("src/sum.test.ts::sum > adds", "gone")
    ran = run(tmp_path, *writes(VITEST, "r.xml", code=1), report="r.xml", ids=ids)
    assert list(ran.tests) == ["src/sum.test.ts::sum > adds"]
    assert ran.problems == ("gone was not run",)
    assert any("whole suite" in limit for limit in ran.limits)


def test_tests_are_listed_by_a_command(tmp_path: Path) -> None:
    listing = (sys.executable, "-c", "print('a\\n\\n b > c\\na\\nsrc/a.test.ts > b > c')")
    found = asyncio.run(Junit(command=("x",), listing=listing).collect(tmp_path))
    assert (found.ids, found.is_complete) == (("a", "b > c", "src/a.test.ts::b > c"), True)


def test_without_such_a_command_a_run_shows_which_tests_there_are(tmp_path: Path) -> None:
    write(tmp_path, "report.xml", VITEST)
    script = "import shutil, sys; shutil.copy('report.xml', sys.argv[1]); sys.exit(1)"
    chain = Junit(command=(sys.executable, "-c", script, "{report}"))
    found = asyncio.run(chain.collect(tmp_path))
    assert (found.ids, found.is_complete) == (tuple(kinds(VITEST)), True), "that some fail is no fault of the list"
    assert any("to list them" in limit for limit in found.limits)
    assert asyncio.run(chain.collect(tmp_path, ("other.ts",))).ids == ()
    broken = asyncio.run(Junit(command=(sys.executable, "-c", "")).collect(tmp_path))
    assert (broken.ids, broken.is_complete) == ((), False)


def test_the_script_of_the_documentation_tells_tests_apart(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "tests-believed.md").read_text(encoding="utf-8")
    write(tmp_path, "run-tests.sh", page.partition("```sh\n")[2].partition("```")[0])
    write(tmp_path, "tests/price/total.sh", '[ "$(echo 7)" = 7 ]\n')
    write(tmp_path, "tests/late.sh", "exit 3\n")
    ran = run(tmp_path, "sh", "run-tests.sh", "{report}")
    assert {id_: (test.verdict, test.kind) for id_, test in ran.tests.items()} == {
        "tests/late.sh::late": ("failed", "assertion"),
        "tests/price/total.sh::total": ("passed", ""),
    }
    assert (ran.exit, ran.bent, ran.problems) == (1, (), ())
