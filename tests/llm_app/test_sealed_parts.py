"""Sealed thinking: the account that it belongs to, and the words with which providers refuse it."""

import json
from typing import Any

import pytest

from llm_app.adapters.base import RouteParameters
from llm_app.call.learned_quirks import LearnableQuirk
from llm_app.call.retry import Action, decide_retry
from llm_app.call.route_settings import parameters_of
from llm_app.errors import BadRequest, SealedPartRefused
from llm_app.models import Route
from llm_app.transport.http_errors import error_for
from llm_app.types import Thinking
from tests import factories

REFUSALS = [
    "The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be decrypted.",
    "Upstream request failed: [invalid_request_error] reasoning `encrypted_content` was not issued to this caller",
    "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content.",
    "Could not decode the compaction blob. Ensure it is unmodified from the compact response.",
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.7.content.2: Invalid signature in thinking block",
    "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must "
    "remain as they were in the original response.",
    "Unable to submit request because Thought signature is not valid.. Learn more: https://cloud.google.com",
    "Corrupted thought signature.",
    "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed",
    "Item 'rs_06a' of type 'reasoning' was provided without its required following item.",
    "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
]
OTHERS = [
    "Encrypted content is not supported with this model.",
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.",
    "The `content[].thinking` in the thinking mode must be passed back to the API.",
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 6",
    "messages.369.content.0.thinking.signature: Field required",
    "max_tokens must be greater than thinking.budget_tokens",
]


def _body(words: str) -> str:
    return json.dumps({"error": {"message": words, "type": "invalid_request_error", "status": "INVALID_ARGUMENT"}})


@pytest.mark.parametrize("status", [400, 404, 429, 500])
@pytest.mark.parametrize("words", REFUSALS)
def test_the_words_of_a_refusal_count_whatever_the_status(words: str, status: int) -> None:
    assert type(error_for(status, _body(words))) is SealedPartRefused


@pytest.mark.parametrize("words", OTHERS)
def test_a_demand_for_thinking_is_another_refusal(words: str) -> None:
    assert type(error_for(400, _body(words))) is BadRequest


def test_another_route_gets_the_call_after_a_refusal_without_a_cure() -> None:
    error = SealedPartRefused("")
    assert decide_retry(error, 1, has_next_route=True).action is Action.NEXT_ROUTE
    assert decide_retry(error, 1, has_next_route=False).action is Action.FAIL


# --- accounts --------------------------------------------------------------------------------------------------------


def _route(**fields: Any) -> Route:
    headers = fields.pop("extra_headers", {})
    values = {"protocol": "openai_responses", "base_url": "http://a/v1", "api_key": "sk-secret-key"}
    return factories.RouteFactory(provider=factories.ProviderFactory(**values | fields), extra_headers=headers)


@pytest.mark.django_db
def test_an_account_is_an_address_with_its_key_and_its_headers() -> None:
    account = parameters_of(_route()).account
    assert account == parameters_of(_route(base_url="http://a/v1/")).account
    others = [_route(base_url="http://b/v1"), _route(api_key="sk-another"), _route(extra_headers={"X-Project": "b"})]
    assert len({account, *(parameters_of(route).account for route in others)}) == 4


@pytest.mark.django_db
def test_an_account_reveals_nothing_and_depends_on_the_server(settings: Any) -> None:
    route = _route()
    account = parameters_of(route).account
    assert account is not None
    assert len(account) == 16
    assert set(account) <= set("0123456789abcdef")
    settings.SECRET_KEY = "another server's"
    assert parameters_of(route).account != account


@pytest.mark.django_db
def test_the_built_in_provider_has_no_account_and_old_parameters_stay_the_same() -> None:
    assert parameters_of(_route(protocol="scripted", base_url="", api_key="")).account is None
    assert RouteParameters(model="m", max_tokens=1).as_json() == {"model": "m", "max_tokens": 1}


@pytest.mark.django_db
def test_an_epoch_counts_as_another_account() -> None:
    route = _route()
    before, after = parameters_of(route), parameters_of(route, LearnableQuirk("thinking", "sealed_epoch", 1))
    sealed = Thinking(
        text="", protocol="p", model=before.model, blocks=({"signature": "s"},), account=before.account or ""
    )
    assert before.accepts_blocks(sealed, "p")
    assert not after.accepts_blocks(sealed, "p")


SEALED = ({"type": "thinking", "thinking": "Hm.", "signature": "s"},)
PLAIN = ({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]},)


@pytest.mark.parametrize(
    ("thinking", "quirks", "is_accepted"),
    [
        ({"blocks": SEALED, "account": "mine"}, {}, True),
        ({"blocks": SEALED, "account": "another"}, {}, False),
        ({"blocks": SEALED}, {}, True),  # an entry of an earlier version
        ({"blocks": SEALED}, {"sealed_epoch": 1}, False),
        ({"blocks": SEALED, "account": "mine"}, {"sealed_epoch": 1}, True),
        ({"blocks": SEALED, "account": "mine"}, {"sealed_thinking": False}, False),
        ({"blocks": PLAIN, "account": "another"}, {"sealed_epoch": 1, "sealed_thinking": False}, True),
        ({"blocks": SEALED, "account": "mine", "model": "another"}, {}, False),
        ({"blocks": PLAIN, "protocol": "another"}, {}, False),
    ],
)
def test_blocks_go_to_their_account(thinking: dict[str, Any], quirks: dict[str, Any], is_accepted: bool) -> None:
    parameters = RouteParameters(model="m", max_tokens=1, account="mine", quirks=quirks)
    made = Thinking(**{"text": "Hm.", "protocol": "p", "model": "m", **thinking})
    assert parameters.accepts_blocks(made, "p") is is_accepted
