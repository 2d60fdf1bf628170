"""HTTP and server-sent events for calls of models."""

from llm_app.transport.error_body import own_words
from llm_app.transport.waiting import DeadlinePassed, RunnerWithDeadline, ready_descriptors

__all__ = ["DeadlinePassed", "RunnerWithDeadline", "own_words", "ready_descriptors"]
