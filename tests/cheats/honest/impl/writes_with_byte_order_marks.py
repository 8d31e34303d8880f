# honest: writes its file with a byte order mark, as some editors do
# family: implementers
from pathlib import Path

TEXT = '''"""Adding up."""

from basket.item import Item


def total(items: list[Item]) -> int:
    """What the items cost, in cents."""
    return sum(_cost(item) for item in items)


def _cost(item: Item) -> int:
    if item.quantity < 1:
        raise ValueError(item.name)
    return item.quantity * item.cents * (90 if item.quantity >= 10 else 100) // 100
'''
Path("src/basket/adding.py").write_text(TEXT, encoding="utf-8-sig")
print('{"exit": {"type": "TestsPassed"}}')  # noqa: T201
