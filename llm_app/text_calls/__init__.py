"""Calls that a model writes into the text of its reply: parsed, streamed, and written into the history."""
