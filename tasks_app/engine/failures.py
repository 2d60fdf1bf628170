"""What a provider's failure means for the task."""

from llm_app import errors
from tasks_app.models.task import FailureCode
from tasks_app.run.interrupts import Failed

_CODES: list[tuple[type[errors.LLMError], FailureCode]] = [
    (errors.AuthenticationFailed, FailureCode.AUTHENTICATION),
    (errors.ContextTooLong, FailureCode.CONTEXT_OVERFLOW),
    (errors.BadRequest, FailureCode.STRUCTURAL_ERROR),
    (errors.LLMError, FailureCode.PROVIDER_UNAVAILABLE),
]


def failure_of(error: errors.LLMError) -> Failed:
    """The end of the task; its sentence never contains the provider's own text."""
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    return Failed(code, error.sentence)
