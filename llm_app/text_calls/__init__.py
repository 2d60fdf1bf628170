"""Calls that a model writes into the text of its reply: read, streamed, and written into the history."""
