"""One request to one provider: its bytes, its stream and its log."""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from typing import Any

from django.db import transaction

from llm_app import active_secrets
from llm_app.adapters.base import RouteParameters
from llm_app.budgets import Allowance, CallSize, UsageMeter, size_in_bytes
from llm_app.call.cached_routes import CachedRoutes
from llm_app.call.full_window import is_window_full
from llm_app.call.learned_quirks import SEALED_EPOCH, UNSUPPORTED, LearnableQuirk, learnable_quirks
from llm_app.call.llm_call import Completion, LLMCall, Observer
from llm_app.call.route_settings import RouteSettings, parameters_of
from llm_app.errors import LLMError, ProviderTimeout, SealedPartRefused, StreamCut, UnreadableReply
from llm_app.metrics import count_call
from llm_app.models import LearnedQuirk, LLMCallStatus, LLMLog, Route
from llm_app.pricing import prices
from llm_app.redaction import Redactor
from llm_app.redaction.prompt import redacted_prompt
from llm_app.redaction.turn import redacted_turn
from llm_app.types import Delta, LLMTurnResult, Purpose, Runner, Usage

MOST_LEARNED = 8  # quirks in one attempt
SHORTEST_WAIT, LONGEST_WAIT = 0.5, 4.0  # seconds between two checks; the pause grows, because hundreds may wait


def ask(call: LLMCall, route: Route, number: int, observer: Observer, run: Runner) -> Completion:
    """Make one attempt. If a rejection teaches a quirk, the call is sent again, once per quirk.

    Quirks that did not help are forgotten: those learned from the words that end the attempt.

    Raises: LLMError, BudgetExceeded, or the exception that interrupts a wait of `run`.
    """
    learned: list[LearnableQuirk] = []
    rejections: list[str] = []  # the words that taught each of them
    while True:
        attempt = Attempt(call, route, number, observer, learned)
        try:
            return attempt.run(run)
        except LLMError as error:
            quirk = attempt.quirk_to_learn(error)
            if quirk is None or quirk in learned or len(learned) >= MOST_LEARNED:
                useless = [old for old, text in zip(learned, rejections, strict=True) if text == error.text]
                if useless and not isinstance(error, SealedPartRefused):
                    _forget(useless, route)
                    _read_again(route, call.routes)
                raise
            _store_quirk(quirk, route, error.detail)
            _read_again(route, call.routes)
            learned.append(quirk)
            rejections.append(error.text)
        observer.adapted(quirk.sentence)


def _store_quirk(quirk: LearnableQuirk, route: Route, reason: str) -> None:
    """Store a learned quirk in place of older values; only `unsupported` has several values, and epochs only rise.

    Routes of an unsaved provider, which is only tested, cannot store quirks.
    """
    if route.provider.pk is None:
        return
    target = {"provider": route.provider, "provider_model": route.provider_model, "quirk": quirk.name}
    values = LearnedQuirk.objects.filter(**target)
    if quirk.name == SEALED_EPOCH and any(value >= quirk.value for value in values.values_list("value", flat=True)):
        return  # another session has noticed the same change
    if quirk.name != UNSUPPORTED:
        values.delete()
    row = LearnedQuirk(**target, value=quirk.value, reason=reason)
    LearnedQuirk.objects.bulk_create([row], ignore_conflicts=True)  # another call may have stored it already


def _read_again(route: Route, routes: CachedRoutes | None) -> None:
    """Have the learned quirks of a route read again before its next request."""
    route.has_learned = True  # type: ignore[attr-defined]  # annotated by usable_for
    if routes is not None:
        routes.has_learned(route)


def _forget(quirks: Sequence[LearnableQuirk], route: Route) -> None:
    rows = LearnedQuirk.objects.filter(provider=route.provider.pk, provider_model=route.provider_model)
    for quirk in quirks:
        rows.filter(quirk=quirk.name, value=quirk.value).delete()


class Attempt:
    """An attempt on a route, numbered from 1. Its log is always saved."""

    def __init__(
        self,
        call: LLMCall,
        route: Route,
        number: int,
        observer: Observer,
        learned: Sequence[LearnableQuirk] = (),
    ) -> None:
        settings = call.routes.settings_of(route) if call.routes else RouteSettings.of(route)
        self._adapter, self._price = settings.adapter, settings.price
        self._endpoint = replace(settings.endpoint, on_sent=self._request_sent)
        self._was_sent = False
        self._stored = call.prompt_for(settings.target)
        self._redactor = call.redactor or active_secrets.for_users([]).redactor
        self._redacted = redacted_prompt(self._stored.prompt, self._redactor)
        self._learned = learned  # during this call
        self._parameters = parameters_of(route, *learned) if learned else settings.parameters
        self._body = self._adapter.body(self._redacted.prompt, self._parameters)
        self._request_hash = settings.sha256
        self._route, self._observer = route, observer
        self._parser = self._adapter.parser(self._parameters, self._redacted.prompt)
        self._allowance = call.allowance or Allowance(call.user_id, call.task_id, call.tree)
        has_pictures = self._parameters.takes_images
        self._size = size_in_bytes(self._body, self._redacted.prompt.messages if has_pictures else ())
        self._usage_meter = UsageMeter(self._size)
        self._started = time.monotonic()
        self._log = self._new_log(call, number)

    def run(self, run: Runner) -> Completion:
        """Send the request and return the completion.

        Raises: LLMError, BudgetExceeded, or the exception that interrupts a wait of `run`.
        """
        if self._log.purpose != Purpose.TEST:  # connection tests of administrators are not limited
            size = CallSize(request_bytes=self._size, max_tokens=self._parameters.max_tokens, price=self._price)
            _reserve_when_available(self._allowance, size, self._observer, run)
        self._observer.attempt(self._route.provider.name, self._endpoint.silence_s)
        try:
            result = redacted_turn(self._receive(run), self._redactor)
        except LLMError as error:
            key = self._endpoint.api_key  # providers may repeat a rejected key, and parts of the request
            detail = error.detail.replace(key, "[key]") if key else error.detail
            error.detail, error.provider = self._redactor.redacted_beginning(detail), self._route.provider.name
            self._end_log(LLMCallStatus.FAILED, error.detail, type(error).__name__)
            self._settle_without_answer(was_read=isinstance(error, ProviderTimeout))
            raise
        except BaseException as interruption:
            self._end_log(LLMCallStatus.ABORTED, error_type=type(interruption).__name__)
            self._settle_without_answer(was_read=self._was_sent)
            raise
        output = self._usage_meter.usage(result.usage).output_tokens
        return Completion(
            result=result,
            log=self._log_success(result),
            allowance=self._allowance,
            window_is_full=is_window_full(result, output_tokens=output, max_tokens=self._parameters.max_tokens),
        )

    def quirk_to_learn(self, error: LLMError) -> LearnableQuirk | None:
        """Return the first quirk that would change the request. Settings of an administrator cannot be changed."""
        for quirk in learnable_quirks(error, self._body, self._parameters.quirks):
            parameters = parameters_of(self._route, *self._learned, quirk)
            if self._adapter.body(self._redacted.prompt, parameters) != self._body:
                return quirk
        return None

    def _receive(self, run: Runner) -> LLMTurnResult:
        """Return the turn. An answer that has ended is complete, whatever happens to the connection after it.

        Raises: LLMError, or the exception that interrupts a wait of `run`.
        """
        try:
            with closing(self._adapter.events(self._body, self._endpoint, run)) as events:
                for event in events:
                    for delta in self._parser.feed(event):
                        self._delta(delta)
                    # Counted after parsing: a stream that begins with an error was rejected and costs nothing.
                    self._usage_meter.event(event)
                    if self._parser.done:
                        break
        except (StreamCut, UnreadableReply, ProviderTimeout) as error:
            if not self._parser.has_ended:
                is_damage = isinstance(error, UnreadableReply) and self._usage_meter.has_begun
                if is_damage and not self._parser.is_foreign:
                    raise StreamCut(error.detail) from error
                raise
        return self._with_account(self._parser.result())

    def _with_account(self, result: LLMTurnResult) -> LLMTurnResult:
        """Return the turn with the account that sealed its thinking."""
        thinking, account = result.thinking, self._parameters.account
        if thinking is None or not thinking.is_sealed or not account:
            return result
        return replace(result, thinking=replace(thinking, account=account))

    def _request_sent(self) -> None:
        self._was_sent = True

    def _delta(self, delta: Delta) -> None:
        if self._log.first_delta_ms is None:
            self._log.first_delta_ms = self._elapsed_ms()
        self._usage_meter.delta(delta)
        self._observer.delta(delta)

    def _new_log(self, call: LLMCall, number: int) -> LLMLog:
        route, references = self._route, self._stored.references
        parameters, body = self._parameters_and_body_for_log()
        return LLMLog(
            user_id=call.user_id,
            task_id=call.task_id,
            session_id=call.session_id,
            purpose=call.purpose,
            agent_version_id=call.agent_version_id,
            iteration=call.iteration,
            attempt=number,
            model=route.model.name,
            provider=route.provider.name,
            provider_model=route.provider_model,
            adapter=self._adapter.name,
            adapter_version=self._adapter.version,
            system_blob=references.system_blob,
            tools_blob=references.tools_blob,
            compacted_blob=references.compacted_blob,
            messages_blob=references.messages_blob,
            cut_seq=references.cut_seq,
            last_seq=references.last_seq,
            estimated_tokens=references.estimated_tokens,
            parameters=parameters,
            masked_spans=self._redacted.spans,
            request_sha256=self._request_hash.of(body),
            request_bytes=len(body),
        )

    def _parameters_and_body_for_log(self) -> tuple[dict[str, Any], bytes]:
        """Return the parameters for the log and the bytes that they produce: the sent bytes, unless the route contains
        a secret.

        A key in `extra_body` must reach the provider but must not be logged.
        """
        redacted, logged = _redacted(self._parameters, self._redactor)
        is_same = redacted.key == self._parameters.key
        return logged, self._body if is_same else self._adapter.body(self._redacted.prompt, redacted)

    def _end_log(self, status: LLMCallStatus, error: str = "", error_type: str = "") -> LLMLog:
        log = self._log
        log.status, log.error, log.error_type, log.duration_ms = status, error[:2000], error_type, self._elapsed_ms()
        return log

    def _log_success(self, result: LLMTurnResult) -> LLMLog:
        log, usage = self._end_log(LLMCallStatus.SUCCEEDED), result.usage
        log.finish_reason = result.finish_reason[:50]
        log.usage_estimated = not usage.input_tokens  # a provider that counts no input reports no usage
        self._set_usage(self._usage_meter.usage(usage) if log.usage_estimated else usage)
        count_call(log)
        return log

    def _settle_without_answer(self, *, was_read: bool) -> None:
        """Save the log and charge an estimate: input is billed even if no answer arrives.

        Rejected requests, and requests that never arrived, cost nothing. After an interruption or a timeout the
        provider may have read a request that was sent (`was_read`).
        """
        if was_read or self._usage_meter.has_begun:
            self._log.usage_estimated = True
            self._set_usage(self._usage_meter.usage(self._parser.usage))
        with transaction.atomic():
            self._log.save()
            self._allowance.settle(self._log)
        count_call(self._log)
        self._observer.used(self._log)

    def _set_usage(self, usage: Usage) -> None:
        log = self._log
        log.input_tokens, log.cached_tokens = usage.input_tokens, usage.cached_tokens
        log.cache_write_tokens = usage.cache_write_tokens
        log.output_tokens, log.thinking_tokens = usage.output_tokens, usage.thinking_tokens
        log.cost_usd = prices.cost(usage, self._price)

    def _elapsed_ms(self) -> int:
        return round((time.monotonic() - self._started) * 1000)


@lru_cache(maxsize=64)
def _redacted(parameters: RouteParameters, redactor: Redactor) -> tuple[RouteParameters, dict[str, Any]]:
    """Return the parameters, redacted only if they contain a secret, and their form in the log."""
    values = parameters.as_json()
    redacted_values = redactor.redacted_json(values)
    logged = parameters if redacted_values == values else RouteParameters.from_json(redacted_values)
    return logged, logged.as_json()


def _reserve_when_available(allowance: Allowance, size: CallSize, observer: Observer, run: Runner) -> None:
    """Reserve the cost of a call, waiting while other calls have reserved the budget.

    Raises: BudgetExceeded, or the exception that interrupts a wait of `run`.
    """
    blocking = allowance.reserve(size)
    if blocking is None:
        return
    observer.waiting(blocking.sentence_when_reserved)
    pause = SHORTEST_WAIT
    while blocking is not None:
        run(asyncio.sleep(pause * (0.5 + random.random())))  # noqa: S311  only spreads the checks
        pause = min(2 * pause, LONGEST_WAIT)
        blocking = allowance.blocking_limit(size) or allowance.reserve(size)
