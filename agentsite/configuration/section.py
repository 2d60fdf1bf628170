"""The kinds of values that a configuration file consists of, with the bounds of the columns they go to."""

from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, StringConstraints


class Section(BaseModel):
    """A part of the file: a key that it does not have is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)

    def given(self, *leave_out: str) -> dict[str, Any]:
        """The keys that stand in the file: what does not stand there is left as it is."""
        return {name: getattr(self, name) for name in self.model_fields_set if name not in leave_out}


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("should be a number")  # noqa: TRY004  pydantic collects ValueErrors
    return value


def _web_address(value: str) -> str:
    if not _is_web_address(value):
        raise ValueError("should be a whole address that begins with http:// or https://")
    return value


def _is_web_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not fit, or a port that is none
        return False


_LARGEST = 2**31 - 1
_number = BeforeValidator(_no_bool)

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
Count = Annotated[int, _number, Field(ge=1, le=_LARGEST)]
CountOrNone = Annotated[int, _number, Field(ge=0, le=_LARGEST)]
Number = Annotated[float, _number]
Seconds = Annotated[float, _number, Field(gt=0)]
Amount = Annotated[float, _number, Field(ge=0)]
Dollars = Annotated[Decimal, _number, Field(ge=0, max_digits=14, decimal_places=4)]
Tokens = Annotated[int, _number, Field(ge=0, le=2**63 - 1)]
WebAddress = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200), AfterValidator(_web_address)]
Secret = Annotated[SecretStr, Field(min_length=1)]
