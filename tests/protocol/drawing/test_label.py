import pytest

from treadle.protocol.drawing.picture import Label, merged, short
from treadle.protocol.drawing.table import Row


def row(exit_: str, *do: str) -> Row:
    return Row(graph="g", step="a", kind="agent", exit=exit_, to="b", do=do)


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        ("send ContextShift to siblings", ("✉ ContextShift → siblings",)),
        ("tier +1", ("▲ tier +1",)),
        ("sync", ("⇊ sync",)),
        ("round = round + 1", ("· round = round + 1",)),
        ("spawn children: node over childSpecs", ()),
    ],
)
def test_actions_have_short_labels(action: str, shown: tuple[str, ...]) -> None:
    assert short(row("Done", action)) == Label(("Done",), shown)


def test_many_system_exits_are_cut_short() -> None:
    assert short(row("!timeout !crash !limit")).exits == ("!timeout !crash …",)
    assert short(row("!timeout !crash")).exits == ("!timeout !crash",)


def test_labels_with_the_same_consequences_are_one() -> None:
    labels = [Label(("A",), ("≤ 5 x",)), Label(("B",), ("≤ 5 x",)), Label(("C",)), Label(("A",), ("≤ 5 x",))]
    assert merged(labels) == (Label(("A", "B"), ("≤ 5 x",)), Label(("C",)))


def test_many_variants_of_an_exit_share_its_name() -> None:
    variants = [Label((f"Stuck.{name}",)) for name in ("A", "B", "C")]
    assert merged([*variants, Label(("Done",))]) == (Label(("Stuck.*", "Done")),)
    assert merged(variants[:2]) == (Label(("Stuck.A", "Stuck.B")),)
