from tools.config_page import config_page
from treadle.config.model import KEYS, SECTIONS


def test_every_key_has_its_line() -> None:
    page = config_page()
    for key in KEYS:
        assert f"\n| `{key.name}` | " in page
        assert key.help in page
    for name, about in SECTIONS.items():
        assert f"\n## {name}\n\n{about}\n" in page
