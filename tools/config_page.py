"""The page about `treadle.toml`, from the table of its keys."""

from treadle.cli.config import format_value
from treadle.config.model import KEYS, OF_PROTOCOL, SECTIONS, Key

INTRO = """\
# Settings

`treadle.toml` is in the root folder of the project; commit it. `treadle init` writes a first one. Every key has a
default, so the file may be missing. `treadle config` shows each setting and its source.

A later source overrides an earlier one:

1. the defaults below
2. `$XDG_CONFIG_HOME/treadle/config.toml` (`~/.config/treadle/config.toml`): yours, for all projects
3. `treadle.toml`: the project's
4. `TREADLE_SET` in the environment: `TREADLE_SET="limits.agents=2 git.merge=ask"`
5. `--set KEY=VALUE` on the command line

Treadle refuses unknown keys and values of the wrong kind, and names the line. It also refuses credentials: keep them
in environment variables, and name the variables in `environment.pass`.
"""


def config_page() -> str:
    """Every key with what it takes and means."""
    parts = [INTRO, *(_section(name, about) for name, about in SECTIONS.items())]
    return "\n".join(parts)


def _section(section: str, about: str) -> str:
    lines = [_line(key) for key in KEYS if key.parts[0] == section]
    head = "| Key | Takes | Default | Meaning |\n| --- | --- | --- | --- |\n"
    outro = f"\n{OF_PROTOCOL}\n" if section == "protocol" else ""
    return f"## {section}\n\n{about}\n\n{head}{''.join(lines)}{outro}"


def _line(key: Key) -> str:
    default = f"`{format_value(key.default)}`" if key.default not in (None, ()) else "–"
    cells = (f"`{key.name}`", key.kind.name, default, key.help)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
