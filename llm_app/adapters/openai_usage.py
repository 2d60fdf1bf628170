"""Tokens as OpenAI counts them, and as those who speak like it do."""

from typing import Any

from llm_app.adapters.reading import count, dictionary
from llm_app.types import Usage


def usage_of(fields: dict[str, Any]) -> Usage:
    """Cached tokens: `prompt_tokens_details` (OpenAI), `prompt_cache_hit_tokens` (DeepSeek), `cached_tokens` (Kimi).

    Some (xAI, Gemini) leave thinking out of `completion_tokens`; then `total_tokens` is more than the sum.
    """
    prompt, completion = count(fields.get("prompt_tokens")), count(fields.get("completion_tokens"))
    sent = dictionary(fields.get("prompt_tokens_details"))
    received = dictionary(fields.get("completion_tokens_details"))
    cached = sent.get("cached_tokens") or fields.get("prompt_cache_hit_tokens") or fields.get("cached_tokens")
    output = max(completion, count(fields.get("total_tokens")) - prompt)
    return Usage(
        input_tokens=prompt,
        cached_tokens=min(count(cached), prompt),
        cache_write_tokens=min(count(sent.get("cache_write_tokens")), prompt),
        output_tokens=output,
        thinking_tokens=min(count(received.get("reasoning_tokens")), output),
    )
