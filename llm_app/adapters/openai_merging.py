"""Neighbours of the role user become one message, for templates in which the roles must alternate."""

from collections.abc import Sequence

_WORDS = b'{"role":"user","content":"'
_PARTS = b'{"role":"user","content":['


def merged(messages: Sequence[bytes]) -> list[bytes]:
    """Works on encoded messages. One that ends in a user's words or parts takes up what follows of the same role."""
    out: list[bytes] = []
    for message in messages:
        if out and message.startswith((_WORDS, _PARTS)) and _ends_as_user(out[-1]):
            out[-1] = _joined(out[-1], message)
        else:
            out.append(message)
    return out


def _ends_as_user(message: bytes) -> bool:
    """A result with pictures is encoded as two messages, of which the second is a user's."""
    return message.startswith(_WORDS) or _PARTS in message


def _joined(first: bytes, second: bytes) -> bytes:
    if first.startswith(_WORDS) and second.startswith(_WORDS):
        return first[:-2] + b"\\n\\n" + second[len(_WORDS) :]
    return _as_parts(first)[:-2] + b"," + _as_parts(second)[len(_PARTS) :]


def _as_parts(message: bytes) -> bytes:
    if not message.startswith(_WORDS):
        return message
    return _PARTS + b'{"type":"text","text":"' + message[len(_WORDS) :] + b"]}"
