"""What an agent sees of our environment."""

import sysconfig

from treadle.agents.environment import clean

OURS = {
    "PATH": "/usr/bin::.:bin:/bin",
    "HOME": "/home/a",
    "LANG": "C",
    "API_KEY": "secret",
    "API_KEYS": "secrets",
    "LC_ALL": "C",
    "AWS_SECRET": "x",
    "LD_PRELOAD": "/evil.so",
}
SCRIPTS = sysconfig.get_path("scripts")


def test_only_what_is_allowed_is_passed_on() -> None:
    assert clean((), OURS) == {"PATH": f"/usr/bin:/bin:{SCRIPTS}", "HOME": "/home/a", "LANG": "C"}
    assert clean(("API_KEY", "LC_*", "ABSENT"), OURS).keys() - clean((), OURS).keys() == {"API_KEY", "LC_ALL"}


def test_there_is_always_a_path_and_it_names_this_installation_once() -> None:
    assert clean((), {})["PATH"].endswith(f":{SCRIPTS}")
    assert clean((), {"PATH": f"{SCRIPTS}:/bin"})["PATH"] == f"{SCRIPTS}:/bin"
