"""One turn of the LLM: from the context to the one call that will run."""

from django.utils.translation import gettext_noop

from llm_app import errors
from llm_app.call import Completion, LLMCall, References, Runner, StoredPrompt, TargetModel, client
from llm_app.types import Purpose
from tasks_app.engine.compaction import summary
from tasks_app.engine.compaction.apply import entries_to_cut, make_room, too_small
from tasks_app.engine.compaction.summary import SummaryDue
from tasks_app.engine.compaction.window import Measured, measure
from tasks_app.engine.observer import LLMObserver
from tasks_app.engine.reply import stage_first_call
from tasks_app.models import Cause, ContextEntry, ContextType, FailureCode, Session
from tasks_app.record import Draft
from tasks_app.run import Aborted, Failed, LimitExceeded, TaskContext, reminders
from tasks_app.run.open_call import OpenCall
from tasks_app.run.usage import FEW_PAGES
from tasks_app.runtime import cancellation
from tasks_app.runtime.cancellation import WorkAborted

_CODES: list[tuple[type[errors.LLMError], FailureCode]] = [
    (errors.AuthenticationFailed, FailureCode.AUTHENTICATION),
    (errors.NoCredit, FailureCode.AUTHENTICATION),
    (errors.RegionUnsupported, FailureCode.AUTHENTICATION),
    (errors.AccessDenied, FailureCode.AUTHENTICATION),
    (errors.ContextTooLong, FailureCode.CONTEXT_OVERFLOW),
    (errors.BadRequest, FailureCode.STRUCTURAL_ERROR),
    (errors.UnreadableReply, FailureCode.STRUCTURAL_ERROR),
    (errors.ToolsUnsupported, FailureCode.STRUCTURAL_ERROR),
    (errors.LLMError, FailureCode.PROVIDER_UNAVAILABLE),
]

_LEFT_OUT = gettext_noop("This message, and what followed it, will not be sent to a model again.")
_REFUSED_AGAIN = gettext_noop(
    "If this happens to every message, the filter objects to something earlier: start a new session, or branch off "
    "before it."
)


class StepRequests:
    """The requests of one iteration.

    `prompt_for` builds the prompt. `shorten` cuts it if a provider finds it too long.
    """

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._latest: TargetModel | None = None
        self._wants_summary = context.settings.agent is not None and context.settings.agent.summarise
        self._summary: Draft | None = None

    def prompt_for(self, recipient: TargetModel) -> StoredPrompt:
        """Return the prompt for a route, and move the cut if needed.

        Raises: Failed if a move does not help, SummaryDue if a summary should be written first.
        """
        self._latest = recipient
        measured = measure(self._context, recipient)
        if measured.window.is_too_small:
            raise too_small(measured.window)
        if measured.is_full and self._wants_summary:
            raise SummaryDue()
        self._wants_summary = False
        if measured.is_full:
            make_room(self._context, recipient, Cause.FILLED, self._summary)
            self._summary = None
            measured = measure(self._context, recipient)
        elif self._remind_of(measured):
            measured = measure(self._context, recipient)
        self._context.window_filling = measured.filling
        return self._stored_prompt(measured)

    def _remind_of(self, measured: Measured) -> bool:
        """Append a reminder if the window is nearly full. Return whether it was due.

        A window that holds only a few results is full too often for it.
        """
        context, full = self._context, measured.window.full
        if measured.length * 8 < full * 7 or full < FEW_PAGES * context.settings.result_tokens:
            return False
        draft = reminders.window(context.history.newest, measured.conversation.cut.seq)
        if draft is not None:
            context.commit(draft)
        return draft is not None

    def summarize(self, run: Runner) -> None:
        """Ask a model, once, for a summary of the entries that the next move of the cut removes.

        Raises: the exceptions that interrupt `run`.
        """
        assert self._latest is not None
        self._wants_summary = False
        if entries := entries_to_cut(self._context, self._latest):
            summary.capture_facts(self._context, entries, run)
            self._summary = summary.summarize(self._context, entries, run)

    def shorten(self) -> bool:
        """Move the cut of the newest prompt, whatever we had counted. Return whether it moved.

        Raises: Failed.
        """
        assert self._latest is not None
        return make_room(self._context, self._latest, Cause.REFUSED)

    def _stored_prompt(self, measured: Measured) -> StoredPrompt:
        context, head, cut = self._context, measured.head.prompt, measured.conversation.cut
        references = References(
            system_blob=context.blob(head.system),
            tools_blob=context.blob(measured.head.dump_tools),
            compacted_blob=context.blob(cut.text) if cut.text else "",
            cut_seq=cut.seq,
            last_seq=context.history.last_seq,
            estimated_tokens=measured.estimated,
        )
        return StoredPrompt(prompt=head.with_messages(measured.conversation.messages), references=references)


def think(context: TaskContext) -> OpenCall:
    """Ask the LLM for the next call.

    Raises: NoToolCall, Aborted, LimitExceeded, Failed.
    """
    observer = LLMObserver(context, streams_text=not context.settings.filters_output)
    try:
        completion = _complete(context, observer)
    except WorkAborted:
        observer.stream.withdraw()
        raise Aborted(*observer.interrupted()) from None
    except errors.ContentRefused as error:
        raise _content_refused(context, error, observer.failed_call) from error
    except errors.LLMError as error:
        raise failure_of(error, observer.failed_call) from error
    except errors.BudgetExceeded as error:
        raise LimitExceeded(FailureCode.BUDGET_EXCEEDED, str(error)) from error
    finally:
        cancellation.end_provider_wait(context.task.id)
    context.calls.add_answered(completion)
    context.calibration.learn(completion.log)
    context.stage(iteration=context.task.iteration + 1)
    log = completion.log
    limit, used = log.parameters["max_tokens"], log.output_tokens
    return stage_first_call(context, completion.result, observer, str(log.id), limit, used)


def _complete(context: TaskContext, observer: LLMObserver) -> Completion:
    """Call the model. A prompt that a provider finds too long, or that leaves no room for an answer, is shortened once.

    Raises: ContextTooLong if the provider still says so.
    """
    requests = StepRequests(context)
    try:
        completion = _ask_model(context, requests, observer)
        if not completion.window_is_full or not _shorten_after(completion, requests, observer):
            return completion
    except errors.ContextTooLong:
        if not requests.shorten():
            raise
    completion = _ask_model(context, requests, observer)
    if completion.window_is_full and completion.names_window:
        _discard(completion, observer)
        raise errors.ContextTooLong(completion.result.finish_reason)
    return completion


def _shorten_after(completion: Completion, requests: StepRequests, observer: LLMObserver) -> bool:
    """Shorten the prompt after an answer that filled the window. Return False if the answer is used instead.

    Raises: ContextTooLong or Failed if the provider says that the window is full, and nothing can be shortened.
    """
    try:
        moved = requests.shorten()
    except Failed:
        if not completion.names_window:
            return False
        _discard(completion, observer)
        raise
    if moved or completion.names_window:
        _discard(completion, observer)
    if not moved and completion.names_window:
        raise errors.ContextTooLong(completion.result.finish_reason)
    return moved


def _discard(completion: Completion, observer: LLMObserver) -> None:
    """Save the log of an answer that is not used, and report it to people."""
    completion.save()
    observer.window_filled(completion.log)


def _ask_model(context: TaskContext, requests: StepRequests, observer: LLMObserver) -> Completion:
    """Call the model once. If a summary is due first, a call for it precedes."""
    run = context.interruption
    call = LLMCall(
        purpose=Purpose.STEP,
        prompt_for=requests.prompt_for,
        redactor=context.secrets.redactor,
        model=context.model,
        user_id=context.task.started_by_id,
        task_id=context.task.id,
        session_id=context.session.id,
        agent_version_id=context.agent_version_id,
        iteration=context.task.iteration + 1,
        allowance=context.allowance,
        routes=context.settings.routes,
    )
    try:
        return client.complete(call, observer=observer, run=run)
    except SummaryDue:
        requests.summarize(run)
        return client.complete(call, observer=observer, run=run)


def failure_of(error: errors.LLMError, llm_call: str = "") -> Failed:
    """Return the failure of the task. Its sentence never contains the provider's text, which `llm_call` leads to."""
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    return Failed(code, error.sentence, llm_call=llm_call)


def _content_refused(context: TaskContext, error: errors.ContentRefused, llm_call: str) -> Failed:
    """Return the failure of a task that a provider's filter refused. Later requests leave its entries out.

    Otherwise the filter would refuse each of them. The entries stay in the record, marked `left_out`. The reminder of
    a refused task right before this one is left out, too: the new one counts the messages of both.
    """
    session = context.session
    in_task = ContextEntry.objects.in_session(session).filter(task=context.task)
    entries = list(in_task.only("seq", "context_type", "metadata"))
    messages = max(1, sum(entry.context_type == ContextType.USER_MESSAGE for entry in entries))
    earlier = next((entry for entry in reversed(context.history.entries) if entry.task_id != context.task.pk), None)
    was_refused = earlier is not None and earlier.metadata.get("kind") == "left_out"
    if earlier is not None and was_refused:
        messages += earlier.metadata.get("messages", 1)
        entries.insert(0, earlier)
    left_out = [*session.left_out, [entries[0].seq, entries[-1].seq]]

    def leave_out() -> None:
        Session.objects.filter(pk=session.pk).update(left_out=left_out)
        for entry in entries:
            entry.metadata["left_out"] = True
        ContextEntry.objects.bulk_update(entries, ["metadata"], batch_size=500)

    detail = " ".join([error.sentence, _LEFT_OUT, *([_REFUSED_AGAIN] if was_refused else [])])
    reminder = reminders.left_out(messages)
    return Failed(FailureCode.CONTENT_REFUSED, detail, reminder, llm_call=llm_call, extra_write=leave_out)
