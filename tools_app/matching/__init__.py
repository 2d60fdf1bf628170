"""Searching a tree of files in a process of its own, so that no pattern and no tree can hold up the server.

The child imports the standard library and this package only; `child` is the server's side of it.
"""
