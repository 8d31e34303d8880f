"""How the tests run on any machine."""

import gc

import pytest
from hypothesis import settings

# Whether an example took long says something about the machine, not about the code.
settings.register_profile("steady", deadline=None)
settings.load_profile("steady")


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from the ten thousand collected tests: it would search them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents of tests note what they do where the test looks, outside of their lanes; tests of the box ask for one."""
    monkeypatch.setenv("TREADLE_SET", "workspace.box=off")


@pytest.fixture(autouse=True)
def _no_installed_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test starts an agent of this machine that it has not put on the PATH itself."""
    monkeypatch.setenv("TREADLE_AGENTS", "/nowhere")
