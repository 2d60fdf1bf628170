"""Errors of provider calls. The docstring of a class is shown to users; `retry` decides how a call continues."""

from collections.abc import Sequence
from typing import Self

LONGEST_RETRY_AFTER = 60.0  # seconds; a longer wait ends the attempts on a route
_UNNAMED = "the model provider"


class LLMError(Exception):
    """The model provider failed."""

    def __init__(
        self,
        detail: str = "",
        *,
        status: int = 0,
        retry_after: float | None = None,
        resets: str = "",
        text: str = "",
        param: str = "",
    ) -> None:
        """Store the details. `text` and `param` come from the provider's answer: use them only for decisions.

        `resets` is a time in words, after which the provider accepts calls again. `provider` is set by the attempt.
        """
        super().__init__(detail)
        self.provider = ""
        self.detail = detail.replace("\0", "\ufffd")  # PostgreSQL cannot store NUL
        self.status = status
        self.retry_after, self.resets = retry_after, resets
        self.text, self.param = text, param

    @property
    def sentence(self) -> str:
        """Return the sentence for the waiting user. It never contains the provider's own text."""
        sentence = " ".join((self.__doc__ or "").split()).replace("{provider}", self.provider or _UNNAMED)
        return sentence.replace("{resets}", self.resets)

    def repeated(self) -> Self:
        """Return an equal error, which can be raised from this one."""
        error = type(self)(
            self.detail,
            status=self.status,
            retry_after=self.retry_after,
            resets=self.resets,
            text=self.text,
            param=self.param,
        )
        error.provider = self.provider
        return error

    def __str__(self) -> str:
        return f"{self.sentence} {self.detail}".strip()


class ConnectionFailed(LLMError):
    """The model provider could not be reached."""


class ProviderTimeout(LLMError):
    """The model provider sent nothing for too long."""


class ServerError(LLMError):
    """The model provider reported an internal error."""


class StreamCut(LLMError):
    """The model's answer broke off before its end."""


class UnreadableReply(LLMError):
    """The model provider did not answer in its protocol. An administrator must check its address."""


class Overloaded(LLMError):
    """The model provider has too many requests right now."""


class OverloadedUntil(Overloaded):
    """The service of {provider} takes no requests until {resets}. Try again then, or choose another model."""


class AuthenticationFailed(LLMError):
    """The model provider rejected its API key. An administrator must correct it."""


class NoCredit(LLMError):
    """The account at {provider} has no credit left. An administrator must top it up, or choose another provider."""


class AllowanceSpent(LLMError):
    """The allowance of the account at {provider} is used up. Try again later, or choose another model."""


class AllowanceSpentUntil(AllowanceSpent):
    """The allowance of the account at {provider} is used up until {resets}. Try again then, or choose another model."""


class RegionUnsupported(LLMError):
    """The service of {provider} is not available in the region of this server. An administrator must choose another."""


class AccessDenied(LLMError):
    """Access to this model is denied by {provider}. An administrator must look at the rights of the account there."""


class ToolsUnsupported(LLMError):
    """This model cannot call tools at {provider}. Choose another model, or ask an administrator for an XML protocol."""


class ModelNotFound(LLMError):
    """The model provider does not know this model. An administrator must correct its route."""


class ProtocolUnavailable(LLMError):
    """This server does not speak the protocol of the model provider. An administrator must correct it."""


class CircuitOpen(LLMError):
    """The model provider failed too often; calls to it are paused for a short time."""

    def __init__(self, detail: str = "", *, key_refused: bool = False) -> None:
        super().__init__(detail)
        self.key_refused = key_refused


class BadRequest(LLMError):
    """The model provider refused the request. Ask an administrator, who finds the reason in the log of LLM calls."""


class ContextTooLong(BadRequest):
    """The conversation is longer than the model can read. Start a new session, or choose a larger model."""


class ContentRefused(BadRequest):
    """The filter of the model provider stopped the answer. Say it in other words, or ask for something else."""


class SealedPartRefused(BadRequest):
    """The model provider refused earlier thinking of the model. Start a new session, or choose another model."""


class NoRoute(LLMError):
    """No model provider is set up for this model. An administrator must add one."""


class ModelNotAllowed(LLMError):
    """Your roles do not allow this model. Choose another model for this session."""


class ProviderUnavailable(LLMError):
    """No model provider answered, even after several attempts. Try again later."""

    def __init__(self, detail: str = "", *, reasons: Sequence[LLMError] = ()) -> None:
        super().__init__(detail)
        self.reasons = reasons

    @property
    def sentence(self) -> str:
        """Return the general sentence, or the reason of each provider if they differ."""
        if not self.reasons:
            return super().sentence
        reasons = (f"{reason.provider or _UNNAMED}: {reason.sentence}" for reason in self.reasons)
        return " ".join(("No model provider answered.", *reasons))


class BudgetExceeded(Exception):
    """A budget is spent. The provider did not fail: no retry, no failover. The message is shown to the person."""


NAMES = [kind.__name__ for kind in list(vars().values()) if isinstance(kind, type) and issubclass(kind, LLMError)]
