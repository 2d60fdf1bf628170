"""The prompts of one step: for each route that is tried, one that fits its window. Kept before they are sent."""

from llm_app.call.llm_call import Recipient, References, Runner, StoredPrompt
from llm_app.stored_prompt import tools_text
from llm_app.types import Prompt
from tasks_app.engine.compaction import capture, summary
from tasks_app.engine.compaction.apply import about_to_be_cut, make_room
from tasks_app.engine.compaction.measure import Measured, measure
from tasks_app.engine.compaction.summary import SummaryDue
from tasks_app.models.context_cut import Cause
from tasks_app.record.draft import Draft
from tasks_app.run.context import TaskContext


class Requests:
    """`prompt_for` is that of the step's call; `shorten` is for a provider that finds its prompt too long."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._latest: Recipient | None = None
        self._may_ask = context.agent is not None and context.agent.summarise
        self._told: Draft | None = None

    def prompt_for(self, recipient: Recipient) -> StoredPrompt:
        """Moves the cut if it must. Raises Failed where that does not help, and SummaryDue before the first route."""
        self._latest = recipient
        measured = measure(self._context, recipient)
        if measured.is_full and self._may_ask:
            raise SummaryDue()
        self._may_ask = False
        if measured.is_full:
            make_room(self._context, recipient, Cause.FILLED, self._told)
            self._told = None
            measured = measure(self._context, recipient)
        return self._stored(measured)

    def sum_up(self, run: Runner) -> None:
        """Asks a model for what the next move of the cut takes out of sight, once. Raises what interrupts `run`."""
        assert self._latest is not None
        self._may_ask = False
        if entries := about_to_be_cut(self._context, self._latest):
            capture.capture(self._context, entries, run)
            self._told = summary.ask(self._context, entries, run)

    def shorten(self) -> bool:
        """Moves the cut of the newest prompt, whatever we had counted; whether it did. Raises Failed."""
        assert self._latest is not None
        return make_room(self._context, self._latest, Cause.REFUSED)

    def _stored(self, measured: Measured) -> StoredPrompt:
        context, head, cut = self._context, measured.prompt, measured.conversation.cut
        references = References(
            system_blob=context.blob(head.system),
            tools_blob=context.blob(tools_text(head.tools)),
            compacted_blob=context.blob(cut.text) if cut.text else "",
            cut_seq=cut.seq,
            last_seq=context.history.last_seq,
            estimated_tokens=measured.estimated,
        )
        whole = Prompt(system=head.system, tools=head.tools, messages=measured.conversation.messages)
        return StoredPrompt(prompt=whole, references=references)
