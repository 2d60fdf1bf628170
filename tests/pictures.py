"""Pictures for tests."""

from io import BytesIO
from typing import Any

from PIL import Image


def picture(
    width: int = 8, height: int = 6, kind: str = "PNG", mode: str = "RGB", color: Any = "red", **options: Any
) -> bytes:
    """Return an encoded picture of one color."""
    out = BytesIO()
    Image.new(mode, (width, height), color).save(out, kind, **options)
    return out.getvalue()


def with_wrong_checksums() -> bytes:
    """Return a PNG with intact pixels and damaged comments before and after them."""
    data, comment = picture(), b"\0\0\0\3tEXta\0b\0\0\0\0"
    first, last = data.index(b"IDAT") - 4, data.index(b"IEND") - 4
    return data[:first] + comment + data[first:last] + comment + data[last:]


def noise(width: int, height: int, kind: str = "PNG") -> bytes:
    """Return a picture of noise, which no encoder can compress."""
    out = BytesIO()
    bands = [Image.effect_noise((width, height), 200) for _ in range(3)]
    Image.merge("RGB", bands).save(out, kind, quality=100)
    return out.getvalue()
