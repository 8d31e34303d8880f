"""How Python calls its files."""

from functools import lru_cache
from pathlib import PurePosixPath


@lru_cache(maxsize=100_000)
def module_name(path: str) -> str:
    """`src/shop/cart.py` → `shop.cart`, `shop/__init__.py` → `shop`."""
    parts = PurePosixPath(path).with_suffix("").parts
    parts = parts[1:] if parts[0] in ("src", "lib") and len(parts) > 1 else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def is_private(module: str) -> bool:
    """Whether nobody is meant to import a module from outside."""
    return any(part.startswith("_") and not part.startswith("__") for part in module.split("."))


def is_python(path: str) -> bool:
    """Whether a file is a module."""
    return path.endswith((".py", ".pyi"))
