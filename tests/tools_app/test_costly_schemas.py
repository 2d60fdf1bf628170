"""Tests of JSON Schemas that take long to check, because the items of their lists are compared with each other."""

import time
from typing import Any

import pytest

from tools_app.errors import InvalidSchema
from tools_app.json_schema.external import schema_text

DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
OBJECTS = [{"a": number} for number in range(1900)]


@pytest.mark.parametrize(
    "schema",
    [
        DRAFT_4 | {"enum": OBJECTS},
        DRAFT_4 | {"enum": [number if number % 2 else str(number) for number in range(3900)]},
        DRAFT_4 | {"anyOf": [{"enum": OBJECTS[:100]} for _ in range(18)]},
        {"type": OBJECTS},
        {"properties": {"a": {"type": OBJECTS}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": [*OBJECTS, "b"]}},
        {"enum": [*range(1000), *map(str, range(1000))]},
        {"enum": [None, *map(str, range(1000))]},
    ],
    ids=["objects", "kinds", "many", "types", "inner types", "dependencies", "newest draft", "null"],
)
def test_unsortable_lists_must_be_short(schema: Any) -> None:
    began = time.monotonic()
    with pytest.raises(InvalidSchema):
        schema_text(schema)
    assert time.monotonic() - began < 0.2


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [*map(str, range(3000))]},
        {"enum": [*range(3000)]},
        {"enum": [None, *map(str, range(250))]},
        {"anyOf": [{"const": number} for number in range(1000)]},
        {"properties": {f"p{number}": {"enum": ["a", "b", None], "type": ["string", "null"]} for number in range(200)}},
        {"examples": OBJECTS},
    ],
    ids=["names", "numbers", "null", "choices", "nullable", "examples"],
)
def test_other_lists_can_be_long(schema: Any) -> None:
    assert schema_text(schema)
