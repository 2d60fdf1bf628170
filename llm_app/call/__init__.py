"""Calls of models: routes, attempts, retries and logs."""

from llm_app.call import client
from llm_app.call.cached_routes import CachedRoutes
from llm_app.call.llm_call import Completion, LLMCall, Observer, References, StoredPrompt
from llm_app.call.retry import Action
from llm_app.call.route_settings import TargetModel
from llm_app.types import Runner

__all__ = [
    "Action",
    "CachedRoutes",
    "Completion",
    "LLMCall",
    "Observer",
    "References",
    "Runner",
    "StoredPrompt",
    "TargetModel",
    "client",
]
