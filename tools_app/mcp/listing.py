"""The tools that a server lists, as far as they can be used here."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools_app.errors import InvalidSchema
from tools_app.json_schema import reading

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_NAME = 64  # characters of server__tool, as providers take them
_LONGEST_DESCRIPTION = 2000


@dataclass(frozen=True, kw_only=True)
class ListedTool:
    """`schema` is JSON. `digest` changes with everything that a model reads about the tool."""

    name: str
    description: str
    schema: str

    @property
    def digest(self) -> str:
        text = json.dumps([self.name, self.description, self.schema], ensure_ascii=False)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def tools_of(server: str, answer: Mapping[str, Any]) -> list[ListedTool]:
    """Those that a provider would take: with a plain name, and a schema that can be checked and shown."""
    return list(_usable(server, answer["tools"]))


def _usable(server: str, tools: Any) -> Iterator[ListedTool]:
    for tool in tools:
        name = tool["name"]
        if not _NAME.fullmatch(name) or len(f"{server}__{name}") > _LONGEST_NAME:
            continue
        try:
            schema = reading.schema_text({"properties": {}, **tool["schema"], "type": "object"})
        except InvalidSchema:
            continue
        description = " ".join(tool["description"].split()).replace("\0", "")[:_LONGEST_DESCRIPTION]
        yield ListedTool(name=name, description=description, schema=schema)
