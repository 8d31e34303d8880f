"""Names of refs: clean for git, and never the same for two ids."""

import subprocess
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.git.place import ENV
from treadle.git.ref_names import RefNames, slug


@pytest.mark.parametrize(
    ("id_", "expected"),
    [
        ("root", "root"),
        ("root/k0", "root+k0"),
        ("root/csv-parser:tests#1.2", "root+csv-parser=tests-1.2"),
    ],
)
def test_plain_ids_stay_readable(id_: str, expected: str) -> None:
    assert slug(id_) == expected


@pytest.mark.parametrize(
    "id_", ["Root", "a b", "ä", "x..y", "x.lock", "x.lock/y", ".x", "-x", "a+b", "a=b", "result", "@"]
)
def test_unusual_ids_get_a_hash(id_: str) -> None:
    assert "," in slug(id_)


ids = st.one_of(
    st.text(alphabet="ab/:#-+=.,~1 Ä@{lock", min_size=1, max_size=12),
    st.text(min_size=1, max_size=200).filter(lambda text: text.isprintable()),
)


@given(st.lists(ids, min_size=2, max_size=20, unique=True))
def test_no_two_ids_have_one_slug(some: list[str]) -> None:
    slugs = [slug(id_).casefold() for id_ in some]
    assert len(set(slugs)) == len(some)


def test_git_takes_every_name() -> None:
    odd = [
        "root",
        "Ä ö",
        "a/b:c#1.1",
        "..",
        "x.lock",
        "-",
        "@{0}",
        "a" * 500,
        "\x7f\n",
        "*?[",
        "int",
        "~^:",
        "refs/heads",
    ]
    refs = [ref for id_ in odd for ref in _refs(id_)]
    for ref in refs:
        done = subprocess.run(["git", "check-ref-format", ref], env=ENV, check=False)
        assert done.returncode == 0, ref
    ordered = sorted(set(refs))
    assert not any(other.startswith(f"{one}/") for one, other in pairwise(ordered)), "a ref lies inside of another one"


def _refs(id_: str) -> list[str]:
    names = RefNames("run 1")
    return [
        names.integration(id_),
        names.lane(id_, "int"),
        names.lane(id_, id_),
        names.of_activity(id_, "wip"),
        names.of_instance(id_, "base"),
        names.start,
        names.result,
    ]
