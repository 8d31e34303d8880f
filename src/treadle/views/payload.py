"""Where a view has its payloads from."""

from collections.abc import Callable

from treadle.protocol.items import Json

Get = Callable[[str], Json]
"""The value behind a reference."""
