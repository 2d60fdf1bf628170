"""Adapters: one module builds the requests of a protocol, another parses its responses."""
