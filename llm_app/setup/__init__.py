"""Setup of a provider from its key alone: which provider it is, which models it has, and which one answers."""

from llm_app.setup import connect, known_providers, model_list
from llm_app.setup.known_providers import KNOWN_PROVIDERS, KnownProvider
from llm_app.setup.model_list import is_listable

__all__ = ["KNOWN_PROVIDERS", "KnownProvider", "connect", "is_listable", "known_providers", "model_list"]
