"""Every key of the language, its shorthands, and what is said about a mistake."""

import itertools
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from tests.protocol.loading import MINIMAL, STEP, graph, problems, protocol, step
from treadle.protocol.model import (
    Artifact,
    Becomes,
    Budget,
    CancelGroup,
    CheckRef,
    Exit,
    Field,
    Graph,
    Handler,
    Limits,
    Need,
    Protection,
    Protocol,
    Record,
    ResetThread,
    Role,
    Route,
    Send,
    Spawn,
    Step,
    Thread,
    Tier,
    Wait,
)
from treadle.protocol.reading.parse import EXIT_KEYS, GRAPH_KEYS, RECORD_KEYS, TOP_KEYS
from treadle.protocol.reading.steps import KEYS, ROUTE_KEYS


@pytest.mark.parametrize(
    ("body", "key", "value"),
    [
        ("{role: de}", "kind", "agent"),
        ("{role: de}", "template", "work.jinja"),
        ("{role: 'de:Fix'}", "mode", "Fix"),
        ("{role: 'de:Fix'}", "template", "fix.jinja"),
        ("{role: 'de:Look'}", "template", "work.jinja"),
        ("{role: 'de:Fix'}", "exits", ("Fixed", "Stuck")),
        ("{role: 'de:Fix', exits: [Fixed]}", "exits", ("Fixed",)),
        ("{role: 'de:Fix', exits: []}", "exits", ()),
        ("{role: 'de:Fix', template: own.jinja}", "template", "own.jinja"),
        ("{effect: merge, exits: Merged Refused}", "exits", ("Merged", "Refused")),
        ("{effect: merge, pools: ['parent:branch']}", "pools", ("parent:branch",)),
        ("{checks: build green}", "checks", (CheckRef(name="build"), CheckRef(name="green"))),
        ("{checks: [build, 'green?']}", "checks", (CheckRef(name="build"), CheckRef(name="green", advisory=True))),
        ("{ask: parent, signal: Help}", "asks", "parent"),
        ("{ask: human, choices: {retry: try again}}", "choices", {"retry": "try again"}),
        ("{map: main, over: in.items, window: 3}", "window", "3"),
        ("{map: main, over: in.items, window: in.parallel}", "window", "in.parallel"),
        ("{role: de, timeout: 90}", "timeout", 90),
        ("{role: de, timeout: 90s}", "timeout", 90),
        ("{role: de, timeout: 10m}", "timeout", 600),
        ("{role: de, timeout: 2h}", "timeout", 7200),
        ("{role: de, thread: new}", "thread", Thread()),
        ("{role: de, thread: resume}", "thread", Thread(kind="resume")),
        ("{role: de, thread: 'resume:plan'}", "thread", Thread(kind="resume", step="plan")),
        ("{role: de, thread: 'fork:up.plan'}", "thread", Thread(kind="fork", step="plan", up=True)),
        (
            "{role: de, thread: {kind: 'fork:plan', degrade: fail}}",
            "thread",
            Thread(kind="fork", step="plan", degrade="fail"),
        ),
        (
            "{role: de, thread: {kind: fork, step: plan, up: true}}",
            "thread",
            Thread(kind="fork", step="plan", up=True),
        ),
        ("{role: de, wait: manual}", "wait", (Wait(kind="manual"),)),
        (
            "{role: de, wait: ['group:children', manual]}",
            "wait",
            (Wait(kind="group", group="children"), Wait(kind="manual")),
        ),
        ("{role: de, becomes: Stuck.Loop}", "becomes", (Becomes(key="Stuck.Loop"),)),
        (
            "{role: de, becomes: [{when: same_failure >= 2, key: Stuck.Loop}, {key: Stuck.Skill}]}",
            "becomes",
            (Becomes(key="Stuck.Loop", when="same_failure >= 2"), Becomes(key="Stuck.Skill")),
        ),
        ("{role: de}", "becomes", (Becomes(key="!exhausted"),)),
        ("{role: de, reads: []}", "reads", ()),
        ("{role: de}", "reads", None),
        ("{role: de, writes: 'src/**'}", "writes", ("src/**",)),
        ("{role: de, estimate: [1, 2, 3, 4]}", "estimate", (1, 2, 3, 4)),
        (
            "{role: de, gates: {Fixed: commit scope?}}",
            "gates",
            {"Fixed": (CheckRef(name="commit"), CheckRef(name="scope", advisory=True))},
        ),
        (
            "{role: de, gates: {Fixed: ['post_check:make', schema?:plan]}}",
            "gates",
            {"Fixed": (CheckRef(name="post_check", arg="make"), CheckRef(name="schema", arg="plan", advisory=True))},
        ),
        (
            "{role: de, gates: {Fixed: 'schema:plan?'}}",
            "gates",
            {"Fixed": (CheckRef(name="schema", arg="plan", advisory=True),)},
        ),
        (
            "{role: de, gates: {Fixed: [{check: post_check, arg: make all, advisory: true}]}}",
            "gates",
            {"Fixed": (CheckRef(name="post_check", arg="make all", advisory=True),)},
        ),
    ],
)
def test_keys_of_a_step_are_parsed(body: str, key: str, value: object) -> None:
    assert getattr(step(body), key) == value


@pytest.mark.parametrize(
    ("text", "need"),
    [
        ("fix.Fixed", Need(step="fix", exit="Fixed")),
        ("fix.Fixed?", Need(step="fix", exit="Fixed", optional=True)),
        ("fix.Fixed*", Need(step="fix", exit="Fixed", every=True)),
        ("up.sdd-delta.Ready?", Need(step="sdd-delta", exit="Ready", up=True, optional=True)),
        ("stuck@fix.retry?", Need(step="stuck@fix", exit="retry", optional=True)),
        ("!crash?", Need(exit="!crash", optional=True)),
        ("!*?", Need(exit="!*", optional=True)),
        ("!*", Need(exit="!*")),
    ],
)
def test_a_need_is_parsed_and_written_back(text: str, need: Need) -> None:
    assert step(f"{{role: de, needs: ['{text}']}}").needs == (need,)
    assert str(need) == text


@pytest.mark.parametrize(
    ("row", "rows"),
    [
        ("next", (Route(to="next"),)),
        ("'@self'", (Route(to="work"),)),
        ("'@end:Done'", (Route(to="@end:Done"),)),
        ("'^plan'", (Route(to="^plan"),)),
        ("{to: '@self', fresh: true, charge: rounds}", (Route(to="work", fresh=True, charge="rounds"),)),
        (
            "{to: next, sync: true, sets: {round: round + 1, n: 0}}",
            (Route(to="next", sync=True, sets={"round": "round + 1", "n": "0"}),),
        ),
        ("[{to: a, when: attempt > 1}, b]", (Route(to="a", when="attempt > 1"), Route(to="b"))),
        (
            (
                "{to: next, do: [{spawn: {group: g, graph: main, over: parts}},"
                " {send: {signal: Go, to: siblings}}, {tier: 2}]}"
            ),
            (
                Route(
                    to="next",
                    do=(Spawn(group="g", graph="main", over="parts"), Send(signal="Go", to="siblings"), Tier(by=2)),
                ),
            ),
        ),
        ("{to: next, do: {tier: 1, cancel: g}}", (Route(to="next", do=(Tier(), CancelGroup(group="g"))),)),
        (
            "{to: next, do: [{reset_thread: plan}, reset_thread, tier]}",
            (Route(to="next", do=(ResetThread(step="plan"), ResetThread(), Tier())),),
        ),
        ("{to: next, do: [{reset_thread: }]}", (Route(to="next", do=(ResetThread(),)),)),
    ],
)
def test_a_row_is_parsed(row: str, rows: tuple[Route, ...]) -> None:
    assert step(f"{{role: de, routes: {{Fixed: {row}}}}}").routes == {"Fixed": rows}


@pytest.mark.parametrize(
    ("body", "key", "value"),
    [
        ("input: {spec: Spec}", "input", ("spec", "Spec")),
        ("input: {specs: [Spec]}", "input", ("specs", "[Spec]")),
        ("title: t", "input", ("input", "")),
        ("title: t", "ends", {"Done": ()}),
        ("ok: {kids: [Done], work: Done}", "ok", {"kids": ("Done",), "work": ("Done",)}),
        ("vars: {round: 0, team: true, word: text}", "vars", {"round": 0, "team": True, "word": "text"}),
        (
            "budgets: {b: {max: 3, to: work, resets: [work]}}",
            "budgets",
            {"b": Budget(max=3, to="work", resets=("work",))},
        ),
        ("commands: {/p: work}", "commands", {"/p": "work"}),
        ("handlers: {Go: work}", "handlers", {"Go": Handler(step="work")}),
        (
            "handlers: {'child:Lost': {step: work, prio: 0, coalesce: true, reply: true}}",
            "handlers",
            {"child:Lost": Handler(step="work", prio=0, coalesce=True, reply=True)},
        ),
        ("handlers: {Go: {step: work, preempt: never}}", "handlers", {"Go": Handler(step="work", preempt=-1)}),
        ("handlers: {Go: {step: work, preempt: now}}", "handlers", {"Go": Handler(step="work", preempt=0)}),
        ("handlers: {Go: {step: work, preempt: 30s}}", "handlers", {"Go": Handler(step="work", preempt=30)}),
        ("handlers: {Go: {step: work, preempt: 30}}", "handlers", {"Go": Handler(step="work", preempt=30)}),
        (
            "system: {'!*': work, '!gate.red': [{to: work, when: attempt > 1}, '@end:Done']}",
            "system",
            {
                "!*": (Route(to="work"),),
                "!gate.red": (Route(to="work", when="attempt > 1"), Route(to="@end:Done")),
            },
        ),
    ],
)
def test_keys_of_a_graph_are_parsed(body: str, key: str, value: object) -> None:
    assert getattr(graph(body), key) == value


def test_ends_with_needs() -> None:
    text = MINIMAL.replace("[Done]", "{Done: [work.Fixed, 'work.Seen?'], Lost: work.Stuck, Aborted: []}") + STEP
    fixed, seen = Need(step="work", exit="Fixed"), Need(step="work", exit="Seen", optional=True)
    assert protocol(text).graphs["main"].ends == {
        "Done": (fixed, seen),
        "Lost": (Need(step="work", exit="Stuck"),),
        "Aborted": (),
    }


@pytest.mark.parametrize(
    ("body", "key", "value"),
    [
        (
            "types: {Bug: {id: text, kind: A|B |  C}}",
            "types",
            {"Bug": Record(fields={"id": Field(type="text"), "kind": Field(type="A | B | C")})},
        ),
        (
            "types: {T: {key: name, about: help, name: text}}",
            "types",
            {"T": Record(fields={"name": Field(type="text")}, key="name", help="help")},
        ),
        (
            "types: {T: {many: [text], more: '[ T ]?'}}",
            "types",
            {"T": Record(fields={"many": Field(type="[text]"), "more": Field(type="[T]?")})},
        ),
        (
            (
                "exits: {Ok: {severity: WARN, proves: red, symbol: →OK, about: help, also: [Okay],"
                " route_hint: h, route_on: why, why: A | B}}"
            ),
            "exits",
            {
                "Ok": Exit(
                    fields={"why": Field(type="A | B")},
                    severity="WARN",
                    proves="red",
                    symbol="→OK",
                    help="help",
                    also=("Okay",),
                    route_hint="h",
                    route_on="why",
                )
            },
        ),
        ("exits: {Ok: }", "exits", {"Ok": Exit()}),
        (
            (
                "exits: {Ok: {n: {type: int, by: tests, route: true, help: h, also: m},"
                " kids: {type: '[Spec]', route: items}, no: {type: int, route: false}}}"
            ),
            "exits",
            {
                "Ok": Exit(
                    fields={
                        "n": Field(type="int", by="tests", route="value", help="h", also=("m",)),
                        "kids": Field(type="[Spec]", route="items"),
                        "no": Field(type="int"),
                    }
                )
            },
        ),
        ("limits: {depth: 2, cost: 5, wall: 2h}", "limits", Limits(depth=2, cost=5.0, wall=7200)),
        ("pools: {build: 2}", "pools", {"build": 2}),
        (
            "artifacts: {plan: {path: plan.md, writer: orchestrator, view: plan}}",
            "artifacts",
            {"plan": Artifact(path="plan.md", writer="orchestrator", view="plan")},
        ),
        ("protections: [{glob: 'db/**', level: 4}]", "protections", (Protection(glob="db/**", level=4),)),
        ("toolchain: build test", "toolchain", ("build", "test")),
        ("version: '2.1'", "version", "2.1"),
        ("title: t", "version", "1"),
    ],
)
def test_keys_of_a_protocol_are_parsed(body: str, key: str, value: Any) -> None:
    found = getattr(protocol(f"{body}\n{MINIMAL}{STEP}"), key)
    assert found == value
    assert type(found) is type(value)


def test_keys_of_a_role_are_parsed() -> None:
    text = MINIMAL.replace(
        "roles:\n",
        "roles:\n  qa: {display: QA, models: strong, perms: read_files modify, reads: ['**'], writes: 'tests/**',"
        " hidden: ['src/**', '!src/api.py'], interactive: true, symbol: Q}\n",
    )
    assert protocol(text + STEP).roles["qa"] == Role(
        display="QA",
        symbol="Q",
        models=("strong",),
        perms=("read_files", "modify"),
        reads=("**",),
        writes=("tests/**",),
        hidden=("src/**", "!src/api.py"),
        interactive=True,
    )


def in_step(body: str) -> str:
    return f"{MINIMAL}      work: {body}\n"


def in_graph(body: str) -> str:
    return MINIMAL.replace("    steps:\n", f"    {body}\n    steps:\n") + STEP


def at_top(body: str) -> str:
    return MINIMAL + STEP + body + "\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (at_top("graphes: {}"), "11: unknown key 'graphes' (did you mean 'graphs'?)"),
        (at_top("version: 1.2"), "11: version: 'version' must be text, not a number (write it in quotes)"),
        (at_top("roles_of: 1"), "11: unknown key 'roles_of' (did you mean 'roles'?)"),
        (at_top("pools: {a b: 1}"), "11: pools.a b: 'a b' is not a name (use ASCII letters, digits, _ and -)"),
        (at_top("pools: {a: 0}"), "11: pools.a: 'a' is 0 (it must be 1 or more)"),
        (at_top("pools: []"), "11: pools: 'pools' must be a mapping, not a list (write `key: value`)"),
        (
            at_top("exits: {1x: {}}"),
            "11: exits.1x: '1x' is not a name (use ASCII letters, digits, _ and -, a letter first)",
        ),
        (
            at_top("exits: {Ok: {severity: BLOCK}}"),
            "11: exits.Ok: 'severity' cannot be 'BLOCK' (did you mean 'BLOCKER'?)",
        ),
        (
            at_top("exits: {Ok: {proves: blue}}"),
            "11: exits.Ok: 'proves' cannot be 'blue' (write one of red, green, approval, contract, plan)",
        ),
        (at_top("exits: {Ok: {a: {by: git}}}"), "11: exits.Ok: the field 'a' has no 'type' (add `type:`)"),
        (
            at_top("exits: {Ok: {a: {type: int, from: git}}}"),
            "11: exits.Ok: unknown key 'from' (known here: type, by, route, help, also)",
        ),
        (at_top("exits: {Ok: {a: {type: int, by: gti}}}"), "11: exits.Ok: 'by' cannot be 'gti' (did you mean 'git'?)"),
        (
            at_top("exits: {Ok: {a: {type: int, route: item}}}"),
            "11: exits.Ok: 'route' cannot be 'item' (did you mean 'items'?)",
        ),
        (at_top("exits: {Ok: {a: 3}}"), "11: exits.Ok: 'a' is not a type (write text, int, `A | B`, Name, [T] or T?)"),
        (
            at_top("exits: {Ok: {a: [A, B]}}"),
            "11: exits.Ok: 'a' is not a type (write text, int, `A | B`, Name, [T] or T?)",
        ),
        (at_top("exits: {Ok: {a: 'text[]'}}"), "11: exits.Ok: 'text[]' is not a type (did you mean '[text]'?)"),
        (
            at_top("exits: {Ok: {a-b: text}}"),
            "11: exits.Ok: 'a-b' is not the name of a field (use ASCII letters, digits and _, no digit first)",
        ),
        (
            at_top("types: {T: {key: text}}"),
            (
                "11: types.T: 'key' names the field that identifies an item, and there is no field 'text'"
                " (a field itself cannot be called 'key')"
            ),
        ),
        (
            at_top("types: {T: {apart: [a, b], a: path, b: text}}"),
            "11: types.T: 'b' is not a field with a path (name two or more fields of the type path)",
        ),
        (
            at_top("types: {T: {apart: [a, c], a: path}}"),
            "11: types.T: 'c' is not a field with a path (name two or more fields of the type path)",
        ),
        (
            at_top("types: {T: {apart: [a], a: path}}"),
            "11: types.T: 'apart' names a single field (name two or more fields of the type path)",
        ),
        (at_top("limits: {dept: 3}"), "11: limits: unknown key 'dept' (did you mean 'depth'?)"),
        (at_top("limits: {cost: -1}"), "11: limits.cost: 'cost' must be a number that is not negative, not a number"),
        (
            at_top("limits: {wall: soon}"),
            "11: limits.wall: 'wall' is not a duration (write seconds, or text such as 90s, 10m, 2h)",
        ),
        (
            at_top("protections: [{glob: x, level: 7}]"),
            "11: protections.0: a protection is a glob and a level from 1 to 6 (write {glob: 'src/**', level: 4})",
        ),
        (
            at_top("artifacts: {a: {path: x}}"),
            "11: artifacts.a: the artifact 'a' has no 'writer' (add `writer:`)",
        ),
        (
            at_top("step_rules: {file: x.yaml, graph: main}"),
            "11: step_rules: there is no file 'x.yaml' in the protocol's folder (write {file: step-rules.yaml, …})",
        ),
        (
            at_top("step_rules: {file: x.yaml, graph: mian}"),
            "11: step_rules: unknown graph 'mian' (write {file: step-rules.yaml, graph: NAME})",
        ),
        (in_graph("starts: work"), "9: main: unknown key 'starts' (did you mean 'start'?)"),
        (
            in_graph("input: {a: text, b: text}"),
            "9: main.input: 'input' must be one name with its type (write {spec: Spec})",
        ),
        (
            in_graph("budgets: {b: {max: 3}}"),
            "9: main.budgets.b: the budget 'b' has no 'to' (add `to:`)",
        ),
        (
            in_graph("budgets: {b: 3}"),
            "9: main.budgets.b: 'b' must be a mapping, not a number (write `key: value`)",
        ),
        (
            at_top("").replace("{exits: [Seen]}", "Seen"),
            "4: roles.de: 'Look' must be a mapping, not text (write `key: value`)",
        ),
        (in_graph("system: {'!crsh': work}"), "9: main.system: '!crsh' is not a system exit (did you mean '!crash'?)"),
        (
            in_graph("handlers: {Go: {step: work, preempt: nwo}}"),
            "9: main.handlers.Go: 'preempt' cannot be 'nwo' (did you mean 'now'?)",
        ),
        (
            in_graph("handlers: {Go: {prio: 1}}"),
            "9: main.handlers.Go: the handler 'Go' has no 'step' (add `step:`)",
        ),
        (
            in_graph("vars: {n: 1.5}"),
            "9: main.vars.n: 'n' must be a whole number, text, or true or false, not a number",
        ),
        (in_graph("commands: {a b: work}"), "9: main.commands.a b: 'a b' is not a command (write a word such as /p)"),
        (in_step("{role: de, gate: {}}"), "10: main.work: unknown key 'gate' (did you mean 'gates'?)"),
        (
            in_step("{ask: human, attempts: 3}"),
            "10: main.work: 'attempts' belongs to agent and effect and check steps, and this is an ask (remove it)",
        ),
        (
            in_step("{role: de, ask: human}"),
            "10: main.work: this step is both agent and ask (keep one of role, effect, checks, ask, map)",
        ),
        (in_step("{roel: de}"), "10: main.work: nobody works in this step (did you mean 'role'?)"),
        (in_step("{title: t}"), "10: main.work: nobody works in this step (add one of role, effect, checks, ask, map)"),
        (in_step("de"), "10: main.work: 'work' must be a mapping, not text (write {role: …, routes: …})"),
        (in_step("{role: de, attempts: many}"), "10: main.work: 'attempts' must be a whole number, not text"),
        (in_step("{role: de, attempts: 0}"), "10: main.work: 'attempts' is 0 (it must be 1 or more)"),
        (in_step("{role: de, attempts: true}"), "10: main.work: 'attempts' must be a whole number, not true or false"),
        (in_step("{role: de, keep_work: 1}"), "10: main.work: 'keep_work' must be true or false, not a number"),
        (in_step("{role: 'de:'}"), "10: main.work: '' is not a name (write `role: NAME` or `role: NAME:Mode`)"),
        (in_step("{role: 'd e'}"), "10: main.work: 'd e' is not a name (write `role: NAME` or `role: NAME:Mode`)"),
        (
            in_step("{role: de, needs: [work.Stuck.Loop?]}"),
            "10: main.work: 'work.Stuck.Loop?' is not a slot (write work.Stuck?: a slot holds every kind of it)",
        ),
        (
            in_step("{role: de, needs: [Fixed]}"),
            "10: main.work: 'Fixed' is not a slot (write step.Exit, step.Exit?, step.Exit* or !crash?)",
        ),
        (
            in_step("{role: de, wait: children}"),
            "10: main.work: 'children' is nothing to wait for (write manual, or group:NAME)",
        ),
        (
            in_step("{role: de, thread: again}"),
            "10: main.work: 'again' is not a thread (write new, resume, resume:STEP or fork:STEP)",
        ),
        (
            in_step("{role: de, thread: fork}"),
            "10: main.work: 'fork' is not a thread (write new, resume, resume:STEP or fork:STEP)",
        ),
        (
            in_step("{role: de, gates: {Fixed: 'sco-pe'}}"),
            "10: main.work: 'sco-pe' is not a check (write name, name? or name:argument)",
        ),
        (
            in_step("{role: de, gates: {Fixed: [{arg: x}]}}"),
            "10: main.work: a check without a name (write {check: name, arg: …})",
        ),
        (
            in_step("{role: de, estimate: [1, 2]}"),
            "10: main.work: 'estimate' must be four numbers (write [read_low, read_high, out_low, out_high])",
        ),
        (
            in_step("{role: de, becomes: []}"),
            "10: main.work: 'becomes' is empty (write a routing key, e.g. !exhausted)",
        ),
        (
            in_step("{role: de, routes: {Fixed: []}}"),
            "10: main.work: 'Fixed' leads nowhere (write a step, or @end:Outcome)",
        ),
        (in_step("{role: de, routes: {Fixed: '@end'}}"), "10: main.work: '@end' is not a target (write @end:Outcome)"),
        (
            in_step("{role: de, routes: {Fixed: '@bakc'}}"),
            "10: main.work: '@bakc' is not a target (did you mean '@back'?)",
        ),
        (
            in_step("{role: de, routes: {Fixed: '@back'}}"),
            "10: main.work: only an ask has a way @back (name the step, or write @self)",
        ),
        (
            in_step("{role: de, routes: {Fixed: {when: x}}}"),
            "10: main.work: a row of 'Fixed' has no 'to' (add `to:`)",
        ),
        (
            in_step("{role: de, routes: {Fixed: {to: a, if: x}}}"),
            "10: main.work: unknown key 'if' (known here: to, when, do, charge, fresh, sync, sets)",
        ),
        (
            in_step("{role: de, routes: {Fixed: {to: a, do: [spwan]}}}"),
            "10: main.work: 'spwan' is not an action (did you mean 'spawn'?)",
        ),
        (
            in_step("{role: de, routes: {Fixed: {to: a, do: [spawn]}}}"),
            "10: main.work: 'spawn' is not an action (write {spawn: …})",
        ),
        (
            in_step("{role: de, routes: {Fixed: {to: a, do: [{spawn: {group: g}}]}}}"),
            "10: main.work: 'spawn' has no 'graph' (add `graph:`)",
        ),
        (
            in_step("{role: de, routes: {Fixed: {to: a, do: [{send: {signal: S, to: parents}}]}}}"),
            "10: main.work: 'to' cannot be 'parents' (did you mean 'parent'?)",
        ),
        (
            in_step("{role: de, routes: {a b: c}}"),
            "10: main.work: 'a b' is not a routing key (write Exit, Exit.Value or !timeout)",
        ),
        (
            in_step("{role: de}\n      up: {role: de}"),
            "11: main.up: a step cannot be called 'up' (this word has a meaning in needs; rename the step)",
        ),
        (MINIMAL.replace("root: main\n", "") + STEP, "1: the protocol has no 'root' (add `root:`)"),
        (MINIMAL.replace("    start: work\n", "") + STEP, "7: main: the graph 'main' has no 'start' (add `start:`)"),
        ("- a", "1: a protocol is a mapping (write `protocol: NAME`, then `root:`, `graphs:` and so on)"),
        ("just text", "1: a protocol is a mapping (write `protocol: NAME`, then `root:`, `graphs:` and so on)"),
    ],
)
def test_a_mistake_in_a_protocol_has_its_line(text: str, expected: str) -> None:
    assert problems(text)[0] == f"protocol.yaml:{expected}"


def test_all_problems_of_a_file_come_together_in_the_order_of_its_lines() -> None:
    text = at_top("exits: {Ok: {a: 3}}").replace("start: work", "start: [work]").replace("root: main", "rot: main")
    found = problems(text)
    assert [line.split(": ")[0] for line in found] == [f"protocol.yaml:{number}" for number in (1, 2, 7, 11)]
    named = ("'root'", "'rot'", "main.start: 'start'", "exits.Ok: 'a'")
    assert [text for text, line in zip(named, found, strict=True) if text not in line] == []


@pytest.mark.parametrize(
    ("model", "keys", "written"),
    [
        (Protocol, TOP_KEYS, {"name": "protocol", "templates": ""}),
        (Graph, GRAPH_KEYS, {"only": ""}),
        (Step, itertools.chain(*KEYS.values()), {"asks": "ask", "graph": "map", "kind": "role", "mode": "role"}),
        (Route, ROUTE_KEYS, {"over": ""}),
        (Record, RECORD_KEYS, {"help": "about", "fields": ""}),
        (Exit, EXIT_KEYS, {"help": "about", "fields": ""}),
    ],
)
def test_every_field_of_the_model_can_be_written(
    model: type[msgspec.Struct], keys: Iterable[str], written: dict[str, str]
) -> None:
    fields = {written.get(field, field) for field in model.__struct_fields__}
    assert fields - {""} == set(keys) - {"include", "step_rules"}


def test_a_record_that_refers_to_others_names_a_field() -> None:
    types = "types: {Part: {refers: after, id: text, after: '[text]?'}}\n"
    assert protocol(types + MINIMAL + STEP).types["Part"].refers == "after"
    [line] = problems(types.replace("refers: after", "refers: aftr") + MINIMAL + STEP)
    assert [text for text in ("'aftr'", "'after'") if text not in line] == []
