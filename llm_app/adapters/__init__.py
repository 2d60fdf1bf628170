"""Adapters: one module builds the requests of a protocol, another parses its responses."""

from llm_app.adapters.base import RouteParameters
from llm_app.adapters.openai_embeddings import vectors

__all__ = ["RouteParameters", "vectors"]
