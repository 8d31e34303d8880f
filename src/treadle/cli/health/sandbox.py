"""What can hold an agent in: bubblewrap, user namespaces, containers. None of it is required."""

from typing import Final

from treadle.cli.health.line import Line, missing, ok, warn
from treadle.cli.programs import ask, find_program

_TRIAL: Final = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-user", "--unshare-pid", "true")
_NAMESPACES: Final = "`sysctl kernel.unprivileged_userns_clone=1`, or ask whoever runs this machine"


async def bubblewrap_line() -> Line:
    """Whether bubblewrap is there and may do its work."""
    path = find_program("bwrap")
    if path is None:
        return missing("bubblewrap", "not found: agents run without a sandbox", "apt install bubblewrap")
    said = await ask([path, *_TRIAL])
    if not said.is_well:
        return warn("bubblewrap", f"{path} cannot make a sandbox: {said.first_line}", _NAMESPACES)
    return ok("bubblewrap", f"{path} makes a sandbox")


async def namespaces_line() -> Line:
    """Whether an ordinary user may have namespaces of their own."""
    path = find_program("unshare")
    if path is None:
        return warn("user namespaces", "cannot be tried: there is no `unshare`", "apt install util-linux")
    said = await ask([path, "--user", "--map-root-user", "true"])
    return ok("user namespaces", "usable") if said.is_well else warn("user namespaces", said.first_line, _NAMESPACES)


async def container_line() -> Line:
    """Whether an engine for containers is there and answers."""
    seen = ""
    for name in ("podman", "docker"):
        path = find_program(name)
        if path is None:
            continue
        said = await ask([path, "version", "--format", "{{.Server.Version}}"])
        if said.is_well:
            return ok("containers", f"{name} {said.first_line}")
        seen = f"{name} does not answer: {said.first_line}"
    if seen:
        return warn("containers", seen, "start it, if agents are to run in containers")
    return missing(
        "containers", "neither podman nor docker is found", "install one, if agents are to run in containers"
    )
