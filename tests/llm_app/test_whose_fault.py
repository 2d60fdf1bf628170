"""The cause of a rejection with an ambiguous status: the key, the model, the conversation or the answer."""

import json
from typing import Any

import pytest

from llm_app import errors
from llm_app.models import BreakerChange
from tests.llm_app.conftest import complete
from tests.provider import Reply, openai_text

pytestmark = pytest.mark.django_db


def refusal(status: int, **error: Any) -> Reply:
    return Reply(status=status, chunks=[json.dumps({"error": error}).encode()])


# Sources: github.com/Aider-AI/aider/issues/1903 (OpenAI); openrouter.ai/docs/api/reference/errors-and-debugging.
ONE_MODEL = refusal(403, message="Project `p` does not have access to model `m`", code="model_not_found")
ONE_CONVERSATION = refusal(403, message="m requires moderation on OpenAI. Your input was flagged for x.", code=403)

FILTER = {
    "message": "The response was filtered due to Azure OpenAI's content management policy.",
    "code": "content_filter",
}
FILTERED = [
    refusal(400, **FILTER),
    Reply(chunks=[b"data: " + json.dumps({"error": FILTER}).encode() + b"\n\n"]),
    refusal(400, type="invalid_request_error", message="Output blocked by content filtering policy"),
    refusal(400, code="data_inspection_failed", message="Input data may contain inappropriate content."),
]

# Source: github.com/groq/groq-typescript/issues/28.
ONE_ANSWER = {
    "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
    "type": "invalid_request_error",
    "code": "tool_use_failed",
    "failed_generation": "<function=plan{}</function>",
}


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (ONE_MODEL, errors.ModelNotFound),
        (ONE_CONVERSATION, errors.ContentRefused),
        *((reply, errors.ContentRefused) for reply in FILTERED),
    ],
    ids=["one model", "one conversation", "azure", "azure in the stream", "anthropic", "dashscope"],
)
def test_a_rejection_with_an_accepted_key_opens_no_breaker(model, servers, reply, kind):
    servers[0].replies = [reply]
    with pytest.raises(kind):
        complete(model)
    assert not BreakerChange.objects.exists()


def test_any_other_403_concerns_the_key(model, servers):
    servers[0].replies = [refusal(403, message="Country, region, or territory not supported")]
    with pytest.raises(errors.AuthenticationFailed):
        complete(model)
    assert BreakerChange.objects.get().after == "open"


@pytest.mark.parametrize(
    "reply",
    [refusal(400, **ONE_ANSWER), Reply(chunks=[b"data: " + json.dumps({"error": ONE_ANSWER}).encode() + b"\n\n"])],
    ids=["before the stream", "in the stream"],
)
def test_an_unreadable_call_at_groq_is_retried(model, servers, reply):
    servers[0].replies = [reply, openai_text("fine")]
    assert complete(model) == "fine"


def test_the_request_repeated_in_an_error_does_not_count(model, servers):
    fault = {"loc": ["body", "messages", 1], "msg": "Field required", "input": "Why insufficient_quota? " + 9_000 * "x"}
    servers[0].replies = [Reply(status=422, chunks=[json.dumps({"detail": [fault]}).encode()])]
    with pytest.raises(errors.BadRequest):
        complete(model)
    assert not BreakerChange.objects.exists()


def test_a_truncated_error_still_has_its_reason(model, servers):
    servers[0].replies = [refusal(400, message="prompt is too long: 250017 tokens > 200000 maximum", input=9_000 * "x")]
    with pytest.raises(errors.ContextTooLong):
        complete(model)


@pytest.mark.parametrize("status", [409, 425, 498])
def test_transient_conflicts_are_retried(model, servers, status):
    """Sources: github.com/openai/openai-python (409), RFC 8470 (425), console.groq.com/docs/errors (498)."""
    servers[0].replies = [Reply(status=status), openai_text("fine")]
    assert complete(model) == "fine"
