"""σ₁: what is to be built, as it was handed in."""

from collections.abc import Mapping

from treadle.kernel.lifecycle import ROOT
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.views.bank.course import Course
from treadle.views.bank.standing import records
from treadle.views.bank.writing import document, line, listing, quote
from treadle.views.evidence_records import payload, text, texts
from treadle.views.payload import Get


def brief(protocol: Protocol, course: Course, get: Get) -> str:  # noqa: ARG001  as every view
    """The brief as a document."""
    root = course.state.insts.get(ROOT)
    given = payload(get, root.input.ref) if root else {}
    title = f"σ₁ Brief {line(text(given.get('id')))}: {line(text(given.get('title')))}".rstrip(": ")
    bodies = [
        quote(text(given.get("description"))),
        "\n\n".join(_module(one) for one in records(given.get("modules"))),
        _criteria(given.get("criteria")),
        listing(map(line, texts(given.get("constraints")))),
        listing(map(line, texts(given.get("technology")))),
    ]
    return document("brief", title, bodies)


def _module(module: Mapping[str, Json]) -> str:
    parts = [f"### {line(text(module.get('name')))}", quote(text(module.get("description")))]
    parts += [_criteria(module.get("criteria"))]
    lists = {"depends": "uses", "paths": "lives in"}
    parts += [
        f"{word} {', '.join(map(line, named))}" for key, word in lists.items() if (named := texts(module.get(key)))
    ]
    return "\n\n".join(part for part in (*parts, quote(text(module.get("notes")))) if part)


def _criteria(value: Json) -> str:
    return listing(f"{line(text(one.get('id')))}: {line(text(one.get('text')))}" for one in records(value))
