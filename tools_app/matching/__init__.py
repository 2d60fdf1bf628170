"""Searches a tree of files in a separate process, so that no pattern and no tree can block the server.

The child imports the standard library, this package and `files` only; the tool `match` starts it.
"""
