"""The syntax tree of a template, which the loader follows to other templates and the checker walks."""

from functools import lru_cache
from typing import Final

from jinja2 import Environment, TemplateSyntaxError, nodes

_ENVIRONMENT: Final = Environment(autoescape=False)


@lru_cache(maxsize=1024)
def parsed(text: str) -> nodes.Template | tuple[int, str]:
    """The syntax tree of a template, or the line and what is wrong with it."""
    try:
        return _ENVIRONMENT.parse(text)
    except TemplateSyntaxError as error:
        return error.lineno, (error.message or "cannot be read").rstrip(".")
    except RecursionError:
        return 1, "is nested too deeply"
