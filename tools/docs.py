"""Writes the generated pages: protocols with drawings, the command line, JSON, checks, coverage, contradictions.

python -m tools.docs            writes them
python -m tools.docs --check    exits 1 and lists those that are not what would be written
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from typer.main import get_command

from tools.beside_page import beside_page
from tools.checks_page import checks_page
from tools.codes_page import codes_page
from tools.config_page import config_page
from tools.contradictions import contradictions_page
from tools.coverage_map import coverage_page
from tools.json_page import json_page, json_schema
from tools.places import DOCS
from tools.protocol_story import how_it_goes, recorded_run, story
from treadle.cli.app import build_all, usage_of, value_name
from treadle.cli.guard import EXITS
from treadle.protocol.drawing.page import exits, heading, input_section, overview, roles
from treadle.protocol.drawing.picture import mermaid
from treadle.protocol.drawing.svg import svg
from treadle.protocol.drawing.table import COLUMNS, escape_markdown, markdown_table, table, without_repeats
from treadle.protocol.load import BUILT_IN, available, load
from treadle.protocol.model import Protocol

UNTOLD: Final = ("help", "install_completion", "show_completion")
MADE: Final = "<!-- written by tools/docs.py; `make docs` writes it anew -->\n\n"


def bring_up_to_date(made: dict[str, str], docs: Path, *, only_check: bool) -> int:
    """Writes what is stale and removes what is left over, or only says what is; returns the exit code."""
    wanted = {docs / path: text for path, text in made.items()}
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    left = [path for path in sorted((docs / "protocols").glob("*")) if path not in wanted]
    if only_check:
        for path in stale + left:
            print(f"{path.relative_to(docs.parent)} is stale; run `make docs`", file=sys.stderr)
        return 1 if stale or left else 0
    for path in left:
        path.unlink()
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8")
        print(f"{path.relative_to(docs.parent)} is written")
    return 0


def pages() -> Iterator[tuple[str, str]]:
    """Every generated file, below the folder for documentation, with its text."""
    protocols = [load(name) for name in available()]
    for protocol in protocols:
        yield f"protocols/{protocol.name}.md", protocol_page(protocol)
        yield f"protocols/{protocol.name}.svg", svg(protocol)
    yield "protocols/index.md", index_page(protocols)
    yield "cli.md", cli_page()
    yield "config.md", MADE + config_page()
    yield "json.md", MADE + json_page()
    yield "json.schema.json", json_schema()
    yield "checks.md", MADE + checks_page()
    yield "codes.md", MADE + codes_page()
    yield "coverage.md", MADE + coverage_page()
    yield "contradictions.md", MADE + contradictions_page()
    yield "beside.md", MADE + beside_page()


def index_page(protocols: list[Protocol]) -> str:
    """The list of the built-in protocols."""
    lines = "".join(f"- [{it.name}]({it.name}.md): {escape_markdown(it.title)}\n" for it in protocols)
    return f"{MADE}# Protocols\n\nTreadle comes with these protocols. Each page is generated from one.\n\n{lines}"


def protocol_page(protocol: Protocol) -> str:
    """Everything about one protocol."""
    drawing = f"[![The drawing of {protocol.name}]({protocol.name}.svg)]({protocol.name}.svg)\n"
    graphs = [_graph(protocol, name) for name in protocol.graphs]
    told, run = story(protocol.name), recorded_run(protocol)
    head = [*_headed(heading(protocol), told.choose), drawing, how_it_goes(told, has_timeline=bool(run))]
    tables = [overview(protocol), *graphs, run, roles(protocol), exits(protocol), input_section(protocol)]
    return MADE + "\n".join(part for part in (*head, *tables) if part) + _example(protocol.name)


def _headed(head: str, choose: str) -> tuple[str, ...]:
    """The heading, when to choose a protocol, and what its author says about it."""
    title, _, rest = head.partition("\n\n")
    return (f"{title}\n", f"{choose}\n", rest) if choose else (head,)


def _graph(protocol: Protocol, name: str) -> str:
    shown = markdown_table(COLUMNS, without_repeats(table(protocol, name)))
    title = protocol.graphs[name].title
    head = f"## Graph {name}\n\n" + (f"{escape_markdown(title)}\n\n" if title else "")
    return f"{head}{shown}\n```mermaid\n{mermaid(protocol, name)}```\n"


def _example(name: str) -> str:
    path = BUILT_IN / name / "example.yaml"
    if not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8")
    return f"\n### Example\n\n`treadle spec new --protocol {name}` writes it:\n\n```yaml\n{text}```\n"


def cli_page() -> str:
    """The reference of the command line, from the commands themselves."""
    root: Any = get_command(build_all())
    parts = [_command("treadle", root)]
    for name, part in root.commands.items():
        parts.append(_command(f"treadle {name}", part))
        parts += [_command(f"treadle {name} {sub}", it) for sub, it in getattr(part, "commands", {}).items()]
    codes = markdown_table(("Exit code", "Meaning"), [(str(code), meaning) for code, meaning in EXITS.items()])
    return f"{MADE}# The command line\n\nEvery command ends with one of these:\n\n{codes}\n" + "\n".join(parts)


def _command(name: str, command: Any) -> str:
    shown = [param for param in command.params if param.name not in UNTOLD and not getattr(param, "hidden", False)]
    usage = " ".join(
        [name, *(usage_of(param) for param in shown), *(["COMMAND"] if hasattr(command, "commands") else [])]
    )
    lines = [(_names(param), _meaning(param)) for param in shown]
    text = f"## {name}\n\n{(command.help or '').strip()}\n\n```console\n{usage}\n```\n"
    return text + (f"\n{markdown_table(('Argument or option', 'Meaning'), lines)}" if lines else "")


def _names(param: Any) -> str:
    return value_name(param) if param.param_type_name == "argument" else ", ".join(param.opts)


def _meaning(param: Any) -> str:
    default = "" if param.required or param.default in (None, False, "") else f" Default: {param.default}."
    return f"{param.help or ''}{default}"


if __name__ == "__main__":
    sys.exit(bring_up_to_date(dict(pages()), DOCS, only_check="--check" in sys.argv[1:]))
