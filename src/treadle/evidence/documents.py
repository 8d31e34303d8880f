"""Documents: fields of an exit that have an artifact's name, and the files that artifacts are."""

from collections.abc import Mapping

from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, tag_of


def documents_of(protocol: Protocol, exit_: str, claim: Mapping[str, Json]) -> dict[str, str]:
    """The documents that a claim holds, by the name of their artifact; what is a view is nobody's to return."""
    declared = protocol.exits.get(tag_of(exit_))
    fields = declared.fields if declared else {}
    kept = {name for name, artifact in protocol.artifacts.items() if not artifact.view}
    names = [name for name, field in fields.items() if field.by == "agent" and name in kept]
    return {name: value for name in names if isinstance(value := claim.get(name), str)}
