"""Calls that a model writes into the text of its reply: read, streamed, and written into the history."""

from llm_app.text_calls.reading import Reading, read

__all__ = ["Reading", "read"]
