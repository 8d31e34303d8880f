"""A knowledge graph as data: entities with observations, and relations between names."""

import msgspec


class Entity(msgspec.Struct, frozen=True, rename="camel"):
    """Something that is remembered; two of one name can only come from one call, as in the public server."""

    name: str
    entity_type: str
    observations: tuple[str, ...]


class Relation(msgspec.Struct, frozen=True, rename="camel"):
    """A directed link between two names, in active voice; nobody asks whether there are entities of these names."""

    from_: str = msgspec.field(name="from")
    to: str
    relation_type: str


class Graph(msgspec.Struct, frozen=True):
    """Some or all of what is remembered, oldest first."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


class Contents(msgspec.Struct, frozen=True, rename="camel"):
    """Observations that are to be added to an entity."""

    entity_name: str
    contents: tuple[str, ...]


class Added(msgspec.Struct, frozen=True, rename="camel"):
    """Those of them that were new."""

    entity_name: str
    added_observations: tuple[str, ...]


class Deletion(msgspec.Struct, frozen=True, rename="camel"):
    """Observations that are to be forgotten."""

    entity_name: str
    observations: tuple[str, ...]


class Unknown(msgspec.Struct, frozen=True):
    """The name of an entity that is not there."""

    name: str
