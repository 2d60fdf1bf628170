"""One call of a model: its routes, attempts, retries and log."""

from llm_app.call.llm_call import Completion, LLMCall, Observer, Recipient, References, Runner, StoredPrompt
from llm_app.call.retry import Action

__all__ = [
    "Action",
    "Completion",
    "LLMCall",
    "Observer",
    "Recipient",
    "References",
    "Runner",
    "StoredPrompt",
]
