"""What agent programs have to find in their environment so that they talk to the model server and to nobody else."""

import json
from pathlib import Path
from typing import Final

KEY: Final = "played"
"""In the place of a key: nobody asks for one."""
_MODEL: Final = "played-1"


def client_variables(url: str, home: Path) -> dict[str, str]:
    """The variables of all agents that are known; each reads its own, and none finds the user's login in this HOME."""
    (home / ".codex").mkdir(parents=True, exist_ok=True)
    (home / ".codex" / "config.toml").write_text(f'model = "{_MODEL}"\n', encoding="utf-8")  # its plain set of tools
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {_MODEL: {}},
    }
    opencode = {"provider": {KEY: provider}, "model": f"{KEY}/{_MODEL}", "small_model": f"{KEY}/{_MODEL}"}
    return {
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": KEY,
        "GEMINI_MODEL": "gemini-2.5-flash",  # without a name, it asks another model which one to ask
        "OPENCODE_CONFIG_CONTENT": json.dumps(opencode),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }
