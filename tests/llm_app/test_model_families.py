"""A model gets the field for its output limit that its family takes, and a quirk of the route decides against that."""

from typing import Any

import pytest

from llm_app.models import LLMLog, LogicalModel, Provider
from tests import strict_provider
from tests.llm_app.conftest import complete
from tests.provider import FakeProvider, openai_text

NEW = ["gpt-5.2", "gpt-5-mini-2025-08-07", "gpt-5", "o1", "o4-mini", "openai/gpt-5", "ft:o4-mini-2025-04-16:org::id"]
OTHERS = ["gpt-4.1", "gpt-4o-mini", "gpt-oss-120b", "openai/gpt-oss-20b", "olmo-2", "qwen3-32b", "gemini-2.5-pro", "m"]


def sent(model: LogicalModel, server: FakeProvider, name: str, **fields: Any) -> Any:
    model.routes.update(provider_model=name, **fields)
    complete(model)
    return server.received[-1].body


@pytest.mark.parametrize("protocol", ["openai_native", "json_schema"])
@pytest.mark.parametrize("name", NEW)
def test_a_family_that_refuses_max_tokens_does_not_get_it(
    name: str, protocol: str, model: LogicalModel, servers: list[FakeProvider]
) -> None:
    servers[0].replies = [strict_provider.like_gpt_5(lambda received: openai_text("Hello."))]
    Provider.objects.update(protocol=protocol)
    assert sent(model, servers[0], name, quirks={"strict_tools": True})["max_completion_tokens"] == 8_192
    assert LLMLog.objects.get().status == "succeeded"


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_model_gets_max_tokens(name: str, model: LogicalModel, servers: list[FakeProvider]) -> None:
    servers[0].replies = [openai_text("Hello.")]
    body = sent(model, servers[0], name)
    assert (body["max_tokens"], "max_completion_tokens" in body) == (8_192, False)


@pytest.mark.parametrize(("name", "field"), [("gpt-5.2", "max_tokens"), ("my-model", "max_completion_tokens")])
def test_a_quirk_of_the_route_decides(name: str, field: str, model: LogicalModel, servers: list[FakeProvider]) -> None:
    servers[0].replies = [openai_text("Hello.")]
    body = sent(model, servers[0], name, quirks={"max_tokens_field": field})
    assert {"max_tokens", "max_completion_tokens"} & body.keys() == {field}
