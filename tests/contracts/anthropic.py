"""Anthropic's Messages API: a model with a thinking budget, and one that always thinks adaptively."""

from dataclasses import replace

from tests.contracts import anthropic_messages, anthropic_request
from tests.contracts.anthropic_stream import anthropic_answer, anthropic_error
from tests.contracts.contract import Contract

SONNET_4_5 = Contract(
    name="claude_sonnet_4_5",
    model="claude-sonnet-4-5",
    protocols=("anthropic_native", "anthropic_xml"),
    rules=(*anthropic_request.RULES, *anthropic_messages.RULES),
    answer=anthropic_answer,
    error=anthropic_error,
    path="",
    endpoint="/v1/messages",
)
OPUS_5_5 = replace(SONNET_4_5, name="claude_opus_5_5", model="claude-opus-5-5")
