"""Calls of models: routes, attempts, retries and logs."""

from llm_app.call.known_routes import KnownRoutes
from llm_app.call.llm_call import Completion, LLMCall, Observer, References, StoredPrompt
from llm_app.call.retry import Action
from llm_app.call.route_settings import Recipient
from llm_app.types import Runner

__all__ = [
    "Action",
    "Completion",
    "KnownRoutes",
    "LLMCall",
    "Observer",
    "Recipient",
    "References",
    "Runner",
    "StoredPrompt",
]
