"""A task that switches providers and back: each accepts the other's history, in every protocol."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contracts import whole_tasks
from tests.contracts.anthropic import SONNET_4_5
from tests.contracts.gemini import GEMINI
from tests.contracts.openai_chat import GPT_4, GPT_5
from tests.contracts.openai_responses import RESPONSES
from tests.contracts.thinkers import DEEPSEEK, KIMI

# Each protocol before and after a native one of another family, and each family before and after another.
PAIRS = [
    ((GPT_5, "openai_native"), (SONNET_4_5, "anthropic_native")),
    ((SONNET_4_5, "anthropic_native"), (GEMINI, "openai_native")),
    ((GEMINI, "openai_native"), (DEEPSEEK, "openai_native")),
    ((DEEPSEEK, "openai_native"), (GPT_5, "openai_native")),
    ((KIMI, "openai_native"), (SONNET_4_5, "anthropic_native")),
    ((GPT_4, "json_schema"), (KIMI, "openai_native")),
    ((SONNET_4_5, "anthropic_xml"), (GPT_5, "openai_native")),
    ((GPT_5, "openai_xml"), (GEMINI, "openai_native")),
    ((RESPONSES, "openai_responses"), (SONNET_4_5, "anthropic_native")),
    ((GPT_5, "openai_native"), (RESPONSES, "openai_responses")),
    ((RESPONSES, "openai_responses"), (GEMINI, "openai_native")),
    ((GEMINI, "json_schema"), (SONNET_4_5, "anthropic_native")),
]


@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(f"{c.name}.{p}" for c, p in pair))
def test_neither_rejects_the_history_of_the_other(world: Callable[..., Any], pair: Any, turned: bool) -> None:
    made = world(*(pair[::-1] if turned else pair))
    whole_tasks.failover(made)
    made.check()
