"""Errors of provider calls. The docstring of a class is shown to users; `retry` decides how a call continues."""


class LLMError(Exception):
    """The model provider failed."""

    def __init__(
        self, detail: str = "", *, status: int = 0, retry_after: float | None = None, text: str = "", param: str = ""
    ) -> None:
        """Store the details. `text` and `param` come from the provider's answer: use them only for decisions."""
        super().__init__(detail)
        self.detail = detail.replace("\0", "\ufffd")  # PostgreSQL cannot store NUL
        self.status = status
        self.retry_after = retry_after
        self.text, self.param = text, param

    @property
    def sentence(self) -> str:
        """Return the sentence for the waiting user. It never contains the provider's own text."""
        return " ".join((self.__doc__ or "").split())

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


class AuthenticationFailed(LLMError):
    """The model provider rejected its API key. An administrator must correct it."""


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


class BudgetExceeded(Exception):
    """A budget is spent. The provider did not fail: no retry, no failover. The message is shown to the person."""


NAMES = [kind.__name__ for kind in list(vars().values()) if isinstance(kind, type) and issubclass(kind, LLMError)]
