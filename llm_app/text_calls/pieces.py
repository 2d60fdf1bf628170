"""A text that arrives in pieces, of which a server may have cut a character in two."""


class Pieces:
    """JSON writes a character beyond U+FFFF as two halves (surrogates); some servers send each in its own chunk."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._half = ""

    def add(self, piece: str) -> str:
        """Takes a piece; returns what is whole of it: halves are joined, one that stays alone becomes U+FFFD."""
        if self._half or not piece.isascii():
            piece, self._half = _without_open_half(self._half + piece)
            piece = whole(piece)
        if piece:
            self._parts.append(piece)
        return piece

    def __bool__(self) -> bool:
        return bool(self._parts)

    def text(self) -> str:
        return "".join(self._parts) + ("\ufffd" if self._half else "")


def whole(text: str) -> str:
    """The text with halves joined where both are there; a single one becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _without_open_half(text: str) -> tuple[str, str]:
    """The text, and apart from it a last first half, whose second one may still come."""
    return (text[:-1], text[-1]) if "\ud800" <= text[-1:] <= "\udbff" else (text, "")
