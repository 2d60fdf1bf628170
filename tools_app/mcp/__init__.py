"""Tools of MCP servers. A child process of ours speaks to each: what a server breaks is that child, not a worker."""
