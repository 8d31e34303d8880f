"""The pytest plugin that reports the real outcome of each test, independently of pytest's own reports."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import sys
from importlib import metadata
from typing import (  # noqa: UP035 - this runs on old versions too
    Any,
    Callable,
    Iterator,
)

import pytest

from .asserts import judged
from .audit import AUDIT
from .boundaries import Boundaries, Registered
from .canaries import Canary, sing
from .imports import FromSource, Hidden, compile_afresh, put_checkout_first, strangers
from .judge import Judge
from .machinery import differences, functions, identities, taken_down, watched
from .mirrors import Mirrors
from .reached import Reached
from .reasons import TestTimeout, kind_of, place_of, places_of, raw
from .written import Written

# The line from the test process to Treadle: numbered, signed, and written by this process alone.

Send = Callable[..., None]


def read_order() -> tuple[dict[str, Any], Send]:
    """Read the order, and return it with the function that sends reports; a second call finds neither."""
    order_file, _, report_file = os.environ.pop("TREADLE_WITNESS").partition(":")
    with os.fdopen(int(order_file), "r") as file:
        order: dict[str, Any] = json.load(file)
    return order, _sender(int(report_file), bytes.fromhex(order.pop("key")))


def _sender(file: int, key: bytes) -> Send:
    os.set_inheritable(file, False)
    mine, number = os.getpid(), 0
    getpid, write, dumps, sign = os.getpid, os.write, json.dumps, hashlib.blake2s

    def send(what: str, **fields: Any) -> None:
        nonlocal number
        if getpid() != mine:
            return
        body = dumps({"what": what, **fields})
        signature = sign(f"{number} {body}".encode(), key=key).hexdigest()
        line = f"{signature} {body}\n".encode()
        number += 1
        while line:
            line = line[write(file, line) :]

    return send


_MAX = 4_000


class Witness:
    """Watches one run."""

    def __init__(self) -> None:
        self.order, self.send = read_order()
        self.is_plain = self.order["plain"]
        """Whether the runner's word is told as it is: nothing is rewritten, judged or verified."""
        self.before: dict[Any, Any] = {}
        self.codes: dict[str, Any] = {}
        self.made: dict[Any, str] = {}
        self.canaries: list[dict[str, Any]] = list(self.order["canaries"])
        self.mirrors = Mirrors(self.order["mirrors"], self.order["seed"])
        self.judge = Judge(self.send, self.order["seed"], has_mirrors=bool(self.order["mirrors"]))
        self.written, self.reached = Written(), Reached()
        self.item: Any = None
        self.at, self.total = 0, 0
        AUDIT.root, AUDIT.kept = self.order["checkout"], self.order["kept"]
        early = [name for name in list(sys.modules) if _is_from(name, self.order["checkout"])]
        FromSource.began = Hidden(self.order["checkout"], self.order["root"], self.send).look
        compile_afresh(self.order["checkout"])
        put_checkout_first(self.order["checkout"], self.order["root"], self.order["module"])
        self.send("hello", pytest=pytest.__version__, python=sys.version.split()[0], early=early)

    def begin(self, pluginmanager: Any) -> None:
        """Load the allowed plugins, and only then record the state of the machinery."""
        for entry in _installed(self.order["plugins"]):
            if not pluginmanager.has_plugin(entry.name) and not pluginmanager.is_blocked(entry.name):
                pluginmanager.register(entry.load(), name=entry.name)
        if self.is_plain:
            return
        judged(self.judge, self.reached)
        self.boundaries = Boundaries(Registered(pluginmanager, self._exchanged), self._came)
        self.boundaries.draw(pluginmanager)
        _guard_exit(self)
        self.before = identities()

    def take_down(self) -> None:
        """Remember all machinery as it is; from here on it is verified."""
        if self.is_plain:
            return
        parts = taken_down()
        AUDIT.functions = {id(function): (name, function) for name, function in functions(parts)}
        self.boundaries.verify_by(watched(parts, self._exchanged))
        for name in [name for name in sys.modules if name.split(".")[0] == "treadle_witness"]:
            del sys.modules[name]  # code of the project must not find the witness by name
        if hasattr(gc, "freeze"):
            gc.freeze()  # all of this lasts as long as the process: no collection has to look at it, or finds it
        gc.enable()

    def _exchanged(self, name: str) -> None:
        self.send("tampering", text=f"{name} was exchanged (in {AUDIT.test or 'no test'})")

    def _came(self, who: Any, when: str, place: str, how: str) -> None:
        """Tell at once how a phase came to its end, before anybody can make something else of it."""
        item = self.item
        if item is None or self.mirrors.is_running:
            return
        # A test may run test cases of its own.
        is_its_case = who is not item and any(who is getattr(item, name, None) for name in ("_testcase", "instance"))
        if who is item or is_its_case:
            self.send("came", id=item.nodeid, when=when, place=place, how=how)

    # how the run is set up

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Iterator[None]:
        if hasattr(early_config.known_args_namespace, "cov_source"):
            early_config.known_args_namespace.cov_source = []  # measuring would add a verdict of its own
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> Iterator[None]:
        for name, value in (("numprocesses", 0), ("dist", "no"), ("tx", []), ("stepwise", False), ("maxfail", 0)):
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        yield

    # what is collected

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        file, line, _ = item.location
        self.codes[item.nodeid] = getattr(getattr(item, "function", None), "__code__", None)
        self.mirrors.collected(item)
        for number in self.written.lost(item)[:1]:
            self.send("tampering", text=f"{item.nodeid} runs without the assertion in line {number} of its file")
        self.send("collected", id=item.nodeid, file=file, line=(line or 0) + 1)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Iterator[None]:
        AUDIT.test = collector.nodeid
        self.mirrors.read(collector)
        self.written.read(collector)
        outcome: Any = yield
        AUDIT.test = ""
        if outcome.excinfo is not None and isinstance(outcome.excinfo[1], SystemExit):
            text = _left_at(outcome.excinfo[1], self.order["checkout"])
            self.send("uncollected", id=collector.nodeid, outcome="failed", kind="exit", message=text)
        report = outcome.get_result()
        call = getattr(report, "call", None)
        if report.outcome != "passed":
            value = call.excinfo.value if call is not None and call.excinfo else None
            kind = "" if report.outcome == "skipped" else kind_of(value, "collect")
            self.send(
                "uncollected", id=report.nodeid, outcome=report.outcome, kind=kind, message=_text(report.longreprtext)
            )

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        yield
        ids = self.order["ids"]
        if ids is not None:
            wanted = set(ids)
            items[:] = [item for item in items if item.nodeid in wanted]
        self.total = len(items)
        self.send("chosen", ids=[item.nodeid for item in items])

    # what is run

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._sing(item, self.at / max(self.total, 1))
        self.at += 1
        code = getattr(getattr(item, "function", None), "__code__", None)
        if code is not self.codes.get(item.nodeid, code):
            self.send("tampering", text=f"{item.nodeid} was exchanged after it was collected")
        self.send("start", id=item.nodeid)
        AUDIT.test, self.item = item.nodeid, item
        self._look_for_tracers()
        _alarm(self.order["timeout"])
        yield
        _alarm(0)
        self.item = None
        AUDIT.test = ""
        self.send("finish", id=item.nodeid)
        self._tell()
        if self.at == self.total:
            self._sing(item, 2.0)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        outcome: Any = yield
        self._look_for_tracers()
        if isinstance(item, Canary):
            return
        report = outcome.get_result()
        self.mirrors.saw(item, call, report)
        if self.mirrors.is_running:
            return
        value = call.excinfo.value if call.excinfo is not None else None
        if self.is_plain and call.when == "call":
            self.send("came", id=item.nodeid, when="call", place="", how=raw(value))
        is_xpass = "[XPASS(strict)]" in _text(report.longreprtext)
        self.made[(item.nodeid, call.when)] = report.outcome
        if call.when == "call" and report.outcome == "passed" and not hasattr(report, "wasxfail"):
            self.reached.passed(item)
        self.send(
            "phase",
            id=item.nodeid,
            when=call.when,
            outcome=report.outcome,
            raw=raw(value),
            xfail=hasattr(report, "wasxfail") or is_xpass,
            kind=kind_of(value, call.when) if report.outcome == "failed" and not is_xpass else "",
            places=places_of(value, self.order["checkout"]) if call.when == "setup" else [],
            message=_message(call.excinfo, report),
            seconds=round(call.duration, 6),
        )

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        made = self.made.get((report.nodeid, report.when))
        if made is not None and made != report.outcome and not hasattr(report, "context"):
            self.send("changed", id=report.nodeid, when=report.when, made=made, outcome=report.outcome)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        outcome: Any = yield
        if outcome.excinfo is None:
            self.judge.is_silent = True
            self.mirrors.run(self.send, _alarm)
            self.judge.is_silent = False

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> Iterator[None]:
        AUDIT.is_writing = True
        yield
        self._tell()
        if not self.is_plain:
            self.boundaries.verify()
        for name in differences(self.before):
            self.send("tampering", text=f"{name} is no longer what it was")
        for name in self.written.exchanged():
            self.send("tampering", text=f"{name} is no longer what the tests were collected with")
        for id_, lines in self.reached.missed():
            self.send("tampering", text=f"{id_} passed without reaching any of its assertions (lines {lines})")
        self.send("end", exit=int(session.exitstatus), strangers=strangers(self.order["checkout"], self.order["root"]))

    def _sing(self, item: pytest.Item, place: float) -> None:
        """Run the canaries that are due at this place."""
        due = [canary for canary in self.canaries if canary["place"] <= place]
        self.canaries = [canary for canary in self.canaries if canary["place"] > place]
        for canary in due:
            self.send(
                "canary", token=canary["token"], verdict=sing(item, canary["want"], canary["token"], canary["name"])
            )

    def _look_for_tracers(self) -> None:
        """Report a tracer of the project: Python calls it at every line of a test, so it can skip lines."""
        for tracer in (sys.gettrace(), sys.getprofile()):
            call = getattr(type(tracer), "__call__", None)  # noqa: B004
            file = AUDIT.place(getattr(tracer, "__code__", getattr(call, "__code__", None)))
            if file:
                self.send("tampering", text=f"a tracer of {file} was at work while tests ran")

    def _tell(self) -> None:
        for kind, text, _ in AUDIT.news():
            self.send("tampering" if kind == "suspect" else "noted", text=_text(text))


class Start:
    """The last moment before any code of the project is loaded: pytest has put itself together."""

    def __init__(self, witness: Witness) -> None:
        self.witness = witness

    def pytest_load_initial_conftests(self) -> None:
        self.witness.take_down()


def _installed(allowed: list[str]) -> list[Any]:
    """Those plugins of the environment that may be loaded; pytest itself would look through it once for each."""
    found = [entry for one in metadata.distributions() for entry in one.entry_points if entry.group == "pytest11"]
    return sorted((entry for entry in found if entry.name in allowed), key=lambda entry: entry.name)


def _left_at(error: SystemExit, checkout: str) -> str:
    """Which line of the checkout ended the process while it was imported."""
    file, line = place_of(error.__traceback__, checkout)
    place = f"{file}:{line}" if file else "something"
    return f"{place} ended the process while it was imported (SystemExit: {_text(error.code)})"


def _message(excinfo: Any, report: Any) -> str:
    try:
        return _text(excinfo.exconly(tryshort=True) if excinfo is not None else report.longreprtext)
    except Exception:  # noqa: BLE001, RUF100 - what an exception says of itself is the project's code
        return "an exception that cannot be shown"


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _MAX else text[: _MAX // 2] + "\n…\n" + text[-_MAX // 2 :]


def _is_from(name: str, checkout: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None)
    return isinstance(file, str) and file.startswith(checkout + os.sep) and "site-packages" not in file


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        if seconds:
            signal.signal(signal.SIGALRM, _ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _ring(*_: Any) -> None:
    raise TestTimeout("this test took too long")


def _guard_exit(witness: Witness) -> None:
    """An exit past all `finally` is told before it happens."""
    leave = os._exit

    def _exit(status: int) -> Any:
        witness.send("left", exit=status, id=AUDIT.test)
        leave(status)

    os._exit = _exit


def pytest_addoption(pluginmanager: Any) -> None:
    """The first moment at which plugins can be loaded, and options of theirs be known."""
    witness = Witness()
    pluginmanager.register(witness, witness.order["name"])
    pluginmanager.register(Start(witness), witness.order["name"][::-1])
    witness.begin(pluginmanager)
    if "seam" in witness.order:
        from treadle_seam.judge import start  # type: ignore[import-not-found]  # noqa: PLC0415 - only in a judge

        start(witness.order["seam"], witness.send, pluginmanager, witness.order["name"] + "s")
