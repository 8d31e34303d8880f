"""The facts of a dispatch for programs: `context.json`."""

from treadle.kernel.commands import RunAgent
from treadle.kernel.state import State
from treadle.ports import Payloads
from treadle.prompts.scope import permissions
from treadle.prompts.variables import given, parameters_of
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol


def context(protocol: Protocol, state: State, command: RunAgent, payloads: Payloads) -> dict[str, Json]:
    """Who is to do what, and within which bounds."""
    role = protocol.roles[command.role]
    allowed = permissions(protocol, command, payloads)
    return {
        "run": state.run,
        "protocol": protocol.name,
        "instance": command.inst,
        "graph": command.graph,
        "step": command.step,
        "role": command.role,
        "mode": command.mode,
        "attempt": command.attempt,
        "max_attempts": command.attempts,
        "spec": given(command.inputs, payloads),
        "parameters": {**parameters_of(protocol, state, command, payloads)},
        "permissions": {
            "may": list(role.perms),
            "reads": list(allowed.reads),
            "writes": list(allowed.writes),
            "stubs": list(allowed.stubs),
            "hidden": list(allowed.hidden),
            "refused": list(allowed.refused),
        },
    }
