"""Installs the public memory server and the MCP inspector into the user's cache, as `tools.node` does its packages."""

from pathlib import Path

from tools.node.install import CACHE
from tools.node.install import install as install_packages

HERE = Path(__file__).parent
FOLDER = CACHE / "mcp-tools"
MEMORY_SERVER = FOLDER / "node_modules" / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
INSPECTOR = FOLDER / "node_modules" / ".bin" / "mcp-inspector"
NODE = FOLDER / "node"


def main() -> None:
    install_packages(HERE, FOLDER)


if __name__ == "__main__":
    main()
