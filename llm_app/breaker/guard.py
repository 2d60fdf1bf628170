"""The breaker of one attempt on a route. It only costs a query after a failed call."""

from collections.abc import Iterator
from contextlib import contextmanager

from llm_app.breaker import changes
from llm_app.breaker.rules import CallPermission, Thresholds, is_fault, permission_for_call, reason_to_open
from llm_app.errors import AuthenticationFailed, CircuitOpen, LLMError, ProtocolUnavailable
from llm_app.models import BreakerState, LLMCallStatus, LLMLog, Route
from llm_app.types import Purpose


class AttemptGuard:
    """A breaker's decision about one attempt. `route` comes from `usable_for`, which reads the breaker with it."""

    def __init__(self, route: Route) -> None:
        self._provider = route.provider
        self._breaker = changes.breaker_of(route.provider)
        is_due = bool(route.probe_is_due)  # type: ignore[attr-defined]  # annotated by usable_for
        self._permission = permission_for_call(self._breaker.state, forced=self._breaker.forced, is_due=is_due)

    @property
    def allows_calls(self) -> bool:
        return self._permission is not CallPermission.BLOCKED

    @property
    def is_open(self) -> bool:
        """Return whether the breaker is open, after an attempt has failed."""
        return self._breaker.state == BreakerState.OPEN

    @contextmanager
    def around_attempt(self) -> Iterator[None]:
        """Wrap one attempt, whose outcome changes the breaker. The log of a failed attempt must be saved inside.

        Raises: CircuitOpen.
        """
        if not self.allows_calls or (self._is_probe and not changes.claim_probe(self._breaker)):
            error = CircuitOpen(key_refused=self._breaker.key_refused)
            error.provider = self._provider.name
            raise error
        try:
            yield
        except ProtocolUnavailable:
            self._release_probe()  # no request was sent
            raise
        except LLMError as error:
            self._record_failure(error)
            raise
        except BaseException:
            self._release_probe()
            raise
        self._record_answer()

    @property
    def _is_probe(self) -> bool:
        return self._permission is CallPermission.PROBE

    def _release_probe(self) -> None:
        if self._is_probe:
            changes.release_probe(self._breaker)

    def _record_answer(self) -> None:
        if self._is_probe:
            changes.close_breaker(self._breaker, "The probe was answered.")

    def _record_failure(self, error: LLMError) -> None:
        if not is_fault(error):
            self._record_answer()
        elif reason := self._reason_to_open(error):
            changes.open_breaker(self._breaker, reason, key_refused=isinstance(error, AuthenticationFailed))

    def _reason_to_open(self, error: LLMError) -> str:
        if self._is_probe:
            return f"The probe failed. {error.sentence}"
        if self._breaker.forced:
            return ""
        thresholds = Thresholds.from_json(self._provider.breaker)
        return reason_to_open(error, self._outcomes(thresholds.window), thresholds)

    def _outcomes(self, window: int) -> list[str]:
        """Return the errors of the newest calls since the breaker closed; empty for a success. Tests do not count."""
        logs = LLMLog.objects.filter(provider=self._provider.name).exclude(status=LLMCallStatus.ABORTED)
        if self._breaker.changed_at is not None:
            logs = logs.filter(created_at__gt=self._breaker.changed_at)
        logs = logs.exclude(purpose=Purpose.TEST).order_by("-created_at")
        return list(logs.values_list("error_type", flat=True)[:window])
