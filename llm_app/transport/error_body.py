"""What the body of an error says: its words, and the parameter that it names; not what it repeats of the request."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_WORDS = ("message", "msg", "detail", "details", "description", "reason", "code", "type", "status", "error")
_SAID = re.compile(rf'"(?:{"|".join(_WORDS)})"\s*:\s*"((?:[^"\\]|\\.)*)')


@dataclass(frozen=True)
class ErrorBody:
    """`words` are those of messages and codes, in lower case; `param` is a path such as "tools[0].function.strict"."""

    words: str
    param: str = ""

    @classmethod
    def from_text(cls, body: str) -> "ErrorBody":
        """OpenAI, Anthropic and Google have an object `error`, vLLM and Mistral a message, FastAPI a list `detail`."""
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            said = _SAID.findall(body) if body.startswith(("{", "[")) else ()  # JSON, cut
            return cls(" ".join(said or [body]).lower())
        params = [param for found, param in _leaves(value) if found == "param"]
        words = [text for found, text in _leaves(value) if found == "words"]
        return cls(" ".join(words).lower(), params[0] if params else "")

    def has(self, signs: Iterable[str]) -> bool:
        """Whether any of these is among the words."""
        return any(sign in self.words for sign in signs)


def _leaves(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield "words", value
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        if isinstance(param := value.get("param"), str):
            yield "param", param
        if isinstance(path := value.get("loc"), list):
            yield "param", ".".join(str(part) for part in path if part != "body")
        for name in _WORDS:
            yield from _leaves(value.get(name))


def own_words(detail: str) -> str:
    """The provider's message in the `detail` of an error, where it is JSON of a known form, which may have been cut;
    else all of it, and nothing of a page of HTML."""
    body = detail.partition(": ")[2] if detail.startswith("HTTP ") else detail
    message = re.search(r'"message"\s*:\s*"((?:[^"\\]|\\.)+)', body)
    text = message[1].replace('\\"', '"').replace("\\n", " ") if message else body
    text = " ".join(text.split())
    return "" if text.startswith("<") else text
