"""Request bodies."""

from collections.abc import Mapping
from typing import IO, Any

import orjson
from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, FileUploadParser

from tasks_app.api.problems import TooLarge


class JSONBody(BaseParser):
    """Strict JSON of a size that can be held. Raises TooLarge and ParseError."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge()
        try:
            return orjson.loads(body)
        except ValueError as error:
            raise ParseError(f"The body is not valid JSON: {error}.") from error


class RawBody(FileUploadParser):
    """The body as a file, whatever type it says it is of: the path is in the address."""

    def get_filename(self, stream: object, media_type: object, parser_context: object) -> str:
        return "body"
