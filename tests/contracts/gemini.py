"""Gemini's endpoint for OpenAI chat completions, with a model of the third generation."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.contracts.contract import Contract, Refusal
from tests.contracts.openai_messages import is_object, unpaired
from tests.contracts.openai_stream import chat_answer, json_reply
from tests.contracts.said import Called, Said
from tests.provider import Reply

# fmt: off
_FIELDS = frozenset({
    "model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n",
    "stop", "seed", "frequency_penalty", "presence_penalty", "response_format", "tools", "tool_choice",
    "reasoning_effort", "extra_body", "modalities", "user",
})
_KEYWORDS = frozenset({
    "type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties",
    "required", "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern", "example",
    "anyOf", "propertyOrdering", "default",
})
# fmt: on
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_UNSIGNED = "skip_thought_signature_validator"


def signature(call: Mapping[str, Any]) -> str:
    """Return the signature of a call, so that a rule can check that both came back unchanged."""
    signed = [call["id"], call["function"]["name"], call["function"]["arguments"] or "{}"]
    return "sig-" + hashlib.sha256(json.dumps(signed).encode()).hexdigest()


def _invalid(why: str, status: int = 400) -> Refusal:
    return Refusal(status=status, message=why, type="INVALID_ARGUMENT")


def key(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: ai.google.dev/gemini-api/docs/troubleshooting; a wrong key is a 400 here."""
    is_given = headers.get("Authorization", "").startswith("Bearer ")
    return None if is_given else _invalid("API key not valid. Please pass a valid API key.")


def known_parameters(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: ai.google.dev/gemini-api/docs/openai; github.com/jackmpcollins/magentic/pull/382."""
    unknown = min(body.keys() - _FIELDS, default="")
    return _unknown(unknown, "") if unknown else None


def _unknown(name: str, place: str) -> Refusal:
    where = f" at '{place}'" if place else ""
    return _invalid(f'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.')


def schemas(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Check names, and the keywords in schemas of function declarations.

    Sources: ai.google.dev/api/caching#Schema; github.com/pizza-bot-app/pizza-bot/issues/62 (exclusiveMinimum),
    github.com/openswarm-ai/openswarm/issues/24 ($schema, additionalProperties, propertyNames),
    github.com/zed-industries/zed/issues/44875 (const); names: github.com/cline/cline/issues/7339 (and array items).
    """
    for number, tool in enumerate(body.get("tools", ())):
        place = f"tools[0].function_declarations[{number}]"
        if not _NAME.fullmatch(tool["function"]["name"]):
            return _invalid(f"GenerateContentRequest.{place}.name: Invalid function name.")
        for path, schema in _schemas(tool["function"].get("parameters", {}), f"{place}.parameters"):
            if unknown := min(schema.keys() - _KEYWORDS, default=""):
                return _unknown(unknown, path)
            if not isinstance(schema.get("type", ""), str):
                return _invalid(f"Invalid JSON payload received. Proto field is not repeating at '{path}'.")
            if schema.get("type") == "array" and "items" not in schema:
                return _invalid(f"GenerateContentRequest.{path}.items: missing field.")
            if "anyOf" in schema and schema.keys() - {"anyOf", "description", "title", "default", "nullable"}:
                return _invalid("When using any_of, it must be the only field set.")
    return None


def _schemas(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield path, schema
    for name, part in schema.get("properties", {}).items():
        yield from _schemas(part, f"{path}.properties[{name}].value")
    for number, part in enumerate(schema.get("anyOf", ())):
        yield from _schemas(part, f"{path}.any_of[{number}]")
    if "items" in schema:
        yield from _schemas(schema["items"], f"{path}.items")


def contents(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/QuantumNous/new-api/pull/1260, github.com/router-for-me/CLIProxyAPI/issues/1292."""
    for number, message in enumerate(body["messages"]):
        content, role = message.get("content"), message["role"]
        texts = [content] if isinstance(content, str) else [part.get("text", "-") for part in content or ()]
        if not message.get("tool_calls") and role != "tool" and not any(text.strip() for text in texts):
            return _invalid("Unable to submit request because it must include at least one parts field.")
        if isinstance(content, list) and not all(texts):
            place = f"GenerateContentRequest.contents[{number}].parts[0].data"
            return _invalid(f"* {place}: required oneof field 'data' must have one initialized field")
    return None


def turns(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/google-gemini/gemini-cli/issues/11814 and /26486,
    github.com/GoogleCloudPlatform/generative-ai/pull/368, github.com/cloudwego/eino-ext/issues/571."""
    messages = [message for message in body["messages"] if message["role"] not in ("system", "developer")]
    if unpaired(messages):
        return _invalid("Please ensure that function response turn comes immediately after a function call turn.")
    for before, message in zip([None, *messages], messages, strict=False):
        if message.get("tool_calls") and (before is None or before["role"] == "assistant"):
            words = "function call turn comes immediately after a user turn or after a function response turn."
            return _invalid(f"Please ensure that {words}")
    if not messages or messages[-1]["role"] == "assistant":
        return _invalid("Please ensure that single turn requests end with a user role.")
    return None


def thought_signatures(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Check that the first call of each message since the newest user text has its signature.

    Sources: ai.google.dev/gemini-api/docs/thought-signatures (also for the placeholder of calls by another model, and
    for `extra_content` in the OpenAI format); github.com/langroid/langroid/pull/969 (the words),
    github.com/google/adk-python/issues/3693 (every step of the current turn).
    """
    for number, message in _current_turn(body["messages"]):
        call = next(iter(message.get("tool_calls", ())), None)
        if call is None:
            continue
        if not is_object(call["function"]["arguments"]):
            return _invalid("Request contains an invalid argument.")
        given = (call.get("extra_content") or {}).get("google", {}).get("thought_signature")
        if not given:
            why = "Function call is missing a thought_signature in functionCall parts."
            which = f"function call `default_api:{call['function']['name']}` , position {number}."
            return _invalid(f"{why} This is required for tools to work correctly. Additional data, {which}")
        if given not in (_UNSIGNED, signature(call)):
            return _invalid("Thought signature is not valid.")
    return None


def _current_turn(messages: Sequence[Mapping[str, Any]]) -> list[tuple[int, Mapping[str, Any]]]:
    numbered = list(enumerate(messages))
    newest = max((number for number, message in numbered if message["role"] == "user"), default=0)
    return numbered[newest:]


def answer(said: Said, body: Any) -> Reply:
    return chat_answer(said, body, deltas=_signed_calls)


def _signed_calls(call: Called, index: int) -> Iterator[dict[str, Any]]:
    """Return complete calls, as Gemini streams them. Of several calls in one turn only the first is signed."""
    function = {"name": call.name, "arguments": call.text}
    whole: dict[str, Any] = {"index": index, "id": call.id, "type": "function", "function": function}
    if index == 0:
        whole["extra_content"] = {"google": {"thought_signature": signature(whole)}}
    yield {"role": "assistant", "tool_calls": [whole]}


def error(refusal: Refusal) -> Reply:
    """A list of one error. Source: github.com/0xsline/OpenChatCut/issues/6."""
    fields = {"code": refusal.status, "message": refusal.message, "status": refusal.type}
    return json_reply(refusal.status, [{"error": fields}])


GEMINI = Contract(
    name="gemini",
    model="gemini-3.1-pro-preview",
    protocols=("openai_native", "json_schema", "openai_xml"),
    rules=(key, known_parameters, schemas, contents, turns, thought_signatures),
    answer=answer,
    error=error,
    path="/v1beta/openai",
    endpoint="/v1beta/openai/chat/completions",
)
