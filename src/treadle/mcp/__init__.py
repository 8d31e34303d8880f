"""The MCP server that agents answer through."""
