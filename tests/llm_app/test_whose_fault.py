"""The cause of a rejection with an ambiguous status: the key, the model, the conversation or the answer."""

import json
from typing import Any

import pytest

from llm_app import errors
from llm_app.models import BreakerChange
from llm_app.transport.http_errors import error_for
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


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Country, region, or territory not supported", errors.RegionUnsupported),
        ("You do not have permission to do this.", errors.AccessDenied),
        ("You've reached your weekly (7-day) usage limit.", errors.AllowanceSpent),
        ("Insufficient account balance", errors.NoCredit),
    ],
)
def test_any_other_403_leaves_the_key_alone(model, servers, words, kind):
    servers[0].replies = [refusal(403, message=words)]
    with pytest.raises(kind) as caught:
        complete(model)
    assert "API key" not in caught.value.sentence
    assert not BreakerChange.objects.exists()


NO_CREDIT = [
    (429, "Your account org-x<ak-y> is suspended, please check your plan and billing details"),  # Kimi
    (429, "You exceeded your current quota, please check your plan and billing details."),  # OpenAI
    (429, "Insufficient balance or no resource package. Please recharge."),  # Z.ai
    (400, "Access denied, please make sure your account is in good standing."),  # DashScope
    (402, "This request requires more credits, or fewer max_tokens."),  # OpenRouter
    (500, "insufficient balance (1008)"),  # MiniMax: github.com/MiniMax-AI/MiniMax-M2/issues/62
    (402, "Something else"),
]
ALLOWANCES = [
    (429, "Usage limit reached for 5 hour. Your limit will reset at 2026-12-09 05:38:28", "2026-12-09 05:38"),
    (429, "Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-12-09 05:38:28", "2026-12-09 05:38"),
    (
        400,
        "You have reached your specified API usage limits. You will regain access on 2099-12-01 at 00:00 UTC.",
        "2099",
    ),
    (429, "Rate limit reached on tokens per day (TPD): Limit 100000. Please try again in 12m30.528s.", " UTC"),
    (429, "You have reached your usage limit. It resets in 3 hours.", " UTC"),
    (403, "You've reached your usage limit for this billing cycle. It will be refreshed in the next cycle.", ""),
    (403, "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys", ""),
    (429, "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day", ""),
]
WITHOUT_TOOLS = [
    (404, "No endpoints found that support tool use. To learn more about provider routing, visit: https://a.b/c"),
    (400, "registry.ollama.ai/library/gemma:7b does not support tools"),
    (400, "`tool calling` is not supported with this model"),
    (400, "Tools is not supported in this model. For a list of supported models, refer to https://a.b/c"),
    (400, "The model does not support tool use or function calling but tools or tool_choice have been specified."),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (400, "Function calling is not enabled for models/gemma-3-27b-it"),
]


@pytest.mark.parametrize(("status", "words"), NO_CREDIT)
def test_an_account_without_credit_is_recognised(status, words):
    assert type(error_for(status, json.dumps({"error": {"message": words}}))) is errors.NoCredit


@pytest.mark.parametrize(("status", "words", "resets"), ALLOWANCES)
def test_a_spent_allowance_names_its_reset(status, words, resets):
    error = error_for(status, json.dumps({"error": {"message": words}}))
    assert isinstance(error, errors.AllowanceSpent)
    assert resets in error.sentence
    assert ("until" in error.sentence) == bool(resets)


@pytest.mark.parametrize(("status", "words"), WITHOUT_TOOLS)
def test_a_model_without_tools_is_recognised(status, words):
    assert type(error_for(status, json.dumps({"error": {"message": words}}))) is errors.ToolsUnsupported


def test_geminis_limit_of_a_minute_is_no_lack_of_credit():
    """Source: ai.google.dev/gemini-api/docs/rate-limits."""
    words = "You exceeded your current quota, please check your plan and billing details. Please retry in 23.5s."
    body = {"error": {"code": 429, "message": words, "details": [{"violations": [{"quotaId": "RequestsPerMinute"}]}]}}
    assert type(error_for(429, json.dumps(body))) is errors.Overloaded
    body["error"]["details"] = [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]
    assert type(error_for(429, json.dumps(body))) is errors.AllowanceSpent


@pytest.mark.parametrize("damage", [b"data: {oops\n\n", b'data: {"choices": [{"del', b"data: HTTP 502\n\n"])
def test_damage_after_a_good_event_is_retried(model, servers, damage):
    begun = Reply(chunks=[b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\n', damage])
    servers[0].replies = [begun, openai_text("fine")]
    assert complete(model) == "fine"


@pytest.mark.parametrize("rest", [b"", b'data: {"choices": [], "usa', b"data: : OPENROUTER PROCESSING\n\n"])
def test_an_answer_with_its_finish_reason_is_complete(model, servers, rest):
    answer = b'data: {"choices": [{"delta": {"content": "fine"}, "finish_reason": "stop"}]}\n\n'
    servers[0].replies = [Reply(chunks=[answer, rest], headers={"Content-Length": "9999"})]
    assert complete(model) == "fine"
    assert len(servers[0].received) == 1


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
