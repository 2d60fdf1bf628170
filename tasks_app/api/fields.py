"""Fields that several requests share."""

from typing import Any

from rest_framework import serializers

MOST_ROWS = 2**31 - 1  # seq is a 32-bit column


class Text(serializers.CharField):
    """A JSON string, taken as it is: no number is read as one, and nothing is trimmed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"trim_whitespace": False, **options})

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Seq(serializers.IntegerField):
    """The number of an entry; 0 stands before the first."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "default": 0, "min_value": 0, "max_value": MOST_ROWS, **options})
