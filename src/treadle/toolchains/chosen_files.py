"""Limits results to the tests of some files, as a toolchain may run more than those.

`go test` chooses packages and names, and many commands choose nothing: asked for the tests of some files, they run all.
A caller that asked for some files must not judge the others, so this module drops their results. A result without a
known place stays, as it may belong to the files.
"""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

import msgspec

from treadle.toolchains.command import RAN_MORE
from treadle.toolchains.results import CollectedTests, TestRun

_SOURCE: Final = re.compile(r"\.(?:py|[cm]?[jt]sx?)\Z")
"""The end of a place that is a file, and no package or class."""


def tests_in_files(run: TestRun, files: Sequence[str] | None) -> TestRun:
    """Return a run with the results of the tests in some files or folders; None: of all."""
    if files is None or RAN_MORE.isdisjoint(run.limits):
        return run
    kept = {id_: test for id_, test in run.tests.items() if is_in_files(id_, test.file, files)}
    return msgspec.structs.replace(run, tests=kept, chosen=tuple(id_ for id_ in run.chosen if id_ in kept))


def listed_in_files(found: CollectedTests, files: Sequence[str] | None) -> CollectedTests:
    """Return the tests that were found in some files or folders; None: all."""
    if files is None or RAN_MORE.isdisjoint(found.limits):
        return found
    return msgspec.structs.replace(
        found,
        ids=tuple(id_ for id_ in found.ids if is_in_files(id_, found.files.get(id_, ""), files)),
        errors={id_: test for id_, test in found.errors.items() if is_in_files(id_, test.file, files)},
    )


def is_in_files(id_: str, file: str, files: Sequence[str]) -> bool:
    """Whether a test may be in some files or folders; `file` is its own, if the toolchain reports it."""
    if any(
        path == one.rstrip("/") or path.startswith(f"{one.rstrip('/')}/")
        for one in files
        for path in (file, _place(id_))
    ):
        return True
    is_located = "/" in file or _SOURCE.search(_place(id_)) is not None
    return not is_located and any(_may_be_in(_place(id_), file, one) for one in files)


def _place(id_: str) -> str:
    return id_.partition("::")[0]


def _may_be_in(place: str, file: str, wanted: str) -> bool:
    """Whether a test of unknown place may be in a file or folder.

    Of Go tests without canaries only the package is known, or the name of the file in it. Other tests may be anywhere.
    """
    path = PurePosixPath(wanted)
    if path.suffix != ".go" and "/" not in place:
        return True
    folder = path.parent if path.suffix else path
    is_same_name = not (file and path.suffix) or file == path.name
    return is_same_name and (str(folder) == "." or f"/{place}".endswith(f"/{folder}"))
