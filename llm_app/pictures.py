"""Pictures as models take them: small enough, upright, and without what a camera wrote into them.

Hostile bytes can exploit a decoder, so `answer` runs in a child process with limits.
"""

import base64
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import Any

from PIL import (  # these four and no others: to look for them all takes longer than to decode
    GifImagePlugin,  # noqa: F401
    Image,
    ImageOps,
    JpegImagePlugin,  # noqa: F401
    PngImagePlugin,  # noqa: F401
    WebPImagePlugin,  # noqa: F401
)

LONGEST_EDGE = 1568  # pixels; beyond it providers scale down themselves, and charge for what they threw away
LARGEST = 3_750_000  # bytes; 5 MB as base64, Anthropic's limit for one picture
MOST_PIXELS = 16_000_000  # that are decoded: 64 MB
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_SHARP = ("PNG", "GIF")  # drawings and screenshots, mostly
_QUALITY = 85
_TOO_MANY = f"it has more than {MOST_PIXELS // 10**6} million pixels; make it smaller"
_PNG = b"\x89PNG\r\n\x1a\n"


class UnreadablePicture(Exception):
    """The message says why, in words for the model."""


@dataclass(frozen=True, kw_only=True)
class EncodedPicture:
    """`data` is base64, `width` and `height` are pixels."""

    media_type: str
    data: str
    width: int
    height: int


def answer(request: dict[str, Any], body: bytes) -> dict[str, Any]:
    """What a child process says of the picture in `body`: {"picture": an EncodedPicture} or {"fault": why not}."""
    try:
        return {"picture": asdict(encode(body))}
    except UnreadablePicture as error:
        return {"fault": str(error)}


def encode(data: bytes) -> EncodedPicture:
    """A PNG or JPEG of the (first) picture in `data`. Raises UnreadablePicture."""
    try:
        with Image.open(BytesIO(_mended(data)), formats=FORMATS) as file:
            _shrink_while_decoding(file)
            image = _scaled(file)
            return _encoded(image, "PNG" if file.format in _SHARP or image.mode == "RGBA" else "JPEG")
    except UnreadablePicture:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning, MemoryError) as error:
        raise UnreadablePicture(_TOO_MANY) from error
    except Exception as error:  # damaged data makes decoders raise anything
        raise UnreadablePicture("it is damaged, too large, or no PNG, JPEG, WebP or GIF") from error


def _mended(data: bytes) -> bytes:
    """A PNG without those chunks that do not matter and are damaged: its pixels may still be intact."""
    return _PNG + b"".join(_good_chunks(data)) if data.startswith(_PNG) else data


def _good_chunks(data: bytes) -> Iterator[bytes]:
    """Length, name, content, checksum: https://www.w3.org/TR/png-3/#5Chunk-layout. A small letter: it is ancillary."""
    place = len(_PNG)
    while place < len(data):
        end = place + 12 + int.from_bytes(data[place : place + 4])
        name, checksum = data[place + 4 : place + 8], data[end - 4 : end]
        if not name[:1].islower() or zlib.crc32(data[place + 4 : end - 4]) == int.from_bytes(checksum):
            yield data[place:end]
        place = end


def _shrink_while_decoding(file: Image.Image) -> None:
    """A JPEG is decoded at a smaller size; stored in passes (progressive), it still needs memory for all of it."""
    whole = file.width * file.height
    file.draft("RGB", (LONGEST_EDGE, LONGEST_EDGE))
    if (whole if file.info.get("progressive") else file.width * file.height) > MOST_PIXELS:
        raise UnreadablePicture(_TOO_MANY)


def _scaled(file: Image.Image) -> Image.Image:
    """Upright, at most LONGEST_EDGE long, RGB or RGBA; a new image, so nothing else comes along."""
    file.seek(0)
    mode = "RGBA" if file.has_transparency_data else "RGB"
    image: Image.Image = file
    if file.mode.startswith("I"):  # 16 bits a pixel, of which the upper eight are seen
        image = file.convert("I").point(lambda level: level / 256).convert("L")
    image = image if image.mode == mode else image.convert(mode)
    image.thumbnail((LONGEST_EDGE, LONGEST_EDGE))
    image = ImageOps.exif_transpose(image)
    image.info.clear()
    return image


def _encoded(image: Image.Image, kind: str) -> EncodedPicture:
    """PNG keeps what is sharp; where it is too large, JPEG."""
    data = _bytes(image, kind)
    while len(data) > LARGEST:
        image = image.reduce(2) if kind == "JPEG" else image
        kind, data = "JPEG", _bytes(image, "JPEG")
    return EncodedPicture(
        media_type=f"image/{kind.lower()}",
        data=base64.b64encode(data).decode(),
        width=image.width,
        height=image.height,
    )


def _bytes(image: Image.Image, kind: str) -> bytes:
    out = BytesIO()
    if kind == "JPEG":
        _on_white(image).save(out, "JPEG", quality=_QUALITY)
    else:
        image.save(out, "PNG")
    return out.getvalue()


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    ground = Image.new("RGB", image.size, "white")
    ground.paste(image, mask=image.getchannel("A"))
    return ground
