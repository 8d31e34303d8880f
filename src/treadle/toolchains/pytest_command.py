"""How pytest is called: the project's own configuration and command, and nothing from above or beside the checkout."""

import configparser
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Final

from treadle.toolchains.files import read_text

WITNESS: Final = Path(__file__).with_name("witness")

KNOWN_PLUGINS: Final = tuple(
    """
    anyio asyncio aiohttp trio tornasync twisted xdist xdist.looponfail pytest_cov timeout pytest_mock django flask
    env httpx pytest_httpserver pytest_httpx respx requests_mock recording vcr faker hypothesispytest pytest_fakefs
    time_machine freezer freezegun benchmark subtests syrupy inline_snapshot snapshot regressions datadir pytest_datadir
    pytest-bdd factoryboy pytest_factoryboy lazy-fixture lazy_fixtures pytest_lazyfixtures cases pytest_cases order
    pytest_order socket postgresql docker qt pytest-qt randomly rerunfailures typeguard check icdiff clarity
    """.split()
)
"""Entry points that are loaded where they are installed; those of a project's own go into `toolchain.plugins`."""


def configuration(checkout: Path) -> Path | None:
    """The file that configures pytest, by pytest's own rules but never from above the checkout."""
    for name in ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"):
        if (checkout / name).is_file():
            return checkout / name
    if _toml_has_pytest(checkout / "pyproject.toml"):
        return checkout / "pyproject.toml"
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if _ini_has(checkout / name, section):
            return checkout / name
    return None


def _toml_has_pytest(path: Path) -> bool:
    try:
        tool = tomllib.loads(read_text(path)).get("tool", {})
    except (ValueError, RecursionError):
        return True  # pytest says best what is wrong with it
    return isinstance(tool, dict) and "pytest" in tool


def _ini_has(path: Path, section: str) -> bool:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(read_text(path))
    except configparser.Error:
        return False
    return parser.has_section(section)


def is_module(command: tuple[str, ...]) -> bool:
    """Whether pytest is started as `python -m pytest`, by which the current folder can be imported from."""
    return ("-m", "pytest") in pairwise(command)


def arguments(checkout: Path, scratch: Path, *, files: tuple[str, ...], collect_only: bool) -> list[str]:
    """What is added to the project's own command."""
    empty = scratch / "pytest.ini"
    if (ini := configuration(checkout)) is None:
        empty.write_text("[pytest]\n", encoding="utf-8")
        ini = empty
    report = scratch / "report"
    report.mkdir(exist_ok=True)
    return [
        *("-p", "treadle_witness.plugin", "-c", str(ini), f"--rootdir={checkout}", f"--confcutdir={checkout}"),
        # A cache of its own instead of none: options such as `--ff` in the project's configuration stay valid.
        *("-o", f"cache_dir={scratch / 'cache'}", "-o", "junit_family=xunit1", "-o", "junit_logging=no"),
        *("--junit-prefix=", f"--junit-xml={report / 'junit.xml'}", f"--basetemp={scratch / 'basetemp'}"),
        *("--maxfail=0", "--continue-on-collection-errors", "--color=no"),
        *(["--collect-only", "-q"] if collect_only else []),
        *files,
    ]
