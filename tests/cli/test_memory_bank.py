"""`treadle memory show` and `treadle memory check`: the bank of a run as it stands, and what is wrong with it."""

from pathlib import Path

import pytest

from tests.cli.treadle import treadle
from tests.git.place import git, repository, write
from tests.runtime.test_view_files import Place
from treadle.kernel.events import Checked, CheckResult, Envelope, Exited
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.store.sqlite import Store
from treadle.views.bank import run_of

DESIGN: dict[str, Json] = {
    "type": "Designed",
    "message": "One module.",
    "architecture_design": "# Design\n\n## Modules\nOne, see [↗️σ₃:R1], [↗️σ₁:Criteria].\n\n## Data flow\nNone.\n",
    "module_specifications": "# Modules\n\n## labels\nAs [↗️σ₂:Data flow] says.\n",
    "tech_stack": "# Technology\nPython.\n",
    "modules": [],
}


class Project(Place):
    """A project whose runs lie where the command line finds them."""

    def __init__(self, root: Path) -> None:
        self.folder = root / ".treadle" / "local"
        self.folder.mkdir(parents=True)
        self.root, self.store = root, Store(self.folder / "store.db", create=True)

    def designs(self, said: dict[str, Json]) -> None:
        """The design of the run is accepted."""
        self.goes("one")
        act, ref = "root:O1P#1.1", self.store.payloads.put(said)
        envelope = Envelope("Designed", "", {"modules": ()}, ref)
        self.happens("one", Exited(id="x", ts=3, act=act, envelope=envelope))
        results = (CheckResult("readonly", True), CheckResult("documents", True))
        self.happens("one", Checked(id="c", ts=4, act=act, results=results, payload_ref=ref))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    root = repository(tmp_path)
    monkeypatch.chdir(root)
    found = Project(root)
    found.start("one")
    return found


def test_all_documents_are_listed(here: Project) -> None:
    here.designs(DESIGN)
    found = treadle("memory", "show")
    assert found.code == 0
    assert found.out.splitlines()[0].endswith("bank of one")
    assert "| σ₄ | context | memory-bank/activeContext.md | orchestrator | there |" in found.out
    assert "| memory-bank/techContext.md | architect | there |" in found.out
    rows = [line for line in found.out.splitlines() if "| memory-bank/validation.md | validator |" in line]
    assert [row.endswith("| there |") for row in rows] == [False]


@pytest.mark.parametrize("word", ["σ₄", "σ4", "s4", "context"])
def test_a_document_is_shown_as_it_stands(here: Project, word: str) -> None:
    here.designs(DESIGN)
    found = treadle("memory", "show", word, "--run", "one")
    assert run_of(found.out.removesuffix("\n")) == "one"
    assert "- Ω_current: Ω₂ᴬ" in found.out
    assert "> One module." in found.out


def test_one_section_of_a_document_is_shown(here: Project) -> None:
    here.designs(DESIGN)
    state = treadle("memory", "show", "σ₄:R1").out
    assert state.startswith("## R1 State\n")
    assert "## R2" not in state
    assert treadle("memory", "show", "σ₂:data flow").out == "## Data flow\nNone.\n\n"
    missing = treadle("memory", "show", "σ₂:Data folw")
    assert (missing.code, missing.error, missing.lacks("'Data folw'", "'R2 Data flow'")) == (2, "bank.unknown", [])


def test_documents_of_agents(here: Project) -> None:
    assert treadle("memory", "show", "σ₃", "--json").json()["documents"][0]["there"] is False
    assert "memory-bank/techContext.md" in treadle("memory", "show", "σ₃").out
    here.designs(DESIGN)
    assert treadle("memory", "show", "σ₃").out == "# Technology\nPython.\n\n"
    assert treadle("memory", "show", "σ₂").out.count("# ") >= 3
    wrong = treadle("memory", "show", "contxt")
    assert (wrong.code, wrong.error, wrong.lacks("'contxt'", "'context'")) == (2, "bank.unknown", [])
    assert "σ₁, σ₂" in treadle("memory", "show", "σ₉").err


def test_documents_that_agents_have_committed(here: Project) -> None:
    plan = "memory-bank/tdd_plan.md"
    write(here.root, {plan: "# Plan\n[↗️σ₂:R1]\n"})
    git(here.root, "add", plan)
    git(here.root, "commit", "-q", "-m", "plan")
    git(here.root, "update-ref", "refs/treadle/one/root/int", "HEAD")
    assert treadle("memory", "show", "tdd_plan").out == "# Plan\n[↗️σ₂:R1]\n\n"
    (fault,) = treadle("memory", "check", "--json").json()["findings"]
    assert (fault["file"], fault["line"], fault["code"]) == (plan, 2, "bank.dead_reference")
    assert "[↗️σ₂:R1]" in fault["message"]


def test_show_and_check_print_json(here: Project) -> None:
    here.designs(DESIGN)
    found = treadle("memory", "show", "σ₃", "--json").json()
    assert (found["schema"], found["run"]) == (1, "one")
    assert found["documents"] == [
        {
            "artifact": "tech_stack",
            "symbols": ["σ₃", "σ₂.tech_stack"],
            "path": "memory-bank/techContext.md",
            "writer": "architect",
            "there": True,
            "text": "# Technology\nPython.\n",
            "sections": [{"number": 1, "name": "Technology", "line": 1}],
        }
    ]
    assert treadle("memory", "check", "--json").json() == {"schema": 1, "run": "one", "findings": []}


def test_references_are_checked(here: Project) -> None:
    here.designs(DESIGN)
    assert treadle("memory", "check").out == "one: no findings\n"


def test_dead_references_are_findings(here: Project) -> None:
    here.designs({**DESIGN, "tech_stack": "# Technology\nSee [↗️σ₂:R7], [↗️σ9:R1].\n"})
    found = treadle("memory", "check")
    assert found.code == 1
    first, second, *_ = found.out.splitlines()
    assert first.startswith("memory-bank/techContext.md:2: tech_stack: [↗️σ₂:R7] ")
    assert second.startswith("memory-bank/techContext.md:2: tech_stack: [↗️σ9:R1] ")
    assert "treadle memory show" not in found.err
    faults = treadle("memory", "check", "--json").json()["findings"]
    assert [(it["file"], it["line"], it["level"], it["code"]) for it in faults] == [
        ("memory-bank/techContext.md", 2, "error", "bank.dead_reference")
    ] * 2


def test_a_changed_file_is_a_finding(here: Project) -> None:
    here.files("one").show(load("riper"))
    assert treadle("memory", "check").code == 0
    path = here.root / "memory-bank/activeContext.md"
    path.write_text(path.read_text() + "\nmine\n")
    assert treadle("memory", "check").code == 1
    (fault,) = treadle("memory", "check", "--json").json()["findings"]
    assert (fault["file"], fault["code"]) == ("memory-bank/activeContext.md", "bank.changed")
    assert "mine" not in treadle("memory", "show", "σ₄").out


def test_a_file_that_is_older_than_the_log_is_a_warning(here: Project) -> None:
    here.files("one").show(load("riper"))
    here.goes("one")
    assert treadle("memory", "check").code == 0
    (fault,) = treadle("memory", "check", "--json").json()["findings"]
    assert (fault["file"], fault["code"], fault["level"]) == ("memory-bank/activeContext.md", "bank.stale", "warning")


def test_runs_without_a_bank(here: Project) -> None:
    here.start("two", load("v3"), created=9)
    assert treadle("memory", "check").out == "one: no findings\n", "the latest that has one"
    refused = treadle("memory", "show", "--run", "two")
    assert (refused.code, refused.error, refused.lacks("two", "v3")) == (2, "bank.none", [])


def test_no_run_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository(tmp_path))
    assert treadle("memory", "show").error == "run.none"
    found = Project(Path.cwd())
    found.start("two", load("v3"))
    assert treadle("memory", "check").error == "bank.none"


def test_uninstall_removes_the_bank_but_not_a_changed_document(here: Project) -> None:
    here.files().show(load("riper"))
    names = sorted(path.name for path in (here.root / "memory-bank").iterdir())
    changed = here.root / "memory-bank" / names[0]
    changed.write_text(f"{changed.read_text()}\nMine.\n")
    here.store.close()
    gone = treadle("uninstall", "--force", "--yes", "--json").json()["files"]
    assert [name for name in gone if name.startswith("memory-bank/")] == [f"memory-bank/{name}" for name in names[1:]]
    assert [path.name for path in (here.root / "memory-bank").iterdir()] == [changed.name]
