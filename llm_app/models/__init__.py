"""Models of the LLM layer. They refer to tasks and sessions by id only, which avoids circular migrations."""

from llm_app.models.breaker import BreakerChange, BreakerState, CircuitBreaker
from llm_app.models.budget import Budget, Reservation, Spending
from llm_app.models.log import UNPRICED, Blob, LLMCallStatus, LLMLog
from llm_app.models.provider import (
    LearnedQuirk,
    LogicalModel,
    LogicalModelQuerySet,
    ModelKind,
    Protocol,
    Provider,
    Route,
)
from llm_app.models.secret import Secret, ServiceKey

__all__ = [
    "UNPRICED",
    "Blob",
    "BreakerChange",
    "BreakerState",
    "Budget",
    "CircuitBreaker",
    "LLMCallStatus",
    "LLMLog",
    "LearnedQuirk",
    "LogicalModel",
    "LogicalModelQuerySet",
    "ModelKind",
    "Protocol",
    "Provider",
    "Reservation",
    "Route",
    "Secret",
    "ServiceKey",
    "Spending",
]
