"""A hook, what it is asked, and what it may answer."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools_app.contract.capabilities import AskModel


@dataclass(frozen=True, kw_only=True)
class Refuse:
    """The call does not run; after it ran, its result is withheld whole. Model and people read the `reason`."""

    reason: str
    code: str = ""


@dataclass(frozen=True, kw_only=True)
class Annotate:
    """`note` is said with the call's result."""

    note: str


@dataclass(frozen=True, kw_only=True)
class AskApproval:
    """A person must approve the call. What has run already, nobody can approve: after a call, this is no answer."""

    reason: str


Verdict = Refuse | Annotate | AskApproval
Answer = Verdict | None | Awaitable[Verdict | None]


@dataclass(frozen=True, kw_only=True)
class Call:
    """What the model wants to do: arguments as the tool will get them, the danger as it was judged.

    `words` is what it said beside the call. Those beside a `message` are shown to people.
    """

    tool: str
    arguments: Mapping[str, Any]
    danger: str
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a call, before anyone has seen it. `status`: succeeded or failed."""

    status: str
    content: str


@dataclass(frozen=True, kw_only=True)
class PastCall:
    """An earlier call of the task and its result. `refused_by` is the name of the hook that refused it, if one did."""

    tool: str
    arguments: Mapping[str, Any]
    status: str
    content: str
    refused_by: str = ""


@dataclass(frozen=True, kw_only=True)
class HookContext:
    """The task around a call. `request` and `past` read what a model still sees whole: not what became one line."""

    session: str
    task: str
    person: str
    request: Callable[[], str]
    past: Callable[[], Sequence[PastCall]]
    ask_model: AskModel


class Hook:
    """The base of every hook; a method that is not overridden is not asked.

    A method may be a coroutine function, which must not block; an ordinary one runs in a thread of its own. It has
    `limit_s` seconds. One that raises or takes longer refuses before execution, and is skipped, visibly, after it and
    before completion. `filters_output`: while such a hook is on, nothing is streamed before the hook has passed it, and
    what it failed on is withheld. A plugin that is `for_all` looks at every call; another only at those of agents whose
    settings name it, where administrators read its `summary`.
    """

    name = ""
    summary = ""
    limit_s = 5.0
    filters_output = False
    for_all = True

    def before_execution(self, call: Call, around: HookContext) -> Answer:
        """Before a call that is known, valid and allowed."""

    def after_execution(self, call: Call, outcome: Outcome, around: HookContext) -> Answer:
        """Before the result is appended."""

    def before_completion(self, call: Call, around: HookContext) -> Answer:
        """Before the `message` that hands over the task's result, after `before_execution`."""


def answers(hook: Hook, method: str) -> bool:
    """Whether the hook has such a method of its own."""
    return getattr(type(hook), method) is not getattr(Hook, method)


async def ask(hook: Hook, method: str, *about: Any) -> Verdict | None:
    """Raises TimeoutError, TypeError for what is no verdict, or whatever the hook raises."""
    work = getattr(hook, method)
    async with asyncio.timeout(hook.limit_s):
        said = await (work(*about) if inspect.iscoroutinefunction(work) else _in_thread(work, *about))
    if said is not None and not isinstance(said, Refuse | Annotate | AskApproval):
        raise TypeError(f"{hook.name} answered with {type(said).__name__}")
    return said


def _in_thread(work: Callable[..., Any], *about: Any) -> "asyncio.Future[Any]":
    """In a thread that nothing waits for when its time is over: a hook that hangs in it blocks no other."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_it(value)

    def run() -> None:
        try:
            outcome = (future.set_result, work(*about))
        except Exception as error:  # noqa: BLE001  it is raised where the hook is awaited
            outcome = (future.set_exception, error)
        loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, name="hook", daemon=True).start()
    return future
