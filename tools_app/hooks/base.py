"""The base class of hooks, their input and their verdicts."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools_app.contract.capabilities import AskModel


@dataclass(frozen=True, kw_only=True)
class Refuse:
    """A refusal. Before the call, it does not run; after it, the entire result is withheld. Model and people see
    `reason`.
    """

    reason: str
    code: str = ""


@dataclass(frozen=True, kw_only=True)
class Annotate:
    """A note that is added to the call's result."""

    note: str


@dataclass(frozen=True, kw_only=True)
class AskApproval:
    """A request for a person's approval. It is not a valid verdict after a call, because the call has already run."""

    reason: str


Verdict = Refuse | Annotate | AskApproval
Answer = Verdict | None | Awaitable[Verdict | None]


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of the model, with the arguments that the tool will get and the danger that it was judged to have.

    `words` is the text that came with the call. People see it if the call is a `message`.
    """

    tool: str
    arguments: Mapping[str, Any]
    danger: str
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class CallOutcome:
    """The outcome of a call before it is shown. `status` is succeeded or failed."""

    status: str
    content: str


@dataclass(frozen=True, kw_only=True)
class PastCall:
    """An earlier call of the task, its result, and the name of the hook that refused it, if one did."""

    tool: str
    arguments: Mapping[str, Any]
    status: str
    content: str
    refused_by: str = ""


@dataclass(frozen=True, kw_only=True)
class HookContext:
    """The task of a call. `request` and `past` return only texts that the model still sees in full, not outlines."""

    session: str
    task: str
    person: str
    request: Callable[[], str]
    past: Callable[[], Sequence[PastCall]]
    ask_model: AskModel


class Hook:
    """The base class of hooks. Methods that are not overridden are not called.

    A method is either a coroutine function, which must not block, or an ordinary function, which runs in its own
    thread. It has `limit_s` seconds. If it raises or takes longer, the call is refused before execution; after it and
    before completion, the hook is skipped, and this is shown.

    While a hook with `filters_output` is active, nothing is streamed before the hook has passed it, and a text on which
    the hook fails is withheld. A plugin with `for_all` checks every call. Another plugin only checks calls of agents
    whose settings name it; administrators read its `summary` there.
    """

    name = ""
    summary = ""
    limit_s = 5.0
    filters_output = False
    for_all = True

    def before_execution(self, call: Call, around: HookContext) -> Answer:
        """Check a known, valid and allowed call before it runs."""

    def after_execution(self, call: Call, outcome: CallOutcome, around: HookContext) -> Answer:
        """Check the result before it is appended."""

    def before_completion(self, call: Call, around: HookContext) -> Answer:
        """Check the `message` that delivers the task's result, after `before_execution`."""


def overrides(hook: Hook, method: str) -> bool:
    """Return whether the hook overrides this method."""
    return getattr(type(hook), method) is not getattr(Hook, method)


async def run_hook(hook: Hook, method: str, *arguments: Any) -> Verdict | None:
    """Call a method of the hook and return its verdict.

    Raises: TimeoutError; TypeError if it returns no verdict; and any error of the hook.
    """
    function = getattr(hook, method)
    async with asyncio.timeout(hook.limit_s):
        if inspect.iscoroutinefunction(function):
            verdict = await function(*arguments)
        else:
            verdict = await _in_thread(function, *arguments)
    if verdict is not None and not isinstance(verdict, Refuse | Annotate | AskApproval):
        raise TypeError(f"{hook.name} answered with {type(verdict).__name__}")
    return verdict


def _in_thread(function: Callable[..., Any], *arguments: Any) -> "asyncio.Future[Any]":
    """Run the function in its own daemon thread, so that a hook that hangs blocks no other."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(setter: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            setter(value)

    def run() -> None:
        try:
            setter, value = future.set_result, function(*arguments)
        except Exception as error:  # noqa: BLE001  raised where the hook is awaited
            setter, value = future.set_exception, error
        loop.call_soon_threadsafe(settle, setter, value)

    threading.Thread(target=run, name="hook", daemon=True).start()
    return future
