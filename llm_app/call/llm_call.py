"""A request for one turn, the observer of its progress, and its result."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from llm_app.budgets import Allowance, BudgetTree
from llm_app.call.cached_routes import CachedRoutes
from llm_app.call.retry import Action
from llm_app.call.route_settings import TargetModel
from llm_app.errors import LLMError
from llm_app.models import LLMLog
from llm_app.redaction import Redactor
from llm_app.types import WINDOW_REASONS, Delta, LLMTurnResult, Prompt, Purpose, has_reason


@dataclass(frozen=True, kw_only=True)
class References:
    """References of the log to the parts of a prompt in the record. Blobs are named by their addresses.

    `estimated_tokens` is the estimated size of the prompt; the reported usage calibrates the next estimate.
    """

    system_blob: str = ""
    tools_blob: str = ""
    compacted_blob: str = ""
    messages_blob: str = ""
    cut_seq: int = 0
    last_seq: int = 0
    estimated_tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class StoredPrompt:
    """A prompt, and the references to its stored parts."""

    prompt: Prompt
    references: References


@dataclass(frozen=True, kw_only=True)
class LLMCall:
    """A call of a model. `prompt_for` builds and stores the prompt for the model of a route, because routes differ.

    `model` is a logical model; empty means the default. `user_id` determines which models are allowed and which budgets
    apply. A caller that makes several calls during a lease passes its `allowance`. With `needs_sight`, only routes that
    accept images are used. A caller that makes many calls of one model passes its `routes` until a setting changes. The
    budgets of the task's `tree` apply, too.
    """

    purpose: Purpose
    prompt_for: Callable[[TargetModel], StoredPrompt]
    redactor: Redactor | None = None
    model: str = ""
    user_id: int | None = None
    task_id: UUID | None = None
    session_id: UUID | None = None
    agent_version_id: int | None = None
    iteration: int = 0
    allowance: Allowance | None = None
    needs_sight: bool = False
    routes: CachedRoutes | None = None
    tree: BudgetTree | None = None


class Observer:
    """An observer of a call, called in the caller's thread. This base class ignores everything."""

    def attempt(self, provider: str, silence_s: float) -> None:
        """A new attempt begins, so discard streamed text.

        The attempt times out after `silence_s` seconds without a byte.
        """

    def delta(self, delta: Delta) -> None: ...

    def failed(self, error: LLMError, then: Action, delay: float) -> None:
        """An attempt failed; `then` is the next action, `delay` seconds later."""

    def adapted(self, sentence: str) -> None:
        """The provider rejected a parameter, and the call is sent again in another form."""

    def waiting(self, why: str) -> None:
        """The call waits for budget that other calls have reserved."""

    def used(self, log: LLMLog) -> None:
        """An attempt without an answer was logged. It may have cost something."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """A turn and its unsaved log. The caller saves the log in the transaction that stores the turn.

    `window_is_full`: the window, not the output limit, ended the turn before its call was complete.
    """

    result: LLMTurnResult
    log: LLMLog
    allowance: Allowance
    window_is_full: bool = False

    @property
    def names_window(self) -> bool:
        """Return whether the provider itself says that the window ended the turn."""
        return has_reason(self.result.finish_reason, WINDOW_REASONS)

    def save(self) -> None:
        """Save the log and settle the reservation, inside the caller's transaction if there is one."""
        with transaction.atomic(savepoint=False):
            self.log.save()
            self.allowance.settle(self.log)
