"""The provider that ships with the server: a tour for newcomers, scripts for tests. No key, no network."""

from llm_app.scripted.adapter import Scripted

__all__ = ["Scripted"]
