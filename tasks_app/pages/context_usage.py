"""How full the window of a session's model is, by what its provider has counted."""

from dataclasses import dataclass

from llm_app.models import CallStatus, LLMLog, LogicalModel
from llm_app.types import Purpose
from tasks_app.models import Session


@dataclass(frozen=True, kw_only=True)
class Gauge:
    """Tokens: `used` by the newest request and its reply, of which `cached` came out of the provider's cache."""

    used: int
    window: int
    cached: int
    is_estimated: bool

    @property
    def percent(self) -> int:
        return min(100, round(100 * self.used / self.window)) if self.window else 0

    @property
    def cached_percent(self) -> int:
        return round(100 * self.cached / self.used) if self.used else 0


def gauge_of(session: Session) -> Gauge | None:
    """None before the first answer, and where the model is gone."""
    answered = LLMLog.objects.filter(session_id=session.pk, purpose=Purpose.STEP, status=CallStatus.SUCCEEDED)
    newest = answered.only("model", "input_tokens", "output_tokens", "cached_tokens", "usage_estimated").first()
    model = LogicalModel.objects.filter(name=newest.model).first() if newest else None
    if newest is None or model is None:
        return None
    return Gauge(
        used=newest.input_tokens + newest.output_tokens,
        window=model.context_window,
        cached=newest.cached_tokens,
        is_estimated=newest.usage_estimated,
    )
