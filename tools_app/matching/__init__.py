"""A search of a file tree in a separate process, so that no pattern and no tree can block the server.

The child process imports only the standard library, this package and `files`. The tool `match` starts it.
"""
