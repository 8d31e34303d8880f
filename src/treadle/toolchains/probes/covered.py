"""Runs pytest and writes down which lines of the checkout were executed; started by the project's own interpreter.

`covered.py LIBRARY REPORT CHECKOUT -m pytest …`: `coverage` comes from LIBRARY, and no file or variable of the checkout
configures it. The report is written when pytest has ended; without it, nothing was measured.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from typing import Any


def main(library: str, report: str, checkout: str) -> None:
    """Measure one run of pytest, with the arguments left in `sys.argv`."""
    sys.path.append(os.getcwd())  # noqa: PTH109 - where plugins that `addopts` names may lie
    keep = (open, json.dumps, os.path.relpath, os.path.realpath)  # the code under test may change what is looked up
    measuring = _coverage(library, checkout)
    measuring.start()
    try:
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)
    finally:
        measuring.stop()
        _write(measuring.get_data(), report, checkout, keep)


def _coverage(library: str, checkout: str) -> Any:
    sys.path.insert(0, library)
    try:
        import coverage  # noqa: PLC0415
    finally:
        sys.path.remove(library)
    measuring = coverage.Coverage(data_file=None, config_file=False, source=[checkout], messages=False)
    silent = "module-not-imported module-not-measured no-data-collected trace-changed already-imported".split()
    measuring.set_option("run:disable_warnings", silent)
    return measuring


def _write(data: Any, report: str, checkout: str, keep: Any) -> None:
    open_, dumps, relpath, realpath = keep
    root = realpath(checkout)
    lines = {relpath(realpath(file), root): sorted(data.lines(file) or ()) for file in data.measured_files()}
    with open_(report, "x", encoding="utf-8") as target:
        target.write(dumps(lines))


if __name__ == "__main__":
    _library, _report, _checkout = sys.argv[1:4]
    sys.argv[:] = ["pytest", *sys.argv[6:]]
    main(_library, _report, _checkout)
