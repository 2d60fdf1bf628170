"""A parser of OpenAI chat completion chunks."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from llm_app.adapters.json_values import (
    count,
    dictionary,
    error_in_event,
    error_in_stream,
    json_text,
    objects,
    parse_object,
    strings,
    text,
)
from llm_app.adapters.turn_parser import TurnParser
from llm_app.text_calls.streams import ReplyStream, join_surrogates
from llm_app.transport.sse import ServerEvent
from llm_app.types import INVALID_CALL_REASONS, REFUSAL_REASONS, Delta, LLMTurnResult, Usage, has_reason


class OpenAIParser(TurnParser):
    """A parser of chunks (`delta`) and of complete responses (`message`).

    Thinking may arrive in `reasoning_content`, `reasoning` or `reasoning_details`, in content parts of type thinking,
    or between tags.
    """

    protocol = "openai"

    def __init__(
        self, model: str, tools: Collection[str] = (), reply_stream: ReplyStream | None = None, open_with: str = ""
    ) -> None:
        super().__init__(model, tools, reply_stream, open_with)
        self._details = ReasoningDetails()
        self._signature: dict[str, Any] = {}
        self._has_choice = False
        self._event_without_choice = ""  # an event before the first choice

    def read_event(self, event: ServerEvent) -> Iterable[Delta]:
        chunk = parse_object(event.data)
        choice = _first_choice(chunk.get("choices"))
        if not choice or "error" in chunk or "base_resp" in chunk or "error" in choice:
            self._check_for_error(chunk, choice, event.name)
        self._has_choice = self._has_choice or bool(choice)
        if not self._has_choice:
            self._event_without_choice = event.data[:200]
            if not _is_chunk(chunk):
                self._unknown_event = self._event_without_choice
        if "usage" in chunk or "usage" in choice or "x_groq" in chunk:
            self._store_usage(chunk, choice)
        if choice.get("finish_reason"):
            self._finish_reason = _with_native_reason(choice) or self._finish_reason
        # Gemini blocked the prompt, and gives no choice: github.com/vercel/ai/issues/19758.
        if "promptFeedback" in chunk:
            self._refusal.add(text(dictionary(chunk["promptFeedback"]).get("blockReason")))
        return self._delta(dictionary(choice["delta"] if "delta" in choice else choice.get("message")))

    def _check_for_error(self, chunk: dict[str, Any], choice: dict[str, Any], event_name: str) -> None:
        """Raise the error of an event. OpenRouter also sends it inside the choice."""
        if error := error_in_event(chunk, event_name):
            raise error
        if error_of_choice := choice.get("error"):
            raise error_in_stream(error_of_choice)

    def _store_usage(self, chunk: dict[str, Any], choice: dict[str, Any]) -> None:
        """Store the usage. Kimi reports it inside the choice, Groq in a separate field."""
        for usage in (chunk.get("usage"), choice.get("usage"), dictionary(chunk.get("x_groq")).get("usage")):
            if isinstance(usage, dict) and usage:
                self.usage = usage_of(usage)
                return

    def _delta(self, delta: dict[str, Any]) -> Iterator[Delta]:
        if thinking := self._thinking_in(delta):
            yield from self._think(thinking)
        if content := delta.get("content"):
            yield from self._content_deltas(content)
        if refusal := delta.get("refusal"):  # in place of an answer: developers.openai.com structured outputs
            yield from self._refuse(text(refusal))
        if calls := delta.get("tool_calls"):
            for position, call in enumerate(objects(calls)):
                yield from self._call_fragment(position, call)

    def _thinking_in(self, delta: dict[str, Any]) -> str:
        """Return the thinking in a delta. If several fields repeat the same thinking, only one counts."""
        details = self._details.add(delta["reasoning_details"]) if "reasoning_details" in delta else ""
        alternatives = delta.get("reasoning_content"), delta.get("reasoning")
        return next((thinking for thinking in alternatives if thinking and isinstance(thinking, str)), details)

    def _content_deltas(self, content: object) -> Iterator[Delta]:
        """Yield the deltas of a content: a text, or a list of parts, some of which may be thinking."""
        for part in content if isinstance(content, list) else [content]:
            thinking = dictionary(part).get("thinking")
            if thinking:
                for fragment in strings(thinking):
                    yield from self._think(fragment)
            else:
                for fragment in strings(part):
                    yield from self._say(fragment)

    def _call_fragment(self, position: int, call: dict[str, Any]) -> Iterable[Delta]:
        index, function = call.get("index"), dictionary(call.get("function"))
        if not self._signature and (signature := dictionary(call.get("extra_content"))):
            self._signature = {"extra_content": signature}  # only the first call is used
        return self._call(
            index if isinstance(index, int) else position,
            is_index=isinstance(index, int),
            call_id=text(call.get("id")),
            name=text(function.get("name")),
            fragment=json_text(function.get("arguments")),
        )

    def result(self) -> LLMTurnResult:
        """Return the turn. A stream that ended properly but had no choice is unreadable, not truncated."""
        if self.done and not self._has_choice:
            self._unknown_event = self._unknown_event or self._event_without_choice
        return super().result()

    def _signed_blocks(self) -> tuple[Mapping[str, Any], ...]:
        """Return the signed parts.

        `extra_content` is Gemini's signature of the thinking before a call; it returns with the call.
        """
        return (*self._details.parts(), *([self._signature] if self._signature else []))


def _with_native_reason(choice: dict[str, Any]) -> str:
    """Return the finish reason, and the one of the provider behind a gateway if that is more telling.

    OpenRouter sends "error" for Gemini's malformed calls: github.com/BerriAI/litellm/pull/23366.
    """
    reason, native = text(choice.get("finish_reason")), text(choice.get("native_finish_reason"))
    is_telling = has_reason(native, REFUSAL_REASONS) or has_reason(native, INVALID_CALL_REASONS)
    return f"{reason}: {native}" if is_telling and native != reason else reason


def _first_choice(choices: object) -> dict[str, Any]:
    """Return the choice with index 0."""
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and not choice.get("index"):
            return choice
    return {}


def _is_chunk(chunk: dict[str, Any]) -> bool:
    """Return whether an event without a choice belongs to the protocol: Azure's first event, or the last one with the
    usage.
    """
    is_named = chunk.get("object") == "chat.completion.chunk" or "prompt_filter_results" in chunk
    return "choices" in chunk and (is_named or bool(chunk.get("usage")))


def usage_of(fields: dict[str, Any]) -> Usage:
    """Return the usage as reported by OpenAI and compatible servers.

    Cached tokens are in `prompt_tokens_details` (OpenAI), `prompt_cache_hit_tokens` (DeepSeek) or `cached_tokens`
    (Kimi).

    xAI and Gemini do not count thinking in `completion_tokens`; then `total_tokens` is greater than the sum.
    """
    prompt, completion = count(fields.get("prompt_tokens")), count(fields.get("completion_tokens"))
    prompt_details = dictionary(fields.get("prompt_tokens_details"))
    completion_details = dictionary(fields.get("completion_tokens_details"))
    cached = prompt_details.get("cached_tokens") or fields.get("prompt_cache_hit_tokens") or fields.get("cached_tokens")
    output = max(completion, count(fields.get("total_tokens")) - prompt)
    return Usage(
        input_tokens=prompt,
        cached_tokens=min(count(cached), prompt),
        cache_write_tokens=min(cache_writes(fields, prompt_details), prompt - min(count(cached), prompt)),
        output_tokens=output,
        thinking_tokens=min(count(completion_details.get("reasoning_tokens")), output),
    )


def cache_writes(fields: dict[str, Any], details: dict[str, Any]) -> int:
    """Return the tokens that were written into the cache.

    OpenAI and OpenRouter count them in the details of the input, litellm and DashScope as Anthropic does. Sources:
    openrouter.ai/docs (usage accounting), docs.litellm.ai/docs/completion/prompt_caching.
    """
    names = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
    return next((written for part in (details, fields) for name in names if (written := count(part.get(name)))), 0)


_FRAGMENTED = ("text", "summary", "data")  # fields that arrive in fragments; other fields are replaced


class ReasoningDetails:
    """`reasoning_details`: signed parts of thinking, as OpenRouter streams them and expects them back.

    Fragments with the same index and type belong to one part. Without an index, a fragment continues the last part
    unless it has another type or id.
    """

    def __init__(self) -> None:
        self._content: dict[tuple[object, str], dict[str, Any]] = {}
        self._last_key: tuple[object, str] = ("", "")

    def add(self, value: object) -> str:
        """Add the details of one chunk, and return their readable text."""
        readable = []
        for fragment in objects(value):
            part = self._content.setdefault(self._key(fragment), {})
            for name, field in fragment.items():
                if name in _FRAGMENTED:
                    part[name] = text(part.get(name)) + text(field)
                elif field is not None or name not in part:
                    part[name] = field
            readable += [text(fragment.get("text")), text(fragment.get("summary"))]
        return "".join(readable)

    def _key(self, fragment: dict[str, Any]) -> tuple[object, str]:
        index, kind = fragment.get("index"), text(fragment.get("type"))
        if isinstance(index, int):
            return index, kind
        last_id, part_id = self._content.get(self._last_key, {}).get("id"), fragment.get("id")
        if kind != self._last_key[1] or (part_id and last_id and part_id != last_id):
            self._last_key = f"without index {len(self._content)}", kind
        return self._last_key

    def parts(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(
            {name: join_surrogates(field) if isinstance(field, str) else field for name, field in part.items()}
            for part in self._content.values()
        )
