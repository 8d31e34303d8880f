"""The page about what commands print for programs, from the structures themselves."""

import ast
import inspect
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import msgspec

from played_model import server as exchange
from treadle.cli import agent_trial as agent_verdict
from treadle.cli import agents as agent_listing
from treadle.cli import checkup, config, documents, library, memory_bank, projects
from treadle.cli import gc as forgetting
from treadle.cli import protocol as protocols
from treadle.cli import spec as specs
from treadle.cli import uninstall as traces
from treadle.engines import gc as cleaning
from treadle.engines import gc as engine_forgetting
from treadle.engines import gc as tidying
from treadle.kernel import commands, events
from treadle.protocol import items, model
from treadle.protocol.drawing import table as row
from treadle.simulate import explore, run, scope
from treadle.store import gc as store_cleaning
from treadle.talk import speaker as dispatched
from treadle.views import activity, cost, evidence, result, status, timeline
from treadle.views import activity as used
from treadle.views import cost as estimate
from treadle.views import questions as asking
from treadle.views import questions as yours
from treadle.views import run_status as listing
from treadle.views import run_status as rest
from treadle.views import tree as branches
from treadle.views.activity import Story
from treadle.views.cost import Cost
from treadle.views.evidence import Evidence
from treadle.views.questions import Inquiry
from treadle.views.run_status import Listing, Overview, Rest
from treadle.views.status import Status
from treadle.views.timeline import LoggedEvent

DOCUMENTS: Final[dict[str, type[msgspec.Struct]]] = {
    "treadle run --json": Rest,
    "treadle say --json": dispatched.Heard,
    "treadle projects list --json": projects.RegisteredProjects,
    "treadle runs --json": Listing,
    "treadle status --json": Overview,
    "treadle status RUN --json": Status,
    "treadle log --json": LoggedEvent,
    "treadle show --json": Story,
    "treadle show --json, of a question": Inquiry,
    "treadle evidence --json": Evidence,
    "treadle cost --json": Cost,
    "treadle gc --json": forgetting.Collected,
    "treadle uninstall --json": traces.Traces,
    "treadle memory show --json": memory_bank.Bank,
    "treadle memory check --json": memory_bank.BankExamination,
    "treadle spec check --json": specs.Judgement,
    "treadle protocol list --json": protocols.Protocols,
    "treadle protocol show --json": protocols.Shown,
    "treadle protocol check --json": protocols.Examination,
    "treadle protocol table --json": protocols.Table,
    "treadle protocol sim --json": protocols.Simulation,
    "treadle protocol explore --json": protocols.Search,
    "treadle protocol explore --scopes --json": protocols.Scopes,
    "treadle config --json": config.Settings,
    "treadle config KEY --json": config.Setting,
    "treadle config --keys --json": config.SettingKeys,
    "treadle doctor --json": checkup.Health,
    "treadle agents --json": agent_listing.KnownAgents,
    "treadle agents try --json": agent_verdict.Trial,
    "any command --json that fails": documents.FailedCommand,
    "treadle model-server --json": exchange.Welcome,
    "treadle model-server --json, each request": exchange.Exchange,
}
INTRO: Final = """\
# JSON for programs

Every document has the key `schema`, a number. It grows when a key is removed or changes its meaning; new keys may
appear under the same number, so a reader should skip those that it does not know. Times are ISO 8601 in UTC, empty
if there is none yet; `elapsed` and the like are seconds. Standard output has the document and nothing else; messages
for people go to standard error. A command that fails prints the document of its error instead;
its `code` is stable ([Codes](codes.md)). In recorded events and commands (`event`, `command`) keys that
have their default are left out.

`treadle resume --json` prints the document of `treadle run --json` too, or a list of them if it has driven several
runs.

`treadle hook status --json` prints the document of `treadle doctor --json`, with the lines of the hook alone.

`treadle log --json` prints one document on each line (JSON Lines), `--follow` as they happen. `treadle status --json
--watch` prints one on each line too: how the run stands now, and again after every event until it ends
or no process drives it any more.

`treadle model-server --json` prints its address on the first line, and then one document for each request.

`treadle protocol schema` prints a JSON Schema, with `--json` or without; it has no key `schema`.

[json.schema.json](json.schema.json) describes the same documents as a JSON Schema.
"""


SOURCES: Final = (
    row, run, explore, scope, model, items, checkup, documents, library, config, projects, specs, protocols,
    agent_listing, agent_verdict, dispatched, forgetting, traces, cleaning, store_cleaning, engine_forgetting, tidying,
    memory_bank, activity, asking, branches, commands,
    cost, estimate, events, evidence, exchange, listing, rest, result, status, timeline, used, yours,
)  # fmt: skip
"""Where the structures come from, those that others extend first; a string under a field says what it means."""


def json_page() -> str:
    """A table of keys for each document, then for everything that occurs in them."""
    found = _components()
    heads = {it.__name__: command for command, it in DOCUMENTS.items()}
    parts = [f"## {command}\n\n{_table(found[name])}" for name, command in heads.items()]
    inner = [f"### {name}\n\n{_table(part)}" for name, part in sorted(found.items()) if name not in heads]
    return "\n".join([INTRO, *parts, "## Types in these documents\n", *inner])


def json_schema() -> str:
    """JSON Schema 2020-12; each document is one of `$defs`."""
    return json.dumps({"$defs": _components()}, indent=1, sort_keys=True) + "\n"


def _components() -> dict[str, Any]:
    _, found = msgspec.json.schema_components(DOCUMENTS.values(), ref_template="#/$defs/{name}")
    meanings = _meanings()
    for name, part in found.items():
        for key, value in part.get("properties", {}).items():
            if said := meanings.get(name, {}).get(key):
                value["description"] = said
    return found


def _meanings() -> dict[str, dict[str, str]]:
    """Structure → field → the string under it, there or in the structure that it extends."""
    classes = [one for module in SOURCES for one in ast.parse(inspect.getsource(module)).body]
    found: dict[str, dict[str, str]] = {}
    for node in classes:
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(one).rpartition(".")[2] for one in node.bases]
            found[node.name] = {
                **dict(item for base in bases for item in found.get(base, {}).items()),
                **dict(_said(node)),
            }
    return found


def _said(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(node.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())


def _table(part: dict[str, Any]) -> str:
    head = "| Key | Type | Meaning |\n| --- | --- | --- |\n"
    rows = "".join(_row(key, value) for key, value in part.get("properties", {}).items())
    return f"{' '.join(part.get('description', '').split())}\n\n{head}{rows}"


def _row(key: str, value: dict[str, Any]) -> str:
    return f"| `{key}` | {_type(value)} | {value.get('description', '')} |\n"


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(f"`{one}`" if one != "" else '`""`' for one in value["enum"])
    if "anyOf" in value:
        return " or ".join(_type(one) for one in value["anyOf"])
    if value.get("type") == "array":
        return f"list of {_type(value.get('items') or {})}"
    return str(value.get("type", "anything"))
