"""A played model: real agent programs talk to it over HTTP, and a script says what it answers.

`server` speaks HTTP, one module per wire format translates, `player` chooses the answer, `script` reads the scripts.
"""

from played_model.script import ScriptError, read_scripts
from played_model.server import ModelServer, client_variables

__all__ = ["ModelServer", "ScriptError", "client_variables", "read_scripts"]
