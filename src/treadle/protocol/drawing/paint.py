"""The colours of a drawing, for light and for dark surroundings."""

from typing import Final

LIGHT: Final = {
    "paper": "#ffffff",
    "panel": "#f6f8fa",
    "rim": "#d0d7de",
    "ink": "#1f2328",
    "faint": "#59636e",
    "agent": "#ffffff",
    "ask": "#fff1d6",
    "effect": "#ddeeff",
    "map": "#ece5fb",
    "signal": "#ffe3e3",
    "line": "#57606a",
    "alarm": "#c0392b",
    "child": "#7353ba",
}
DARK: Final = {
    "paper": "#0d1117",
    "panel": "#151b23",
    "rim": "#3d444d",
    "ink": "#f0f6fc",
    "faint": "#9198a1",
    "agent": "#212830",
    "ask": "#4a3a12",
    "effect": "#12304f",
    "map": "#33265a",
    "signal": "#552226",
    "line": "#9198a1",
    "alarm": "#ff7b72",
    "child": "#b394f4",
}
STYLE: Final = """
text{{font-family:Verdana,"DejaVu Sans",sans-serif;fill:{ink};text-anchor:middle}}
.name{{font-size:13px;font-weight:600}}.small,.more{{font-size:11px;fill:{faint}}}.exit{{font-size:11px}}
.title{{font-size:18px;font-weight:600;text-anchor:start}}.head{{font-size:14px;font-weight:600;text-anchor:start}}
.note{{font-size:11px;fill:{faint};text-anchor:start}}
.paper{{fill:{paper}}}.panel{{fill:{panel};stroke:{rim}}}.back{{fill:{panel}}}
.box{{fill:{agent};stroke:{line};stroke-width:1.2}}.dot{{fill:{ink}}}.ring{{fill:none;stroke:{ink};stroke-width:1.5}}
.ask .box{{fill:{ask}}}.effect .box,.check .box{{fill:{effect}}}.map .box,.group .box{{fill:{map}}}
.group .box{{stroke:{child};stroke-dasharray:4 3}}.signal .box,.resume .box,.any .box{{fill:{signal}}}
.link{{fill:none;stroke:{line};stroke-width:1.3}}.interrupt{{stroke:{alarm};stroke-dasharray:6 4}}
.system{{stroke:{alarm};stroke-dasharray:2 3}}.spawn{{stroke:{child};stroke-dasharray:4 3}}
.tip-plain{{fill:{line}}}.tip-interrupt,.tip-system{{fill:{alarm}}}.tip-spawn{{fill:{child}}}
"""
TIPS: Final = ("plain", "interrupt", "system", "spawn")


def stylesheet() -> str:
    """The style element: light unless the reader's surroundings are dark."""
    light, dark = (STYLE.format(**colours).strip() for colours in (LIGHT, DARK))
    return f"<style>\n{light}\n@media (prefers-color-scheme:dark){{\n{dark}\n}}\n</style>\n"


def tips() -> str:
    """The arrowheads, one for each style of line: a marker cannot take its line's colour everywhere."""
    return "<defs>\n" + "".join(map(_tip, TIPS)) + "</defs>\n"


def _tip(style: str) -> str:
    return (
        f'<marker id="tip-{style}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path class="tip-{style}" d="M0 0L10 5L0 10z"/></marker>\n'
    )
