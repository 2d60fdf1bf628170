"""Tools of MCP servers. A child process talks to each server: a faulty server can only break that child."""
