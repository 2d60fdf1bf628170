"""What a provider can do wrong. The docstring is the sentence a person reads; what follows is decided in `retry`."""


class LLMError(Exception):
    """The model provider failed."""

    def __init__(self, detail: str = "", *, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail.replace("\0", "\ufffd")  # which no database stores
        self.status = status
        self.retry_after = retry_after

    @property
    def sentence(self) -> str:
        """What happened, in words for the person who waits; never the provider's own text."""
        return " ".join((self.__doc__ or "").split())

    def __str__(self) -> str:
        return f"{self.sentence} {self.detail}".strip()


class ConnectionFailed(LLMError):
    """The model provider could not be reached."""


class ProviderTimeout(LLMError):
    """The model provider was silent for too long."""


class ServerError(LLMError):
    """The model provider reported a fault of its own."""


class StreamCut(LLMError):
    """The model's answer broke off before its end."""


class UnreadableReply(LLMError):
    """The model provider answered with something that is no answer of its protocol."""


class Overloaded(LLMError):
    """The model provider has too many requests at the moment."""


class AuthenticationFailed(LLMError):
    """The model provider does not accept its key. An administrator must correct it."""


class ModelNotFound(LLMError):
    """The model provider does not know this model. An administrator must correct its route."""


class ProtocolUnavailable(LLMError):
    """This server does not speak the protocol of the model provider. An administrator must correct it."""


class CircuitOpen(LLMError):
    """The model provider failed too often and is left alone for a moment."""

    def __init__(self, detail: str = "", *, key_refused: bool = False) -> None:
        super().__init__(detail)
        self.key_refused = key_refused


class BadRequest(LLMError):
    """The model provider refused the request. An administrator finds the reason in the log of LLM calls."""


class ContextTooLong(BadRequest):
    """The conversation is longer than the model can read. Start a new session, or choose a larger model."""


class NoRoute(LLMError):
    """No model provider is set up for this model. An administrator must add one."""


class ModelNotAllowed(LLMError):
    """This model is not, or no longer, open to your roles. Choose another model for this session."""


class ProviderUnavailable(LLMError):
    """No model provider answered, also after several attempts. Try again later."""


class BudgetExceeded(Exception):
    """A budget is spent. No provider's fault, so no retry and no failover; the text is the sentence for the person."""
