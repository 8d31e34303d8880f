"""The page of the stable codes: what each finding, refusal and error means."""

from itertools import groupby
from typing import Final

from treadle.codes import CODES
from treadle.protocol.drawing.table import escape_markdown, markdown_table

INTRO: Final = """\
# Codes

Every finding, refusal, advice and error has a stable code. Programs and tests compare codes; people read the sentence
beside them, which may change at any time. A code never changes its meaning.

A command that fails prints its sentence on standard error, with the code in brackets at the end. With `--json` it
prints one document on standard output: `{"schema": 1, "error": {"code": …, "message": …, "findings": […]}}`; the exit
code is the same. `treadle protocol check`, `spec check`, `config`, `doctor` and `say` have codes in their `--json` too.
"""


def codes_page() -> str:
    """The page."""
    areas = groupby(sorted(CODES), key=lambda code: code.partition(".")[0])
    return INTRO + "".join(_section(area, list(codes)) for area, codes in areas)


def _section(area: str, codes: list[str]) -> str:
    rows = [(f"`{code}`", escape_markdown(CODES[code])) for code in codes]
    return f"\n## {area}\n\n{markdown_table(('Code', 'Meaning'), rows)}"
