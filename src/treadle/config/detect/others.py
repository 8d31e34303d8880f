"""Languages whose tools leave little to choose, as data; and make, which leaves everything."""

import re
from typing import Final

from treadle.config.detect.folder import Folder
from treadle.config.detect.found import Found, Guess, Hint, guess

_GOFMT: Final = ("sh", "-ec", 'files="$(gofmt -l .)"; echo "$files"; test -z "$files"')
"""Names the files and fails; gofmt itself fails only if it cannot read one, which `-e` passes on."""
_TARGET: Final = re.compile(r"^test\s*:(?!=)", re.MULTILINE)


def go(folder: Folder) -> Found | None:
    """A Go module, if this is one."""
    if not folder.has("go.mod"):
        return None
    linter = folder.first(".golangci.yml", ".golangci.yaml", ".golangci.toml")
    is_lacking = bool(linter) and folder.program("golangci-lint") is False
    advice = []
    if folder.program("go") is False:
        advice.append(Hint("init.not_installed", "install Go (https://go.dev/dl/): there is no program 'go'"))
    if is_lacking:
        text = f"{linter} asks for golangci-lint, which is not installed; `go vet` is used instead"
        advice.append(Hint("init.tool_missing", text))
    commands = {
        "test": guess("go test ./...", "go.mod"),
        "build": guess("go build ./...", "go.mod"),
        "lint": guess("golangci-lint run", linter) if linter and not is_lacking else guess("go vet ./...", "go.mod"),
        "format": Guess(_GOFMT, "go.mod; gofmt alone never fails"),
    }
    return Found(language="Go", why="go.mod", kind="gotest", commands=commands, advice=tuple(advice))


def rust(folder: Folder) -> Found | None:
    """A Rust package, if this is one."""
    if not folder.has("Cargo.toml"):
        return None
    commands = {
        "test": guess("cargo test", "Cargo.toml"),
        "build": guess("cargo check --all-targets", "Cargo.toml"),
        "lint": guess("cargo clippy --all-targets -- -D warnings", "Cargo.toml"),
        "format": guess("cargo fmt --check", "Cargo.toml"),
    }
    return Found(language="Rust", why="Cargo.toml", commands=commands)


def java(folder: Folder) -> Found | None:
    """A Maven or Gradle build, if this is one."""
    gradle = folder.first("build.gradle.kts", "build.gradle")
    if folder.has("pom.xml"):
        commands = {"test": guess("mvn -q -B test", "pom.xml"), "build": guess("mvn -q -B test-compile", "pom.xml")}
        report = "target/surefire-reports/*.xml"
        return Found(language="Java", why="pom.xml", kind="junit", commands=commands, report=report)
    if gradle:
        program = "./gradlew" if folder.has("gradlew") else "gradle"
        commands = {"test": guess(f"{program} test", gradle), "build": guess(f"{program} testClasses", gradle)}
        report = "build/test-results/test/*.xml"
        return Found(language="Java", why=gradle, kind="junit", commands=commands, report=report)
    return None


def make(folder: Folder) -> Found | None:
    """A Makefile that can test, whatever it is written for."""
    name = folder.first("GNUmakefile", "Makefile", "makefile")
    if not _TARGET.search(folder.text(name) if name else ""):
        return None
    return Found(language="make", why=name, commands={"test": guess("make test", f"the target `test` of {name}")})
