"""Providers without an adapter of their own, called through the litellm library."""

import asyncio
import os
from collections.abc import AsyncGenerator, Collection, Generator, Iterator, Mapping
from contextlib import aclosing
from functools import cache
from typing import Any, ClassVar

import orjson
from multidict import CIMultiDict

from llm_app import errors
from llm_app.adapters.anthropic_native import thinking_blocks, thinking_fits
from llm_app.adapters.base import Endpoint, RouteParameters
from llm_app.adapters.json_values import objects, text
from llm_app.adapters.openai_native import OpenAINative
from llm_app.adapters.openai_parser import OpenAIParser
from llm_app.transport.http_errors import error_for
from llm_app.transport.sse import ServerEvent
from llm_app.transport.waiting import iterate_on_loop
from llm_app.types import Delta, Message, Prompt, Runner

# Arguments of litellm's function that `extra_body` must not set.
_CONNECTION = {"api_key", "api_base", "base_url", "extra_headers", "headers", "timeout", "num_retries", "max_retries"}
_ROUTING = {"model_list", "fallbacks", "context_window_fallback_dict", "mock_response", "client", "shared_session"}
_HOOKS = {"callbacks", "success_callback", "failure_callback", "logger_fn", "cache", "caching"}
_PASSED_ON = {"include_server_side_tool_invocations", "extra_body"}
_FORBIDDEN = _CONNECTION | _ROUTING | _HOOKS | _PASSED_ON


class LiteLLMParser(OpenAIParser):
    """A parser of chat completion chunks with signed thinking blocks."""

    protocol = "litellm"

    def __init__(self, model: str, tools: Collection[str] = ()) -> None:
        super().__init__(model, tools)
        self._blocks: list[dict[str, Any]] = []

    def _delta(self, delta: dict[str, Any]) -> Iterator[Delta]:
        for fragment in objects(delta.get("thinking_blocks")):
            self._add_block_fragment(fragment)
        yield from super()._delta(delta)

    def _add_block_fragment(self, fragment: dict[str, Any]) -> None:
        """Append a fragment of a block. The signature completes the block."""
        last = self._blocks[-1] if self._blocks else {}
        if fragment.get("type") == last.get("type") == "thinking" and not last["signature"]:
            last["thinking"] += text(fragment.get("thinking"))
            last["signature"] = text(fragment.get("signature"))
        elif fragment.get("type") == "thinking":
            fields = {name: text(fragment.get(name)) for name in ("thinking", "signature")}
            self._blocks.append({"type": "thinking", **fields})
        else:
            self._blocks.append(fragment)

    def _signed_blocks(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(block for block in self._blocks if block.get("signature") or block.get("data"))


class LiteLLM(OpenAINative):
    """A provider behind litellm. The request body is the JSON of the arguments of `litellm.acompletion`.

    The log's hash is that of this JSON; only the provider sees the request that litellm makes of it. Quirks are those
    of openai_native. `extra_body` adds arguments such as vertex_project or aws_region_name. Signed thinking is sent
    back.
    """

    name = "litellm"
    label = "Any other provider, through litellm"
    version: ClassVar[int] = 4
    thinking_protocol: ClassVar[str] = LiteLLMParser.protocol

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        encoded = super().encode(message, parameters)
        blocks = thinking_blocks(message, parameters, self.name)
        return encoded[:-1] + b',"thinking_blocks":' + orjson.dumps(blocks) + b"}" if blocks else encoded

    def _request_fields(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        fields = super()._request_fields(prompt, parameters)
        if parameters.thinking_budget and self.may_think(prompt, parameters):
            fields["thinking"] = {"type": "enabled", "budget_tokens": parameters.thinking_budget}
        fields["drop_params"] = True  # omit parameters that the provider does not know, instead of failing
        return {name: value for name, value in fields.items() if name not in _FORBIDDEN}

    def may_think(self, prompt: Prompt, parameters: RouteParameters) -> bool:
        """Return whether the history allows thinking.

        Claude rejects it after a call of another model, at any provider.
        """
        if not super().may_think(prompt, parameters):
            return False
        return "claude" not in parameters.model or thinking_fits(prompt.messages, parameters, self.name)

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> LiteLLMParser:
        return LiteLLMParser(parameters.model, prompt.tool_names)

    def events(self, body: bytes, endpoint: Endpoint, run: Runner) -> Generator[ServerEvent]:
        return iterate_on_loop(self._stream(body, endpoint), run)

    async def _stream(self, body: bytes, endpoint: Endpoint) -> AsyncGenerator[ServerEvent]:
        deadline = asyncio.get_running_loop().time() + endpoint.total_s
        litellm = await asyncio.to_thread(_litellm)
        endpoint.on_sent()
        try:
            async with _timeout(endpoint, deadline):
                stream = await litellm.acompletion(**orjson.loads(body), **_access_arguments(endpoint))
            async with aclosing(stream):
                while True:
                    async with _timeout(endpoint, deadline):
                        chunk = await anext(stream, None)
                    if chunk is None or (_is_end(chunk) and not _has_ended(stream)):
                        break
                    yield ServerEvent("", chunk.model_dump_json(exclude_none=True))
        except TimeoutError as error:
            raise errors.ProviderTimeout() from error
        except Exception as error:
            raise _typed_error(error) from error
        if not _has_ended(stream):
            raise errors.StreamCut()  # litellm itself ends a truncated stream with "stop"
        yield ServerEvent("", "[DONE]")

    def prepare(self) -> None:
        _litellm()

    async def close(self) -> None:
        if _litellm.cache_info().currsize:
            await _litellm().close_litellm_async_clients()


@cache
def _litellm() -> Any:
    """Import litellm, which takes 3 to 6 s and 180 MB; call this in a thread.

    Workers import it at their start if a route needs it. It reads no .env, fetches no prices and prints nothing.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    import litellm

    litellm.suppress_debug_info = True
    litellm.disable_streaming_logging = True
    litellm.turn_off_message_logging = True
    _warm_up(litellm)
    return litellm


def _is_end(chunk: Any) -> bool:
    return any(choice.finish_reason for choice in chunk.choices)


def _has_ended(stream: Any) -> bool:
    """Return whether the provider has ended the stream, and not only litellm."""
    return bool(stream.received_finish_reason or stream.intermittent_finish_reason)


def _warm_up(litellm: Any) -> None:
    """Make a mock call. It imports modules that litellm loads late, which would block the event loop for 1.5 s."""
    tool = {"type": "function", "function": {"name": "a", "parameters": {"type": "object", "properties": {}}}}
    messages = [{"role": "user", "content": "a"}]
    list(litellm.completion(model="openai/a", messages=messages, tools=[tool], stream=True, mock_response="a"))


def _access_arguments(endpoint: Endpoint) -> dict[str, Any]:
    """Return the arguments that are not part of the bytes.

    Credentials of a service account are JSON. litellm never retries.
    """
    return {
        "vertex_credentials" if endpoint.api_key.lstrip().startswith("{") else "api_key": endpoint.api_key or None,
        "base_url": endpoint.base_url or None,
        "extra_headers": dict(endpoint.extra_headers) or None,
        "timeout": endpoint.total_s,
        "num_retries": 0,
        "max_retries": 0,
    }


def _timeout(endpoint: Endpoint, deadline: float) -> asyncio.Timeout:
    """Return the timeout of one wait: the shorter of the silence limit and the remaining total time."""
    return asyncio.timeout_at(min(asyncio.get_running_loop().time() + endpoint.silence_s, deadline))


def _typed_error(error: Exception) -> errors.LLMError:
    """Return the typed error for an exception of litellm, which keeps the provider's status and headers.

    Errors in the middle of a stream are wrapped in another exception.
    """
    cause = getattr(error, "original_exception", None) or error
    status = getattr(cause, "status_code", None)
    headers: Mapping[str, str] = getattr(cause, "litellm_response_headers", None) or {}
    return error_for(status if isinstance(status, int) else 500, str(cause), CIMultiDict(headers))
