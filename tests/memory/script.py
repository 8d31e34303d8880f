"""Calls of the nine tools, in order: whatever the public server answers, ours answers the same."""

from typing import Any

Call = tuple[str, dict[str, Any]]


def entity(name: str, type_: str, *observations: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "entityType": type_, "observations": [*observations], **more}


def relation(from_: str, to: str, type_: str) -> dict[str, Any]:
    return {"from": from_, "to": to, "relationType": type_}


ODD = ("\0", "\ufffd", "\ufffe", "\uffff", "\ufdd0", "\ufeff", "\x1b", "\x7f", "\r\n", "\U0010ffff")
"""Signs that a program may take for something else."""

SCRIPT: tuple[Call, ...] = (
    ("read_graph", {}),
    ("create_entities", {"entities": []}),
    (
        "create_entities",
        {
            "entities": [
                entity("Ada", "person", "likes Maths", "likes Maths", "owner: status"),
                entity("Grace", "person", extra="is left out"),
                entity("twice", "a"),
                entity("twice", "b", "x"),
            ]
        },
    ),
    ("create_entities", {"entities": [entity("Ada", "other", "y"), entity("new", "t")]}),
    ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["likes Maths", "z", "z"]}]}),
    (
        "add_observations",
        {
            "observations": [
                {"entityName": "Ada", "contents": ["one"]},
                {"entityName": "Ada", "contents": ["one", "two"]},
                {"entityName": "twice", "contents": ["of the first"]},
            ]
        },
    ),
    (
        "add_observations",
        {
            "observations": [
                {"entityName": "Ada", "contents": ["lost"]},
                {"entityName": "nobody\nhere|→", "contents": ["lost"]},
            ]
        },
    ),
    ("create_relations", {"relations": [relation("Ada", "Grace", "knows"), relation("Ada", "Grace", "knows")]}),
    ("create_relations", {"relations": [relation("Ada", "Grace", "knows"), relation("Ada", "unknown", "seeks")]}),
    (
        "create_entities",
        {
            "entities": [
                entity("R1|Ω₂ˢ|→PR", 'line\nfeed\tand "quotes" \\ and \u2028', "a|b→c", "\0nul", "😀 smile"),
                entity("ΟΔΥΣΣΕΥΣ", "İstanbul", "STRASSE", "straße", "ﬁne", "Å A\u030a"),
                entity("", "", ""),
                entity("signs", "t", *(f"ab{sign}cd" for sign in ODD)),
                entity("n" * 5_000, "__proto__", "q" * 50_000, "toString"),
            ]
        },
    ),
    *(
        ("search_nodes", {"query": query})
        for query in (
            "",
            "a",
            "ada",
            "MATHS",
            "owner status",
            "person",
            "οδυσσευς",
            "οδυσσευσ",
            "σσ",
            "i\u0307st",
            "istan",
            "STRASSE",
            "ß",
            "😀",
            "|→",
            "b→c",
            "\0nul",
            'and "quotes"',
            "\nfeed",
            "AND",
            '"',
            "*",
            "a OR b",
            "knows",
            "%",
            "å",
            "Q" * 20_000,
            "N" * 5_000 + "n",
            "__PROTO__",
            *(f"B{sign}C" for sign in ODD),
        )
    ),
    ("open_nodes", {"names": ["Grace", "twice", "unknown", "Grace"]}),
    ("open_nodes", {"names": []}),
    ("open_nodes", {"names": ["R1|Ω₂ˢ|→PR", ""]}),
    ("delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["likes Maths", "never said"]}]}),
    ("delete_observations", {"deletions": [{"entityName": "nobody", "observations": ["x"]}]}),
    ("delete_observations", {"deletions": [{"entityName": "twice", "observations": ["x"]}]}),
    ("read_graph", {"more": "is ignored"}),
    ("delete_relations", {"relations": [relation("Ada", "Grace", "knows"), relation("no", "such", "thing")]}),
    ("delete_entities", {"entityNames": ["twice", "nobody", "unknown"]}),
    ("read_graph", {}),
    ("create_entities", {"entities": [entity("Ada", "again"), entity("twice", "again", "after")]}),
    ("search_nodes", {"query": "after"}),
    ("create_entities", {}),
    ("create_entities", {"entities": [{"name": 1}]}),
    ("create_entities", {"entities": [{"name": None, "entityType": [], "observations": {}}]}),
    (
        "create_entities",
        {"entities": [entity("half", "t"), {"name": "x", "entityType": "t", "observations": [1, True]}]},
    ),
    ("create_entities", {"entities": "text"}),
    ("create_entities", {"entities": ["text", 1.5, None]}),
    ("create_relations", {"relations": [{"from": "a", "to": "b"}]}),
    ("add_observations", {"observations": [{"entityName": "Ada", "contents": "text"}]}),
    ("search_nodes", {}),
    ("search_nodes", {"query": 7}),
    ("open_nodes", {"names": [None]}),
    ("delete_entities", {"entityNames": {}}),
    ("delete_observations", {"deletions": [{}]}),
    ("delete_relations", {"relations": [[]]}),
    ("no_such_tool", {}),
    ("read_graph", {}),
)
