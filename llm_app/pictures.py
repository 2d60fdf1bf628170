"""Pictures in a form that models accept: small enough, upright, and without metadata.

Hostile data can exploit a decoder, so `answer` runs in a child process with limits.
"""

import base64
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import Any

from PIL import (  # only these formats: loading all plugins takes longer than decoding
    AvifImagePlugin,  # noqa: F401
    BmpImagePlugin,  # noqa: F401
    GifImagePlugin,  # noqa: F401
    IcoImagePlugin,  # noqa: F401
    Image,
    ImageOps,
    Jpeg2KImagePlugin,  # noqa: F401
    JpegImagePlugin,  # noqa: F401
    PngImagePlugin,  # noqa: F401
    TiffImagePlugin,  # noqa: F401
    WebPImagePlugin,  # noqa: F401
)

LONGEST_EDGE = 1568  # pixels; providers scale larger pictures down, and charge for the full size
LARGEST = 3_750_000  # bytes; 5 MB as base64, Anthropic's limit for one picture
MOST_PIXELS = 16_000_000  # decoded pixels: 64 MB
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "ICO", "JPEG2000", "AVIF")
_LOSSLESS = ("PNG", "GIF", "BMP", "ICO")  # mostly drawings and screenshots
_QUALITY = 85
_TOO_MANY_PIXELS = f"it has more than {MOST_PIXELS // 10**6} million pixels; make it smaller"
_PNG = b"\x89PNG\r\n\x1a\n"


class UndecodablePicture(Exception):
    """The message says why, in words for the model."""


@dataclass(frozen=True, kw_only=True)
class EncodedPicture:
    """A picture with base64 `data`, and its size in pixels."""

    media_type: str
    data: str
    width: int
    height: int


def answer(request: dict[str, Any], body: bytes) -> dict[str, Any]:
    """Return the response of the child process: {"picture": an EncodedPicture} or {"fault": a reason for the model}."""
    try:
        return {"picture": asdict(encode(body))}
    except UndecodablePicture as error:
        return {"fault": str(error)}


def encode(data: bytes) -> EncodedPicture:
    """Return the (first) picture in `data` as PNG or JPEG.

    Raises: UndecodablePicture.
    """
    try:
        with Image.open(BytesIO(_without_damaged_chunks(data)), formats=FORMATS) as file:
            _shrink_while_decoding(file)
            image = _scaled(file)
            return _encoded(image, "PNG" if file.format in _LOSSLESS or image.mode == "RGBA" else "JPEG")
    except UndecodablePicture:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning, MemoryError) as error:
        raise UndecodablePicture(_TOO_MANY_PIXELS) from error
    except Exception as error:  # damaged data makes decoders raise anything
        raise UndecodablePicture("it is damaged, too large, or no picture of a usual format") from error


def _without_damaged_chunks(data: bytes) -> bytes:
    """Return a PNG without damaged ancillary chunks: its pixels may still be intact."""
    return _PNG + b"".join(_good_chunks(data)) if data.startswith(_PNG) else data


def _good_chunks(data: bytes) -> Iterator[bytes]:
    """Yield the chunks of a PNG (length, name, content, checksum). Ancillary chunks have a lower-case name.

    Source: https://www.w3.org/TR/png-3/#5Chunk-layout.
    """
    position = len(_PNG)
    while position < len(data):
        end = position + 12 + int.from_bytes(data[position : position + 4])
        name, checksum = data[position + 4 : position + 8], data[end - 4 : end]
        if not name[:1].islower() or zlib.crc32(data[position + 4 : end - 4]) == int.from_bytes(checksum):
            yield data[position:end]
        position = end


def _shrink_while_decoding(file: Image.Image) -> None:
    """Prepare a JPEG to be decoded at a smaller size. A progressive JPEG needs memory for all of its pixels.

    Raises: UndecodablePicture for too many pixels.
    """
    pixels = file.width * file.height
    file.draft("RGB", (LONGEST_EDGE, LONGEST_EDGE))
    if (pixels if file.info.get("progressive") else file.width * file.height) > MOST_PIXELS:
        raise UndecodablePicture(_TOO_MANY_PIXELS)


def _scaled(file: Image.Image) -> Image.Image:
    """Return a new upright RGB or RGBA image, at most LONGEST_EDGE long, without metadata."""
    file.seek(0)
    mode = "RGBA" if file.has_transparency_data else "RGB"
    image: Image.Image = file
    if file.mode.startswith("I"):  # 16 bits per pixel; the upper eight are visible
        image = file.convert("I").point(lambda level: level / 256).convert("L")
    image = image if image.mode == mode else image.convert(mode)
    image.thumbnail((LONGEST_EDGE, LONGEST_EDGE))
    image = ImageOps.exif_transpose(image)
    image.info.clear()
    return image


def _encoded(image: Image.Image, kind: str) -> EncodedPicture:
    """Encode an image. A PNG that is too large becomes a JPEG."""
    data = _image_bytes(image, kind)
    while len(data) > LARGEST:
        image = image.reduce(2) if kind == "JPEG" else image
        kind, data = "JPEG", _image_bytes(image, "JPEG")
    return EncodedPicture(
        media_type=f"image/{kind.lower()}",
        data=base64.b64encode(data).decode(),
        width=image.width,
        height=image.height,
    )


def _image_bytes(image: Image.Image, kind: str) -> bytes:
    out = BytesIO()
    if kind == "JPEG":
        if image.mode != "RGB":
            background = Image.new("RGB", image.size, "white")
            background.paste(image, mask=image.getchannel("A"))
            image = background
        image.save(out, "JPEG", quality=_QUALITY)
    else:
        image.save(out, "PNG")
    return out.getvalue()
