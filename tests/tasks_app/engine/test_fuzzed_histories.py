"""Random histories: every request fits, every call has its result, the same input gives the same bytes."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm_app.adapters.anthropic_native import AnthropicNative
from llm_app.adapters.base import Adapter, RouteParameters
from llm_app.adapters.json_schema import JSONSchema
from llm_app.adapters.openai_native import OpenAINative
from llm_app.adapters.xml_mode import AnthropicXML
from llm_app.types import Message, Prompt
from tasks_app.engine.compaction.plan import CutPlanner, Strategies
from tasks_app.engine.compaction.window import Window
from tasks_app.models import ContextEntry
from tasks_app.record import Cut, RequestMessages, message_of, tokens
from tasks_app.record.cut import messages_of
from tasks_app.record.turns import group
from tests.tasks_app.engine.test_compaction import History, template

PARAMETERS = RouteParameters(model="m", max_tokens=400)
TEXTS = [
    "ok",
    "plain words " * 30,
    "ü☂" * 400,
    '{"key": "value\\n"}' * 60,
    "</step></compacted_history>" * 20,
    "\n" * 200,
]


class Session:
    """A growing record and its requests, as the engine builds them, without a database."""

    def __init__(self, mover: CutPlanner) -> None:
        self.mover, self.cut, self.moves = mover, Cut(), 0
        self.entries: list[ContextEntry] = []
        self.conversation = RequestMessages(self.cut)

    def append(self, entries: Sequence[ContextEntry]) -> None:
        for entry in entries:
            self.entries.append(entry)
            self.conversation.add(entry, message_of(entry))

    def request(self) -> list[Message] | None:
        """Return the messages of the next request, or None if the newest turn alone is too long."""
        if self._length > self.mover.window.full:
            move = self.mover.move(self.entries, self.cut)
            if move.size > self.mover.window.guard:
                return None
            self.moves += (move.cut.seq, move.cut.text) != (self.cut.seq, self.cut.text)
            self._see(move.cut)
        return self.conversation.messages

    @property
    def _length(self) -> float:
        return self.conversation.size * self.mover.factor

    def _see(self, cut: Cut) -> None:
        self.cut, self.conversation = cut, RequestMessages(cut)
        for entry in self.entries:
            if entry.seq > cut.seq:
                self.conversation.add(entry, message_of(entry))

    def check(self, messages: Sequence[Message]) -> None:
        assert self._length <= self.mover.window.guard
        assert unpaired(messages) == []
        assert messages[0].role == "user"
        behind = [entry for entry in self.entries if entry.seq > self.cut.seq]
        rebuilt = messages_of(Cut.from_text(self.cut.seq, self.cut.text), behind)
        assert body(rebuilt) == body(messages)  # as in a replay


def unpaired(messages: Sequence[Message]) -> list[str]:
    """Return ids of calls without their result right after them, and of results without their call."""
    wrong, open_call = [], ""
    for message in messages:
        if (open_call or message.role == "tool") and message.tool_call_id != open_call:
            wrong.append(open_call or message.tool_call_id)
        open_call = message.tool_call.id if message.tool_call else ""
    return [*wrong, *([open_call] if open_call else [])]


def body(messages: Sequence[Message]) -> bytes:
    return OpenAINative().body(Prompt(system="s", tools=(), messages=messages), PARAMETERS)


def window(size: int) -> Window:
    return Window(size=size, head=size // 8, reserve=size // 8, full_percent=80, tail_percent=15)


def turns_of(history: History) -> Iterator[Sequence[ContextEntry]]:
    return (turn.entries for turn in group(history.entries))


OUTLINE = 120  # tokens: the minimum for the turns before the newest


@st.composite
def histories(draw: st.DrawFn) -> History:
    history = History()
    for _ in range(draw(st.integers(1, 60))):
        text = draw(st.sampled_from(TEXTS)) * draw(st.sampled_from([1, 1, 1, 5]))
        match draw(st.sampled_from(["user", "step", "step", "step", "result", "ask", "retry", "partial"])):
            case "user":
                history.user(text).add("system_reminder", "Today is Sunday.")
            case "step":
                history.step("file", result=text, path=text[:60])
            case "retry":
                history.add("no_tool_call_retry", text).add("system_reminder", "missing")
            case "partial":
                history.add("ai_message", text)
            case kind:
                history.said(kind, text)
    return history


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    histories(),
    st.sampled_from([1_000, 3_000, 10_000]),
    st.sampled_from([0.5, 1.0, 1.7]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_every_request_fits_and_is_whole_and_is_the_same_when_made_again(
    history: History, size: int, factor: float, prunes: bool, shortens: bool, summed: bool
) -> None:
    strategies = Strategies(prunes=prunes, shortens=shortens, is_summed_up=summed)
    mover = CutPlanner(window=window(size), factor=factor, template=template, strategies=strategies)
    one, other = Session(mover), Session(mover)
    one.append(History().user("Begin.").entries)
    other.append(one.entries)
    for entries in turns_of(history):
        moved_up = [_moved_up(entry) for entry in entries]
        one.append(moved_up)
        other.append(moved_up)
        messages = one.request()
        assert (messages is None) == (other.request() is None)
        if messages is None:
            newest = sum(tokens.entry_tokens(entry) for entry in entries)
            assert (newest + OUTLINE) * factor > mover.window.guard
            return
        one.check(messages)
        assert body(messages) == body(other.conversation.messages)


def _moved_up(entry: ContextEntry) -> ContextEntry:
    entry.seq += 1
    return entry


@pytest.mark.parametrize("strategies", [Strategies(), Strategies(prunes=True, shortens=True)], ids=["lines", "views"])
def test_a_million_tokens_pass_through_a_window_of_a_hundred_thousand(strategies: Strategies) -> None:
    chance = random.Random(7)
    history = History().user("Begin.")
    size = 0
    while size < 1_000_000:
        before = len(history.entries)
        if chance.random() < 0.05:
            history.user(chance.choice(TEXTS) * chance.choice([1, 20]))
        else:
            history.step(result=chance.choice(TEXTS) * chance.randint(1, 8), path=f"{before}.go")
        size += sum(tokens.entry_tokens(entry) for entry in history.entries[before:])
    session = Session(CutPlanner(window=window(100_000), factor=1.0, template=template, strategies=strategies))
    breaks, sent = 0, b""
    for number, entries in enumerate(turns_of(history)):
        session.append(entries)
        before = session.moves
        messages = session.request()
        assert messages is not None
        if session.moves > before:
            assert session.conversation.size <= session.mover.window.room
        if session.moves > before or number % 50 == 0:
            session.check(messages)
            now = body(messages)
            breaks += not now.startswith(sent.removesuffix(b"]}"))
            sent = now
    assert 10 < session.moves < 60
    assert breaks <= session.moves


def test_the_newest_words_of_the_person_survive_every_move() -> None:
    session = Session(CutPlanner(window=window(3_000), factor=1.0, template=template))
    history = History().user("The wish that counts.")
    for number in range(200):
        history.step(result="x" * 600, path=f"{number}.go")
    for entries in turns_of(history):
        session.append(entries)
        messages = session.request()
        assert messages is not None
        assert any("The wish that counts." in message.content for message in messages)
    assert session.moves > 5


def test_a_view_is_unchanged_until_the_next_move() -> None:
    mover = CutPlanner(window=window(10_000), factor=1.0, template=template, strategies=Strategies(shortens=True))
    session = Session(mover)
    history = History().user("Begin.")
    for number in range(60):
        history.step(result="package main\n" * 40, path=f"{number}.go")
    texts = set()
    for entries in turns_of(history):
        session.append(entries)
        session.request()
        if session.cut.views:
            texts.add(session.cut.text)
    assert texts
    assert len(texts) <= session.moves
    assert replace(session.cut, masked_with="x").text == session.cut.text


@pytest.mark.parametrize(
    "adapter", [OpenAINative(), AnthropicNative(), AnthropicXML(), JSONSchema()], ids=lambda adapter: adapter.name
)
def test_in_every_protocol_the_outline_is_the_first_words_of_a_user(adapter: Adapter) -> None:
    history = History().user("Begin.")
    for number in range(20):
        history.step(result="x" * 900, path=f"{number}.go")
    session = Session(CutPlanner(window=window(3_000), factor=1.0, template=template))
    for entries in turns_of(history):
        session.append(entries)
        messages = session.request()
        assert messages is not None
    assert session.moves
    sent = json.loads(adapter.body(Prompt(system="s", tools=(), messages=messages), PARAMETERS))["messages"]
    first = next(message for message in sent if message["role"] != "system")
    assert first["role"] == "user"
    assert "<compacted_history>" in json.dumps(first)
    assert sent[-1]["role"] in ("user", "tool")
