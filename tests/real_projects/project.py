"""A clone of a real package with some history, and the commands that a person gives in it."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from tests.git.place import git
from tests.real_projects.features import Addition
from tests.real_projects.scripts import Rules
from tools.real_projects.packages import COMMAND, GO, NODE, PACKAGES, PYTHON, Package
from treadle.protocol.paths import is_test

PATIENCE: Final = 900.0
"""Seconds for one command."""


class Ended(msgspec.Struct, frozen=True):
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.out.strip(), f"no JSON was printed; exit code {self.code}; {self.err}"
        return msgspec.json.decode(self.out)

    def __str__(self) -> str:
        return f"exit code {self.code}\n{self.out}\n{self.err}"


ADVICE: Final = frozenset({"minimal", "knows_tests", "unsafe_imports", "scaling"})
"""The checks of v3 that refuse nothing; the log keeps their results without this fact."""


class RealProject:
    """The clone in which a story takes place."""

    def __init__(self, package: Package, folder: Path) -> None:
        self.package, self.root = package, folder / package.name
        self.scripts = folder / "scripts"
        self.scripts.mkdir(parents=True)
        self._copy()
        self.env = {**os.environ, "PATH": f"{NODE}{os.pathsep}{GO / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        # Nothing may be fetched while tests run: what they need is in the cache.
        self.env |= {"GOMODCACHE": str(GO / "modules"), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}

    def _copy(self) -> None:
        """The package's files in two commits: first its code, then its tests."""
        source = self.package.source
        if not source.is_dir():
            pytest.skip(f"{self.package.registered} {self.package.version} is not in {source}; run `{COMMAND}`")
        shutil.copytree(source, self.root, ignore=shutil.ignore_patterns(".git", "*.egg-info", "node_modules"))
        for name in self.package.leaves_out:
            (self.root / name).unlink()
        git(self.root, "init", "-q", "-b", "main")
        ignored = (self.root / ".gitignore").read_text() if (self.root / ".gitignore").exists() else ""
        (self.root / ".gitignore").write_text(f"{ignored}\n.venv/\n__pycache__/\n.pytest_cache/\nnode_modules\n")
        git(self.root, "add", "-A")
        tests = [path for path in git(self.root, "ls-files").splitlines() if is_test(path)]
        git(self.root, "rm", "-q", "--cached", "--", *tests)
        git(self.root, "commit", "-q", "-m", f"{self.package.name} {self.package.version}")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "Add the tests")
        self._environment()
        assert not git(self.root, "status", "--porcelain"), "setting the environment up changes no file of the package"

    def _environment(self) -> None:
        """What a developer has in the clone, without fetching it again."""
        if self.package.language == "python":
            venv.create(self.root / ".venv", symlinks=True)
            packages = next((self.root / ".venv").glob("lib/python*/site-packages"))
            installed = next(PYTHON.glob("lib/python*/site-packages"))
            for installed_file in installed.iterdir():  # as if pip had put each of them there
                if not (packages / installed_file.name).exists():
                    (packages / installed_file.name).symlink_to(installed_file)
            if self.package.target.startswith("src/"):
                self._install_editable()
        elif self.package.language == "javascript":
            (self.root / "node_modules").symlink_to(NODE / "node_modules")

    def _install_editable(self) -> None:
        """`pip install -e .`, without which nothing of a `src` layout can be imported."""
        python, own = PYTHON / "bin" / "python", self.root / ".venv" / "bin" / "python"
        command = [str(python), "-m", "pip", "--disable-pip-version-check", "--python", str(own), "install", "-q"]
        command += ["--no-index", "--no-deps", "--no-build-isolation", "-e", "."]
        env = {**os.environ, "SETUPTOOLS_SCM_PRETEND_VERSION": self.package.version}
        done = subprocess.run(command, cwd=self.root, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def commit(self, subject: str, files: Mapping[str, str] | None = None) -> str:
        self.write(files or {})
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def git(self, *words: str) -> str:
        return git(self.root, *words).strip()

    def files(self, commit: str = "HEAD") -> set[str]:
        return set(self.git("ls-tree", "-r", "--name-only", commit).splitlines())

    def treadle(self, *words: str) -> Ended:
        return self.ended(self.start(*words))

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """A command that runs beside others."""
        command = [sys.executable, "-m", "treadle", *words]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.root, env=self.env, text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    def ended(self, process: "subprocess.Popen[str]") -> Ended:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        return Ended(process.returncode, out, err)

    def set_up(self) -> Ended:
        """`treadle init`, and a commit of its file as it is."""
        done = self.treadle("init")
        self.commit("Set up Treadle")
        return done

    def run_words(self, addition: Addition, rules: Rules, *words: str, spec: Any = None, name: str = "") -> list[str]:
        """The command that starts a run of a feature with scripted agents; spec and script lie outside of the clone."""
        name = name or addition.feature.id
        given, script = self.scripts / f"{name}.spec.yaml", self.scripts / f"{name}.yaml"
        given.write_text(json.dumps(spec or addition.spec))
        script.write_text(json.dumps({"agents": rules}))
        return ["run", str(given), "--agent", f"scripted:{script}", "--name", name, "--json", *words]

    def run(self, addition: Addition, rules: Rules, *words: str, spec: Any = None, name: str = "") -> Ended:
        return self.treadle(*self.run_words(addition, rules, *words, spec=spec, name=name))

    def drive(self, ended: Ended, run: str, answers: Mapping[str, str] | None = None, most: int = 30) -> Ended:
        """Say `go` to each step that waits for it, give the answers that are known, and go on until neither helps."""
        for _ in range(most):
            if ended.code != 3:
                break
            told = ended.json()
            if told["starts"]:
                self.treadle("go", run, told["starts"][0]["step"], "--at", told["starts"][0]["instance"])
            elif asked := [it["id"] for it in told["questions"] if _step(it["id"]) in (answers or {})]:
                self.treadle(
                    "answer", run, asked[0].partition("@")[0].partition("#")[0], (answers or {})[_step(asked[0])]
                )
            else:
                break
            ended = self.treadle("resume", run, "--json")
        return ended

    def codes(self, run: str, act: str) -> set[str]:
        """The codes of all that was found wrong with an activity."""
        return set(_codes(self.treadle("show", run, act, "--json").json()))

    def suite(self, tries: int = 3) -> tuple[int, float]:
        """How many tests of the package pass in the clone as it is, and in how many seconds.

        Some suites have short timeouts, which a busy machine exceeds, so a failing one is run again.
        """
        python = str(self.root / ".venv" / "bin" / "python")
        command, found = {
            "python": ([python, "-m", "pytest", "-q", "-p", "no:cacheprovider"], r"(\d+) passed"),
            "javascript": (["node", "--test", "--test-reporter=tap"], r"# pass (\d+)"),
            "go": (["go", "test", "-v", "-count=1", "./..."], r"(?m)^--- PASS"),
        }[self.package.language]
        began = time.monotonic()
        done = subprocess.run(command, cwd=self.root, env=self.env, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - began
        if done.returncode and tries > 1:
            return self.suite(tries - 1)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        matches = re.findall(found, done.stdout)
        return len(matches) if self.package.language == "go" else int(matches[-1]), seconds

    def standings(self, run: str) -> dict[str, str]:
        """Criterion → how it stands, as `evidence --json` says."""
        told = self.treadle("evidence", run, "--json").json()
        return {it["id"]: it["standing"] for it in told["criteria"]}

    def events(self, run: str) -> list[dict[str, Any]]:
        """The events of a run's log."""
        return [json.loads(line)["event"] for line in self.treadle("log", run, "--json").out.splitlines()]

    def attempts(self, run: str) -> dict[str, list[str]]:
        """Step → the attempts that were made, refused ones included."""
        found: dict[str, list[str]] = {}
        for event in self.events(run):
            if event["type"] == "Exited":
                step, _, attempt = event["act"].rpartition("#")
                found.setdefault(step, []).append(attempt)
        return found

    def lost_attempts(self, run: str) -> dict[str, set[str]]:
        """Activities that were not the first attempt of their step, or were refused, with the codes of the refusal."""
        later = {f"{step}#{it}" for step, tries in self.attempts(run).items() for it in tries if it != "1.1"}
        return {act: self.codes(run, act) for act in later | self.refused(run).keys()}

    def unverified(self, run: str) -> list[str]:
        """Merges that were refused because a criterion is not verified, and for no other reason."""
        left = [(event["act"], event["envelope"]) for event in self.events(run) if event["type"] == "Exited"]
        kinds = {act: (envelope["type"], envelope.get("variant", "")) for act, envelope in left}
        return [act for act, kind in kinds.items() if kind == ("MergeRejected", "Unverified")]

    def refused(self, run: str) -> dict[str, set[str]]:
        """Activities whose claims were refused, and the checks that did so."""
        checked = [event for event in self.events(run) if event["type"] == "Checked"]
        failed = {
            event["act"]: {it["check"] for it in event.get("results", []) if not it["ok"] and it["check"] not in ADVICE}
            for event in checked
        }
        return {act: checks for act, checks in failed.items() if checks}


def package_named(name: str) -> Package:
    return next(package for package in PACKAGES if package.name == name)


def _step(question: str) -> str:
    """`root/a:stuck@impl#1.1` → `stuck`."""
    return question.rpartition(":")[2].partition("@")[0].partition("#")[0]


def _codes(value: Any) -> Iterator[str]:
    """The codes of problems anywhere in a document."""
    match value:
        case dict():
            yield from (one for one in (value.get("code"), *(value.get("codes") or ())) if isinstance(one, str) and one)
            for one in value.values():
                yield from _codes(one)
        case list():
            for one in value:
                yield from _codes(one)
