"""The cases of each protocol over real HTTP: a turn or one typed error, never anything else."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from llm_app import errors
from llm_app.types import Delta, LLMTurnResult
from tests.llm_app.conftest import Impatient
from tests.llm_app.protocol_case import Case, all_cases
from tests.provider import FakeProvider, Reply, running


@pytest.fixture(scope="module")
def server() -> Iterator[FakeProvider]:
    with running() as provider:
        yield provider


def ask(server: FakeProvider, case: Case, reply: Reply) -> tuple[LLMTurnResult, list[Delta]]:
    server.replies = [reply]
    adapter, parser, deltas = case.adapter, case.parser(), []
    body = adapter.body(case.prompt, case.parameters)
    with closing(adapter.events(body, case.endpoint(server.base_url), Impatient())) as events:
        for event in events:
            deltas += parser.feed(event)
            if parser.done:
                break
    return parser.result(), deltas


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_an_answer_gives_a_turn_or_a_typed_error(server: FakeProvider, case: Case) -> None:
    if case.error:
        with pytest.raises(errors.LLMError) as caught:
            ask(server, case, case.reply)
        assert type(caught.value).__name__ == case.error
    else:
        case.check(*ask(server, case, case.reply))
