"""Web search engines: one adapter for each kind, with its requests and results."""
