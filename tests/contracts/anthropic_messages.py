"""Rules of Anthropic's Messages API for conversations: contents, calls and results, thinking, pictures."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

from PIL import Image

from tests.contracts.anthropic_request import header, takes_adaptive
from tests.contracts.anthropic_stream import THINKING, digest, prefix_of
from tests.contracts.contract import Refusal

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")

Placed = tuple[int, int, dict[str, Any]]  # message number, block number, block


def blocks(body: Any, role: str = "") -> Iterator[Placed]:
    for number, message in enumerate(body["messages"]):
        content = message["content"]
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if role in ("", message["role"]):
            yield from ((number, place, block) for place, block in enumerate(content))


def roles(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: docs.claude.com/en/api/messages (the first message is a user's, roles), and
    platform.claude.com/docs/en/api/errors (no prefill from 4.6 on)."""
    given = [message["role"] for message in body["messages"]]
    if wrong := next((role for role in given if role not in ("user", "assistant")), ""):
        words = f'The Messages API accepts a top-level `system` parameter, not "{wrong}" as an input message role.'
        return Refusal(message=f'messages: Unexpected role "{wrong}". {words}')
    if not given:
        return Refusal(message="messages: at least one message is required")
    if given[0] != "user":
        return Refusal(message='messages: first message must use the "user" role')
    if given[-1] == "assistant" and takes_adaptive(body["model"]):
        words = "The conversation must end with a user message."
        return Refusal(message=f"This model does not support assistant message prefill. {words}")
    return None


def contents(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/anthropics/claude-code/issues/59812 (empty texts), /issues/50082 (with a cache point),
    github.com/tailcallhq/forgecode/issues/1872 (white space at the end)."""
    if empty := next((n for n, message in enumerate(body["messages"]) if not message["content"]), None):
        return Refusal(message=f"messages.{empty}: all messages must have non-empty content")
    inner = [block for _, _, b in blocks(body) if isinstance(b.get("content"), list) for block in b["content"]]
    texts = [block for block in [*(b for _, _, b in blocks(body)), *inner] if block["type"] == "text"]
    if any(not block["text"] for block in texts):
        return Refusal(message="messages: text content blocks must be non-empty")
    if any(not block["text"].strip() for block in texts):
        return Refusal(message="messages: text content blocks must contain non-whitespace text")
    if any(not block["text"].strip() for block in body.get("system") or ()):
        return Refusal(message="system: text content blocks must be non-empty")
    *_, (_, _, last) = blocks(body)
    if body["messages"][-1]["role"] == "assistant" and last.get("text", "x")[-1:].isspace():
        return Refusal(message="messages: final assistant content cannot end with trailing whitespace")
    return None


def cache_points(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: github.com/tghamm/Anthropic.SDK/issues/50."""
    given = [*(block for _, _, block in blocks(body)), *(body.get("system") or ()), *body.get("tools", ())]
    count = sum("cache_control" in block for block in given)
    words = "A maximum of 4 blocks with cache_control may be provided."
    return Refusal(message=f"{words} Found {count}.") if count > 4 else None


def calls(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/HKUDS/nanobot/pull/4356 (ids), github.com/trycua/cua/issues/524 (unique)."""
    seen: set[str] = set()
    for number, place, block in blocks(body):
        where = f"messages.{number}.content.{place}"
        if block["type"] == "tool_result" and not _ID.fullmatch(block["tool_use_id"]):
            return Refusal(message=f"{where}.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if block["type"] != "tool_use":
            continue
        if not _ID.fullmatch(block["id"]):
            return Refusal(message=f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if block["id"] in seen:
            return Refusal(message=f"{where}: `tool_use` ids must be unique")
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,200}", block["name"]):
            return Refusal(message=f"{where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'")
        if not isinstance(block["input"], dict):
            return Refusal(message=f"{where}.tool_use.input: Input should be a valid dictionary")
        seen.add(block["id"])
    return None


def pairs(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/anthropics/claude-code/issues/8210 (a call without its result), docs.claude.com/en/docs/
    agents-and-tools/tool-use/implement-tool-use (results come first), and for a result without its call
    github.com/anthropics/claude-code/issues/3003."""
    asked: list[str] = []
    for number, role, content in _turns(body["messages"]):
        given = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        if role == "user" and [block["type"] for block in content][: len(given)] != ["tool_result"] * len(given):
            return Refusal(message=f"messages.{number}: `tool_result` blocks must come first in the content")
        if stray := next((call_id for call_id in given if call_id not in asked), ""):
            words = f"unexpected `tool_use_id` found in `tool_result` blocks: {stray}."
            return Refusal(message=f"messages.{number}: {words}")
        if missing := [call_id for call_id in asked if call_id not in given]:
            return _unanswered(number - 1, missing)
        asked = [block["id"] for block in content if block["type"] == "tool_use"]
    return _unanswered(len(body["messages"]) - 1, asked) if asked else None


def _unanswered(number: int, missing: Sequence[str]) -> Refusal:
    words = "`tool_use` ids were found without `tool_result` blocks immediately after"
    return Refusal(message=f"messages.{number}: {words}: {', '.join(missing)}.")


def _turns(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str, list[dict[str, Any]]]]:
    """Messages of one role in a row are one turn. Source: docs.claude.com/en/api/messages (messages)."""
    role, begin, content = "", 0, list[dict[str, Any]]()
    for number, message in enumerate(messages):
        if role and message["role"] != role:
            yield begin, role, content
            begin, content = number, []
        role, content = message["role"], content + message["content"]
    yield begin, role, content


def thinking_blocks(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/anthropics/claude-code/issues/20705 (order), github.com/tailcallhq/forgecode/issues/2107 (not
    at the end), /issues/1853 (thinking disabled), platform.claude.com/docs/en/api/errors (changed ones),
    /docs/en/build-with-claude/preserved-thinking (changed conversation, other models)."""
    drops = _drops_block(body, headers)
    for number, message in enumerate(body["messages"]):
        kinds = [block["type"] for block in message["content"]]
        if not any(kind in THINKING for kind in kinds):
            continue
        if kinds[0] not in THINKING:
            words = "If an assistant message contains any thinking blocks, the first block must be thinking or redacted"
            return Refusal(message=f"messages.{number}.content.0: {words}. Found {kinds[0]}.")
        if kinds[-1] in THINKING:
            return Refusal(message=f"messages.{number}: The final block in an assistant message cannot be `thinking`.")
        for place, block in enumerate(message["content"]):
            where = f"messages.{number}.content.{place}"
            if block["type"] in THINKING and (fault := _fault(body, number, block, drops=drops)):
                return Refusal(message=f"{where}: {fault}")
    return _last_turn(body)


def _drops_block(body: Any, headers: Mapping[str, str]) -> bool:
    binding = (body.get("thinking") or {}).get("block_binding") or {}
    return binding.get("prefix_mismatch_behavior") == "drop_block" and bool(header(headers, "anthropic-beta"))


def _fault(body: Any, number: int, block: Mapping[str, Any], *, drops: bool) -> str:
    model, words, prefix = block.get("signature", block.get("data", "..")).rsplit(".", 2)
    if block["type"] == "thinking" and words != digest(block["thinking"]):
        return "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
    if model != body["model"]:
        return "" if is_bound(body["model"]) else "Invalid `signature` in `thinking` block"
    if is_bound(model) and not drops and prefix != prefix_of(body, number):
        return "Invalid `signature` in `thinking` block. The block is bound to a different conversation."
    return ""


def is_bound(model: str) -> bool:
    """Source: platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks."""
    return bool(re.match(r"claude-((fable|mythos)-5-[1-9]|(opus|sonnet|haiku)-5-5)", model))


def _last_turn(body: Any) -> Refusal | None:
    """Return everything since the last text of a user. Newer models accept any mixture."""
    turn = list(_last_assistant_messages(body["messages"]))
    kind = (body.get("thinking") or {}).get("type", "disabled")
    if not turn or is_bound(body["model"]):
        return None
    number, first = turn[0]
    if kind == "disabled" and any(block["type"] in THINKING for _, blocks in turn for block in blocks):
        words = "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
        return Refusal(message=f"messages.{number}.content.0: {words}")
    if kind == "enabled" and first[0]["type"] not in THINKING:
        words = f"Expected `thinking` or `redacted_thinking`, but found `{first[0]['type']}`."
        rule = "When `thinking` is enabled, a final `assistant` message must start with a thinking block"
        return Refusal(message=f"messages.{number}.content.0.type: {words} {rule}")
    return None


def _last_assistant_messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    begin = 0
    for number, message in enumerate(messages):
        if message["role"] == "user" and all(block["type"] != "tool_result" for block in message["content"]):
            begin = number
    yield from ((n, m["content"]) for n, m in enumerate(messages) if n > begin and m["role"] == "assistant")


def pictures(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: docs.claude.com/en/docs/build-with-claude/vision (types, 5 MB, 100 pictures), github.com/anthropics/
    claude-code/issues/4778 (8,000 pixels) and /issues/14412 (2,000 of more than 20)."""
    found = [(f"messages.{n}.content.{p}", block) for n, p, outer in blocks(body) for block in _pictures_in(outer)]
    if len(found) > 100:
        return Refusal(message="messages: Too many images: the maximum is 100")
    for where, block in found:
        if fault := _picture_fault(block["source"], many=len(found) > 20):
            return Refusal(message=f"{where}.image.source.base64{fault}")
    return None


def _pictures_in(block: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    inner = block["content"] if isinstance(block.get("content"), list) else []
    yield from (part for part in [block, *inner] if part["type"] == "image")


def _picture_fault(source: Mapping[str, Any], *, many: bool) -> str:
    if source["media_type"] not in _MEDIA_TYPES:
        return f".media_type: Input should be {', '.join(_MEDIA_TYPES)}"
    if len(source["data"]) > 5 * 1024 * 1024:
        return f": image exceeds 5 MB maximum: {len(source['data'])} bytes > 5242880 bytes"
    with Image.open(BytesIO(base64.b64decode(source["data"], validate=True))) as picture:
        if Image.MIME[picture.format or ""] != source["media_type"]:
            return f".data: Image does not match the provided media type {source['media_type']}"
        if max(picture.size) > (2000 if many else 8000):
            kind = "for many-image requests: 2000" if many else ": 8000"
            return f".data: At least one of the image dimensions exceed max allowed size {kind} pixels"
    return ""


RULES = (roles, contents, cache_points, calls, pairs, thinking_blocks, pictures)
