"""A complete tree (no includes, overlays or rules left) as the model; `@back` gates are still shared."""

from typing import Final, get_args

from treadle.protocol.findings import suggest
from treadle.protocol.model import Artifact, Limits, Mode, Perm, Protection, Protocol, Role
from treadle.protocol.reading.parse_graphs import graph
from treadle.protocol.reading.parse_records import exit_, record
from treadle.protocol.reading.part import NAME, WORD, Log, Part, quoted
from treadle.protocol.reading.source import Node

TOP_KEYS: Final = (
    *("protocol", "version", "title", "help", "root", "types", "exits", "roles", "graphs", "pools", "limits"),
    *("artifacts", "protections", "toolchain", "include", "step_rules"),
)
ROLE_KEYS: Final = (
    *("display", "symbol", "models", "template", "modes", "perms", "reads", "writes", "hidden", "params"),
    "interactive",
)
_LIMITS: Final = Limits()


def parse(node: Node, templates: dict[str, str], log: Log) -> Protocol:
    """Read the tree strictly; what is wrong goes to the log, and the rest is read all the same."""
    top = Part(node, "the protocol", "", log)
    top.known(*TOP_KEYS)
    for key in ("protocol", "root", "graphs"):
        if top.get(key) is None:
            top.problem(f"the protocol has no {quoted(key)}", f"add `{key}:`")
    roles = {name: role(part) for name, part in top.named("roles", NAME)}
    return Protocol(
        name=top.name_of("protocol"),
        version=top.text("version", "1"),
        root=top.name_of("root"),
        title=top.text("title"),
        help=top.text("help"),
        types={name: record(part) for name, part in top.named("types", WORD)},
        exits={name: exit_(part) for name, part in top.named("exits", WORD)},
        roles=roles,
        graphs={name: graph(part, roles) for name, part in top.named("graphs", NAME)},
        pools={name: part.as_whole(1, least=1) for name, part in top.named("pools", NAME)},
        limits=_limits(top.get("limits")),
        artifacts={name: _artifact(part) for name, part in top.named("artifacts", NAME)},
        protections=_protections(top.get("protections")),
        toolchain=top.words("toolchain"),
        templates=templates,
    )


def role(part: Part) -> Role:
    """Who does a step."""
    part.known(*ROLE_KEYS)
    return Role(
        display=part.text("display"),
        symbol=part.text("symbol"),
        models=part.texts("models", ("standard",)),
        template=part.text("template"),
        modes={name: _mode(entry) for name, entry in part.named("modes", WORD)},
        perms=_perms(part.get("perms")),
        reads=part.texts("reads"),
        writes=part.texts("writes"),
        hidden=part.texts("hidden"),
        params=part.texts_by_name("params"),
        interactive=part.flag("interactive"),
    )


def _mode(part: Part) -> Mode:
    part.known("template", "exits", "symbol", "help")
    return Mode(
        template=part.text("template"),
        exits=part.words("exits", WORD),
        symbol=part.text("symbol"),
        help=part.text("help"),
    )


def _perms(part: Part | None) -> tuple[Perm, ...]:
    if part is None:
        return Role().perms
    known = get_args(Perm)
    for word in part.as_words():
        if word not in known:
            part.problem(f"unknown permission {quoted(word)}", suggest(word, known) or f"known: {', '.join(known)}")
    return tuple(perm for word in part.as_words() for perm in known if perm == word)


def _limits(part: Part | None) -> Limits:
    if part is None:
        return _LIMITS
    part.known("depth", "children", "instances", "agents", "infra_retries", "cost", "tokens", "wall")
    return Limits(
        depth=part.whole("depth", _LIMITS.depth),
        children=part.whole("children", _LIMITS.children),
        instances=part.whole("instances", _LIMITS.instances, least=1),
        agents=part.whole("agents", _LIMITS.agents, least=1),
        infra_retries=part.whole("infra_retries", _LIMITS.infra_retries),
        cost=_cost(part.get("cost")),
        tokens=part.whole("tokens", 0),
        wall=part.seconds("wall", 0),
    )


def _cost(part: Part | None) -> float:
    value = part.node.value if part else 0.0
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    if part:
        part.expected("a number that is not negative")
    return 0.0


def _artifact(part: Part) -> Artifact:
    part.known("path", "writer", "symbol", "view", "help", "delivered")
    for key in ("path", "writer"):
        if part.get(key) is None:
            part.problem(f"the artifact {quoted(part.name)} has no {quoted(key)}", "write {path, writer}")
    return Artifact(
        path=part.text("path"),
        writer=part.name_of("writer"),
        symbol=part.text("symbol"),
        view=part.text("view"),
        help=part.text("help"),
        delivered=part.flag("delivered", default=True),
    )


def _protections(part: Part | None) -> tuple[Protection, ...]:
    found = []
    for item in part.items() if part else ():
        item.known("glob", "level")
        level = item.whole("level", 0)
        if not isinstance(item.node.value, dict) or item.get("glob") is None or not 1 <= level <= 6:
            item.problem("a protection is a glob and a level from 1 to 6", "write {glob: 'src/**', level: 4}")
        found.append(Protection(glob=item.text("glob"), level=level))
    return tuple(found)
