"""Installs the published implementation of the Agentic Coding Protocol into the user's cache, as `tools.mcp` does."""

from pathlib import Path

from tools.node.install import CACHE
from tools.node.install import install as install_packages

HERE = Path(__file__).parent
FOLDER = CACHE / "orchestrator-core"
PACKAGE = FOLDER / "node_modules" / "@agentic-coding-framework" / "orchestrator-core"
NODE = FOLDER / "node"


def main() -> None:
    install_packages(HERE, FOLDER)


if __name__ == "__main__":
    main()
