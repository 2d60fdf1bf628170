"""A request for one turn, the observer of its progress, and its result."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from llm_app.budgets import Allowance, Tree
from llm_app.call.known_routes import KnownRoutes
from llm_app.call.retry import Action
from llm_app.call.route_settings import Recipient
from llm_app.errors import LLMError
from llm_app.models import LLMLog
from llm_app.redaction import Redactor
from llm_app.types import Delta, LLMTurnResult, Prompt, Purpose


@dataclass(frozen=True, kw_only=True)
class References:
    """Where the record has the parts of a prompt, for the log. Addresses are those of blobs.

    `estimated_tokens` is its size before any provider has counted it: what was sent calibrates what is sent next.
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
    """All that a model sees, and where it is kept."""

    prompt: Prompt
    references: References


@dataclass(frozen=True, kw_only=True)
class LLMCall:
    """`prompt_for` gives what a route's model sees: routes differ in it, and it is stored before it is sent.

    `model` is a logical model; empty means the default one. `user_id` is whose roles decide whether it may be used, and
    whose budgets bind; who makes one call after the other in a lease gives its `allowance`. `needs_sight`: only routes
    that take images. Who makes many calls of one model gives its `routes`, as long as no setting has changed. The
    budgets of the `tree` that a task stands in bind its calls.
    """

    purpose: Purpose
    prompt_for: Callable[[Recipient], StoredPrompt]
    redactor: Redactor | None = None
    model: str = ""
    user_id: int | None = None
    task_id: UUID | None = None
    session_id: UUID | None = None
    agent_version_id: int | None = None
    iteration: int = 0
    allowance: Allowance | None = None
    needs_sight: bool = False
    routes: KnownRoutes | None = None
    tree: Tree | None = None


class Observer:
    """Watches a call, in the caller's thread; the base ignores everything."""

    def attempt(self, provider: str, silence_s: float) -> None:
        """A new attempt begins; what was streamed before is void. It gives up after `silence_s` without a byte."""

    def delta(self, delta: Delta) -> None: ...

    def failed(self, error: LLMError, then: Action, delay: float) -> None:
        """An attempt failed, and what follows."""

    def adapted(self, sentence: str) -> None:
        """A parameter was refused; the call is sent again in another form."""

    def waiting(self, why: str) -> None:
        """The call waits until others have left room in a budget."""

    def used(self, log: LLMLog) -> None:
        """An attempt without an answer was logged; it may still have cost something."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """A turn and its log, unsaved: the caller saves it in the transaction that stores the turn."""

    result: LLMTurnResult
    log: LLMLog
    allowance: Allowance

    def save(self) -> None:
        """Keeps the log, and settles what was reserved for the call: in the caller's transaction, if there is one."""
        with transaction.atomic(savepoint=False):
            self.log.save()
            self.allowance.settle(self.log)
