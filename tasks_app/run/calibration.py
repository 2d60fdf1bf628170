"""How our estimate of tokens compares with what a provider counted: from what it was sent last."""

from uuid import UUID

from llm_app.models import CallStatus, LLMLog
from llm_app.types import Purpose

LEAST, MOST = 0.5, 2.0  # a provider that says it is further off does not count what we sent


class Calibration:
    """Of one session, by the provider's name of the model."""

    def __init__(self, session_id: UUID) -> None:
        self._session_id = session_id
        self._factors: dict[str, float] = {}

    def factor(self, model: str) -> float:
        """Tokens of the provider for one of ours. The first question for a model costs a query."""
        if model not in self._factors:
            answered = LLMLog.objects.filter(session_id=self._session_id, provider_model=model, purpose=Purpose.STEP)
            newest = answered.filter(status=CallStatus.SUCCEEDED).first()
            self._factors[model] = _factor(newest) or 1.0 if newest else 1.0
        return self._factors[model]

    def learn(self, log: LLMLog) -> None:
        """From a call that was answered."""
        if factor := _factor(log):
            self._factors[log.provider_model] = factor


def _factor(log: LLMLog) -> float:
    """0 where the provider has not counted."""
    if log.usage_estimated or not log.input_tokens or not log.estimated_tokens:
        return 0.0
    return min(MOST, max(LEAST, log.input_tokens / log.estimated_tokens))
