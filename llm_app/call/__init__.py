"""One call of a model: its routes, attempts, retries and log."""

from llm_app.call.known_routes import KnownRoutes
from llm_app.call.llm_call import Completion, LLMCall, Observer, Recipient, References, Runner, StoredPrompt
from llm_app.call.retry import Action

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
