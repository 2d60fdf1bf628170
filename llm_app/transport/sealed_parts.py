"""Rejections of thinking that a provider had signed or encrypted in an earlier turn, recognized by their words."""

import re

# OpenAI, "Item with id 'rs_…' not found. Items are not persisted when `store` is set to false" —
# github.com/vercel/ai/issues/7543, Azure — github.com/twentyhq/twenty/pull/23182
UNKNOWN_ITEM = r"items are not persisted when .?store|item with id .?rs_\w*.? not found"
_SEALED_PART = (
    r"encrypted[_ ](content|reasoning)|compaction blob|redacted_thinking"
    r"|(thinking|thought|reasoning)[`'_ ]{0,3}(block|content|part|text)?[`'_ .]{0,3}signature"
    r"|signature[`']? (in|of|for|on) (a |the )?[`']?(thinking|thought|reasoning)"
)
_NOT_ACCEPTED = (
    r"\b(invalid|corrupt(ed)?|malformed|mismatch(ed)?|expired|tampered)\b"
    r"|\bnot (valid|issued|match|recognized)\b"
    r"|\b(not|cannot|can't|unable to|failed to) (be )?(verif|decrypt|decod|pars|validat)"
    r"|\b(verification|validation|decryption|decoding) (has )?failed|\btype_bytes\b"
)
# Sources, one a line:
# OpenAI, "The encrypted content … could not be verified" — github.com/openai/codex/issues/8145
# Azure, "… could not be decrypted or parsed" — github.com/openai/codex/issues/3573
# Meta, "`encrypted_content` was not issued to this caller" — github.com/can1357/oh-my-pi/issues/11928
# xAI, "Could not decrypt the provided encrypted_content" — github.com/Wei-Shaw/sub2api/issues/4535
# xAI, "Could not decode the compaction blob" — github.com/chenyme/grok2api/issues/688
# Anthropic, "Invalid `signature` in `thinking` block" — github.com/anthropics/anthropic-sdk-python/issues/1598
# Bedrock and OpenRouter, the same without backticks — github.com/linanwx/nagobot/issues/21
# Gemini, "Corrupted thought signature" — github.com/google-gemini/gemini-cli/issues/13467
# Gemini, "Invalid thought signature" — github.com/lbjlaq/Antigravity-Manager/pull/3342
# Vertex, "Thought signature is not valid" — github.com/decolua/9router/issues/301
_REJECTION = rf"({_SEALED_PART}).{{0,300}}({_NOT_ACCEPTED})|({_NOT_ACCEPTED}).{{0,60}}({_SEALED_PART})"
# Other words, with the same sources and these:
# Anthropic, "blocks … cannot be modified" — github.com/anthropics/claude-code/issues/63921
# OpenAI, a reasoning item "without its required following item" — github.com/continuedev/continue/issues/8933
# Azure, "id is required" — github.com/openai/codex/pull/3528
_OTHER_REJECTION = (
    r"invalid_encrypted_content|thinking[`']? blocks.{0,80}(cannot be modified|must remain as they were)"
    r"|reasoning'? was provided without its required following item|missing required parameter: .?input\[\d+\]\.id"
    rf"|{UNKNOWN_ITEM}"
)
_REFUSED = re.compile(rf"{_REJECTION}|{_OTHER_REJECTION}", re.DOTALL)


def refuses_sealed_part(text: str) -> bool:
    """Return whether an error in lower case refuses thinking that was sealed earlier.

    A demand for thinking ("missing a thought_signature") and a rejected parameter ("Encrypted content is not supported
    with this model") are other errors.
    """
    return _REFUSED.search(text) is not None
