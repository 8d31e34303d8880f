"""Three small clean protocols as model values, and ways to plant a single fault in them."""

import re
from typing import Any, Final

import msgspec

from treadle.protocol.check import check
from treadle.protocol.findings import Finding
from treadle.protocol.model import (
    Action,
    Becomes,
    Budget,
    CheckRef,
    Exit,
    Field,
    Graph,
    Handler,
    Need,
    Perm,
    Protocol,
    Record,
    Role,
    Route,
    Rows,
    Send,
    Spawn,
    Step,
    Wait,
)

WORKER: Final[tuple[Perm, ...]] = ("read_files", "list_dirs", "read_code", "run_commands", "modify")
COMMIT: Final = Field(type="text", by="git")
TEXT: Final = Field(type="text")


def to(goal: str, *do: Action, **more: Any) -> Rows:
    """One row."""
    return (Route(to=goal, do=do, **more),)


def gates(text: str) -> tuple[CheckRef, ...]:
    """Checks as the YAML writes them: `commit scope minimal?`."""
    return tuple(CheckRef(name=word.rstrip("?"), advisory=word.endswith("?")) for word in text.split())


def needs(*texts: str) -> tuple[Need, ...]:
    """Needs as the YAML writes them: `step.Exit?`, `up.step.Exit`, `!crash?`."""
    return tuple(_need(text) for text in texts)


def _need(text: str) -> Need:
    path = text.rstrip("?").rstrip("*") if not text.startswith("!") else text.rstrip("?")
    step, _, exit_ = path.removeprefix("up.").partition(".") if not text.startswith("!") else ("", "", path)
    every = text.endswith("*") and not text.startswith("!")
    return Need(step=step, exit=exit_, up=path.startswith("up."), optional=text.endswith("?"), every=every)


def bugfix() -> Protocol:
    """One graph: reproduce, fix, review, merge; a person helps."""
    steps = {
        "repro": Step(
            kind="agent",
            role="qa",
            exits=("Reproduced",),
            attempts=3,
            gates={"Reproduced": gates("commit scope red")},
            routes={"Reproduced": to("fix")},
        ),
        "fix": Step(
            kind="agent",
            role="de",
            exits=("Fixed", "Stuck"),
            attempts=4,
            becomes=(Becomes(key="Stuck.Lost", when="same_failure >= 2"), Becomes(key="Stuck.Hard")),
            needs=needs("repro.Reproduced", "review.Rejected?"),
            gates={"Fixed": gates("commit scope build green tests_unmodified minimal?")},
            routes={"Fixed": to("review"), "Stuck": to("human"), "Stuck.Lost": to("human")},
        ),
        "review": Step(
            kind="agent",
            role="critic",
            exits=("Approved", "Rejected"),
            needs=needs("fix.Fixed"),
            gates={"Approved": gates("readonly"), "Rejected": gates("readonly")},
            routes={
                "Approved": to("merge"),
                "Rejected": (Route(to="human", when="data.faults > 9"), Route(to="fix", charge="rounds")),
            },
        ),
        "merge": Step(
            kind="effect",
            effect="merge",
            exits=("Merged",),
            pools=("run:branch",),
            needs=needs("review.Approved"),
            routes={"Merged": to("@end:Done")},
        ),
        "human": Step(
            kind="ask",
            asks="human",
            template="human.jinja",
            needs=needs("fix.Stuck?", "review.Rejected?", "!*?"),
            choices={"again": "try again", "abort": "stop"},
            routes={"again": to("repro"), "abort": to("@end:Aborted")},
        ),
    }
    graph = Graph(
        start="repro",
        input=("bug", "Bug"),
        ends={"Done": needs("repro.Reproduced", "fix.Fixed", "review.Approved", "merge.Merged"), "Aborted": ()},
        budgets={"rounds": Budget(max=3, to="human", resets=("repro",))},
        system={"!*": to("human")},
        steps=steps,
    )
    return Protocol(
        name="bugfix",
        version="1",
        root="main",
        types={
            "Bug": Record(fields={"id": TEXT, "text": TEXT, "part": Field(type="path")}),
            "Fault": Record(fields={"id": TEXT, "what": TEXT}),
        },
        exits={
            "Reproduced": Exit(proves="red", fields={"tests": Field(type="[path]", by="tests"), "commit": COMMIT}),
            "Fixed": Exit(proves="green", fields={"commit": COMMIT, "note": Field(type="text?")}),
            "Stuck": Exit(route_on="why", fields={"why": Field(type="Hard | Lost"), "story": TEXT}),
            "Approved": Exit(proves="approval", fields={"reason": TEXT}),
            "Rejected": Exit(fields={"faults": Field(type="[Fault]", route="value")}),
            "Merged": Exit(fields={"commit": COMMIT}),
        },
        roles={
            "qa": Role(template="repro.jinja", perms=WORKER, writes=("tests/**",)),
            "de": Role(template="fix.jinja", perms=WORKER, writes=("{part}/**", "!tests/**")),
            "critic": Role(template="review.jinja"),
        },
        graphs={"main": graph},
        pools={"branch": 1},
        templates={
            "repro.jinja": "{{ bug.id }}: {{ bug.text | fence }}{% include 'again.jinja' %}",
            "again.jinja": "{% if gate_report %}{{ gate_report | fence }}{% endif %}",
            "fix.jinja": "{{ repro.Reproduced.tests | join(', ') }}\n"
            "{% if review.Rejected %}{% for fault in review.Rejected.faults %}{{ fault.what }}{% endfor %}{% endif %}",
            "review.jinja": "{{ fix.Fixed.commit }}",
            "human.jinja": "{% if fix.Stuck %}{{ fix.Stuck.story | fence }}{% endif %}\n"
            "{{ review.Rejected.faults | length if review.Rejected else '' }}",
        },
    )


def tree() -> Protocol:
    """A recursive graph: plan, hand parts to children, join, merge; questions go up, merges interrupt siblings."""
    steps = {
        "plan": Step(
            kind="agent",
            role="planner",
            exits=("Planned", "Unclear"),
            needs=needs("up.plan.Planned?", "clarify.Answer?"),
            gates={"Planned": gates("checkpoint scope plan_covers_criteria children_partition")},
            routes={
                "Planned": to(
                    "work", Send(signal="Shift", to="children"), Spawn(group="parts", graph="node", over="parts")
                ),
                "Unclear": to("clarify", charge="questions"),
            },
        ),
        "work": Step(
            kind="agent",
            role="maker",
            exits=("Built",),
            attempts=3,
            wait=(Wait(kind="group", group="parts"),),
            needs=needs("plan.Planned"),
            gates={"Built": gates("commit scope")},
            routes={"Built": to("merge")},
        ),
        "merge": Step(
            kind="effect",
            effect="merge",
            exits=("Merged",),
            needs=needs("work.Built"),
            routes={"Merged": to("@end:Merged", Send(signal="Shift", to="siblings"))},
        ),
        "clarify": Step(
            kind="ask",
            asks="parent",
            signal="Question",
            needs=needs("plan.Unclear"),
            routes={"Answer": to("plan"), "abort": to("@end:Aborted")},
        ),
        "answer": Step(
            kind="agent",
            role="oracle",
            exits=("Answer",),
            needs=needs("plan.Planned"),
            gates={"Answer": gates("readonly")},
            routes={
                "Answer": to("@resume", Send(signal="Answer", to="sender")),
                "!*": to("@resume", Send(signal="abort", to="sender")),
            },
        ),
        "rebase": Step(
            kind="effect",
            effect="rebase",
            exits=("Rebased",),
            routes={"Rebased": to("@resume", Send(signal="Shift", to="children")), "!*": to("conflict")},
        ),
        "conflict": Step(
            kind="ask",
            asks="human",
            needs=needs("!*?"),
            routes={
                "replan": to("^plan"),
                "go": to("@resume", Send(signal="Shift", to="children")),
                "abort": to("@end:Aborted"),
            },
        ),
        "lost": Step(kind="ask", asks="human", routes={"replan": to("^plan"), "abort": to("@end:Aborted")}),
        "stuck": Step(
            kind="ask",
            asks="human",
            needs=needs("plan.Unclear?", "!*?"),
            routes={"replan": to("plan"), "abort": to("@end:Aborted")},
        ),
    }
    graph = Graph(
        start="plan",
        input=("spec", "Spec"),
        ends={"Merged": needs("plan.Planned", "merge.Merged"), "Aborted": ()},
        ok={"parts": ("Merged",)},
        budgets={"questions": Budget(max=2, to="stuck")},
        system={"!*": to("stuck")},
        handlers={
            "Shift": Handler(step="rebase", prio=0, coalesce=True),
            "Question": Handler(step="answer", reply=True),
            "child:Aborted": Handler(step="lost"),
        },
        steps=steps,
    )
    return Protocol(
        name="tree",
        version="1",
        root="node",
        types={"Spec": Record(fields={"id": TEXT, "text": TEXT})},
        exits={
            "Planned": Exit(proves="plan", fields={"parts": Field(type="[Spec]?", route="items"), "commit": COMMIT}),
            "Unclear": Exit(fields={"question": TEXT}),
            "Built": Exit(fields={"commit": COMMIT}),
            "Merged": Exit(fields={"commit": COMMIT}),
            "Answer": Exit(fields={"text": TEXT}),
            "Rebased": Exit(),
        },
        roles={
            "planner": Role(template="plan.jinja", perms=WORKER, writes=("docs/**",)),
            "maker": Role(template="work.jinja", perms=WORKER, writes=("src/**",)),
            "oracle": Role(template="answer.jinja"),
        },
        graphs={"node": graph},
        templates={
            "plan.jinja": "{{ spec.text }}{% if up.plan.Planned %}{{ up.plan.Planned.parts }}{% endif %}"
            "{% if clarify.Answer %}{{ clarify.Answer.text }}{% endif %}",
            "work.jinja": "{% for part in plan.Planned.parts or [] %}{{ part.text }}{% endfor %}",
            "answer.jinja": "{{ plan.Planned }}{% for signal in signals %}{{ signal.data.question }}{% endfor %}",
        },
    )


def batch() -> Protocol:
    """Cycles side by side, in lockstep: all red, then all green, then a check of the whole."""
    cycle = Graph(
        start="red",
        input=("cycle", "Cycle"),
        ends={"Done": needs("red.Red", "green.Green"), "Aborted": ()},
        system={"!*": to("halt")},
        steps={
            "red": Step(
                kind="agent",
                role="qa",
                exits=("Red",),
                needs=needs("up.prepare.Ready?"),
                gates={"Red": gates("commit scope red_one")},
                routes={"Red": to("green", sync=True)},
            ),
            "green": Step(
                kind="agent",
                role="de",
                exits=("Green",),
                needs=needs("red.Red"),
                gates={"Green": gates("commit scope green_own_and_baseline tests_unmodified")},
                routes={"Green": to("@end:Done")},
            ),
            "halt": Step(kind="ask", asks="human", needs=needs("!*?"), routes={"abort": to("@end:Aborted")}),
        },
    )
    main = Graph(
        start="prepare",
        input=("plan", "Plan"),
        ends={"Done": needs("cycles.AllOk", "suite.Passed"), "Aborted": ()},
        ok={"cycles": ("Done",)},
        system={"!*": to("halt")},
        steps={
            "prepare": Step(kind="effect", effect="publish", exits=("Ready",), routes={"Ready": to("cycles")}),
            "cycles": Step(
                kind="map",
                graph="cycle",
                over="in.cycles",
                window="2",
                needs=needs("prepare.Ready?"),
                routes={"AllOk": to("suite"), "SomeFailed": to("halt")},
            ),
            "suite": Step(
                kind="check",
                checks=gates("build green"),
                needs=needs("cycles.AllOk"),
                routes={"Passed": to("@end:Done"), "Failed": to("halt"), "Failed.build": to("halt")},
            ),
            "halt": Step(
                kind="ask",
                asks="human",
                needs=needs("cycles.SomeFailed?", "suite.Failed?", "!*?"),
                routes={"go": to("cycles"), "abort": to("@end:Aborted")},
            ),
        },
    )
    return Protocol(
        name="batch",
        version="1",
        root="main",
        types={
            "Plan": Record(fields={"id": TEXT, "cycles": Field(type="[Cycle]", route="items")}),
            "Cycle": Record(fields={"id": TEXT, "after": Field(type="[text]", route="items")}),
        },
        exits={
            "Ready": Exit(fields={"commit": COMMIT}),
            "Red": Exit(proves="red", fields={"commit": COMMIT}),
            "Green": Exit(proves="green", fields={"commit": COMMIT}),
        },
        roles={
            "qa": Role(template="red.jinja", perms=WORKER, writes=("tests/**",)),
            "de": Role(template="green.jinja", perms=WORKER, writes=("src/**",)),
        },
        graphs={"main": main, "cycle": cycle},
        templates={
            "red.jinja": "{{ cycle.id }}{% if up.prepare.Ready %}{{ up.prepare.Ready.commit }}{% endif %}",
            "green.jinja": "{{ red.Red.commit }}",
        },
    )


def change(protocol: Protocol, path: str, **fields: Any) -> Protocol:
    """A copy with some fields of a part replaced: `change(p, "graphs.main.steps.fix", attempts=0)`."""
    changed: Protocol = _change(protocol, path.split("."), fields)
    return changed


def _change(value: Any, path: list[str], fields: dict[str, Any]) -> Any:
    if not path or path == [""]:
        return {**value, **fields} if isinstance(value, dict) else msgspec.structs.replace(value, **fields)
    if isinstance(value, dict):
        return {**value, path[0]: _change(value[path[0]], path[1:], fields)}
    return msgspec.structs.replace(value, **{path[0]: _change(getattr(value, path[0]), path[1:], fields)})


def put(protocol: Protocol, path: str, key: str, value: Any) -> Protocol:
    """A copy with an entry of a mapping set: `put(p, "graphs.main.steps.fix.routes", "Fixed", to("merge"))`."""
    changed: Protocol = _change(protocol, path.split("."), {key: value})
    return changed


def drop(protocol: Protocol, path: str, key: str) -> Protocol:
    """A copy without an entry of a mapping."""
    value: Any = protocol
    for part in path.split("."):
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    owner, _, name = path.rpartition(".")
    rest = {entry: value[entry] for entry in value if entry != key}
    changed: Protocol = _change(protocol, owner.split("."), {name: rest})
    return changed


def faults_of(protocol: Protocol, number: int | None = None) -> list[str]:
    """The checker's findings as data, all of them or those of one check: `unknown_part main.fix: fixx -> fix`.

    A fault is its code, its place, the names that its message quotes, and the name that its hint suggests.
    """
    found = [finding for finding in check(protocol) if number in (None, finding.check)]
    assert all(finding.message and finding.hint for finding in found), "a finding says what is wrong and what to do"
    return [_fault(finding) for finding in found]


def _fault(finding: Finding) -> str:
    names = [name for pair in _QUOTED.findall(finding.message) for name in pair if name]
    near = _NEAREST.search(finding.hint)
    fault = f"{finding.code.removeprefix('protocol.')} {finding.where}".rstrip()
    return fault + (f": {', '.join(names)}" if names else "") + (f" -> {near[1]}" if near else "")


_QUOTED = re.compile(r"(?<!\w)'([^']*)'(?!\w)|`([^`]*)`")
_NEAREST = re.compile(r"did you mean '([^']*)'")


def said(protocol: Protocol, number: int | None = None) -> list[str]:
    """What the checker says, without the file: all of it, or what one check says."""
    return [_text(finding) for finding in check(protocol) if number in (None, finding.check)]


def _text(finding: Finding) -> str:
    return f"{finding.check} {finding}".replace(f"{finding.place}: ", "", 1)
