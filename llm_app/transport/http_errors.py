"""Typed errors for answers with an error: the words decide first, then the status.

They hold the messages of the error body and the parameter that it names, but never the request that the body may
repeat.
"""

from collections.abc import Mapping

from llm_app import errors
from llm_app.transport import error_words as words
from llm_app.transport.error_body import ErrorBody, NextAttempt, next_attempt
from llm_app.transport.sealed_parts import refuses_sealed_part

_FILTERED = (400, 403, 422, 500)  # 500: an error inside a stream, which has no status
_OVERLOADED = (429, 498, 503, 529)  # 498: console.groq.com/docs/errors (capacity), 529: Anthropic
_TRANSIENT = (409, 425)  # conflict, or too early: OpenAI's own client retries these, too


def error_for(status: int, body: str, headers: Mapping[str, str] | None = None) -> errors.LLMError:
    """Return the typed error for an HTTP status and the beginning of its body."""
    detail, error_body = f"HTTP {status}: {body[:500]}", ErrorBody.from_text(body)
    following = next_attempt(headers or {}, body)
    kind = _with_time(_kind_by_words(status, error_body, following) or _kind_by_status(status), status, following)
    return kind(
        detail,
        status=status,
        retry_after=following.seconds,
        resets=following.words,
        text=error_body.text,
        param=error_body.param,
    )


def _kind_by_words(status: int, body: ErrorBody, following: NextAttempt) -> type[errors.LLMError] | None:
    """Return the kind of an error by its words, or None if only its status says what happened."""
    if status >= 400 and refuses_sealed_part(body.text):  # gateways wrap it in any status
        return errors.SealedPartRefused
    if kind := _fault_of_account(status, body, following):
        return kind
    if status in _FILTERED and body.has(words.CONTENT_REJECTED):
        return errors.ContentRefused
    if words.TOOLS_UNSUPPORTED.search(body.text):
        return errors.ToolsUnsupported
    if body.has(words.FIELD_REFUSED):
        return errors.BadRequest
    if is_too_long(body):
        return errors.ContextTooLong
    if body.has(words.MODEL_UNKNOWN):
        return errors.ModelNotFound
    if body.has(words.INVALID_CALL):
        return errors.ServerError
    if status not in (401, 404) and body.has(words.OVERLOADED):
        return errors.Overloaded
    return errors.BadRequest if status >= 500 and body.has(words.REFUSED_BY_LLAMA_CPP) else None


def _fault_of_account(status: int, body: ErrorBody, following: NextAttempt) -> type[errors.LLMError] | None:
    """Return the kind of an error that concerns the account, which is the same for every conversation."""
    if words.REGION_UNSUPPORTED.search(body.text):
        return errors.RegionUnsupported
    if words.GEMINI_ALLOWANCE_A_DAY.search(body.text):  # Gemini also names a short delay, after which nothing changes
        return errors.AllowanceSpent
    if body.has(words.NO_CREDIT) or (body.has(words.CHECK_BILLING) and not body.has(words.LIMIT_A_MINUTE)):
        return errors.NoCredit
    is_short = following.seconds is not None and 0 < following.seconds <= errors.LONGEST_RETRY_AFTER
    is_allowance = words.ALLOWANCE_SPENT.search(body.text) or words.ALLOWANCE_A_DAY.search(body.text)
    if is_allowance and not is_short and not words.COUNTS_A_MINUTE.search(body.text):
        return errors.AllowanceSpent
    if status == 402:
        return errors.NoCredit
    if body.has(words.KEY_REJECTED):
        return errors.AuthenticationFailed
    return errors.AccessDenied if body.has(words.ACCESS_DENIED) else None


def is_too_long(body: ErrorBody) -> bool:
    """Return whether the words say that the conversation is too long for the model, or for one request."""
    if body.has(words.LARGER_THAN_A_MINUTE) or body.has(words.TOO_LONG) or words.MESSAGE_TOO_LONG.search(body.text):
        return True
    return bool(words.TOO_LONG_IN_OTHER_WORDS.search(body.text)) and not words.NOT_TOO_LONG.search(body.text)


def _kind_by_status(status: int) -> type[errors.LLMError]:
    if status == 404:
        return errors.ModelNotFound
    if status == 401:
        return errors.AuthenticationFailed
    if status == 403:
        return errors.AccessDenied
    if status in _OVERLOADED:
        return errors.Overloaded
    if status < 400 or status == 405:  # another page answers at this address
        return errors.UnreadableReply
    if status == 408:
        return errors.ProviderTimeout
    if status in _TRANSIENT or status >= 500:
        return errors.ServerError
    return errors.ContextTooLong if status == 413 else errors.BadRequest  # 413: too many pictures, for example


def _with_time(kind: type[errors.LLMError], status: int, following: NextAttempt) -> type[errors.LLMError]:
    """Return the kind that names the time of the next attempt, if that is later than anybody waits."""
    is_long = following.seconds is not None and following.seconds > errors.LONGEST_RETRY_AFTER
    if kind is errors.AllowanceSpent and following.words and (is_long or following.seconds is None):
        return errors.AllowanceSpentUntil
    if kind is errors.Overloaded and is_long and following.words:
        return errors.AllowanceSpentUntil if status == 429 else errors.OverloadedUntil
    return kind
