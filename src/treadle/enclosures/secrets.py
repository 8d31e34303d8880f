"""Places of this machine that no agent needs to see: keys, passwords, and sockets that would let it out of its box."""

import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_OF_A_USER: Final = (
    *(".ssh .gnupg .aws .azure .kube .docker .password-store .config/gh .config/glab-cli .config/hub".split()),
    *(".config/gcloud .config/op .config/git/credentials .config/containers/auth.json .git-credentials".split()),
    *(".netrc .pypirc .vault-token .cargo/credentials .cargo/credentials.toml .terraform.d".split()),
    *(".local/share/keyrings .mozilla .config/google-chrome .config/chromium".split()),
    *(".bash_history .zsh_history .python_history .psql_history".split()),
)
_OF_THE_MACHINE: Final = (
    *("/run/docker.sock", "/run/podman", "/run/containerd", "/run/crio", "/run/dbus", "/run/systemd/private"),
    *("/run/libvirt", "/run/snapd.socket", "/run/screen", "/etc/shadow", "/etc/gshadow", "/etc/sudoers"),
)


def secret_places() -> Iterator[Path]:
    """Those of them that are there, as they are called behind all links."""
    for home in homes():
        yield from _there(home / name for name in _OF_A_USER)
    yield from _there(Path(name) for name in (*_OF_THE_MACHINE, f"/run/user/{os.getuid()}"))


def homes() -> list[Path]:
    """The home folders of whoever runs this: by name, and by what the environment says."""
    found = [os.environ.get("HOME", ""), _own_home()]
    return [Path(home) for home in dict.fromkeys(found) if home.startswith("/") and home != "/"]


def _own_home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def _there(places: Iterator[Path]) -> Iterator[Path]:
    for place in places:
        try:
            yield place.resolve(strict=True)
        except (OSError, RuntimeError):
            continue
