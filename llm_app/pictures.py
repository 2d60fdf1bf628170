"""Pictures as models take them: small enough, upright, and without what a camera wrote into them."""

import base64
from dataclasses import dataclass
from io import BytesIO

from PIL import Image, ImageOps

LONGEST_EDGE = 1568  # pixels; beyond it providers scale down themselves, and charge for what they threw away
LARGEST = 3_750_000  # bytes; 5 MB as base64, Anthropic's limit for one picture
MOST_PIXELS = 64_000_000  # of the original: 256 MB decoded
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_SHARP = ("PNG", "GIF")  # drawings and screenshots, mostly
_QUALITY = 85
_TOO_MANY = f"it has more than {MOST_PIXELS // 10**6} million pixels"


class UnreadablePicture(Exception):
    """The message says why, in words for the model."""


@dataclass(frozen=True, kw_only=True)
class EncodedPicture:
    """`data` is base64, `width` and `height` are pixels."""

    media_type: str
    data: str
    width: int
    height: int


def encode(data: bytes) -> EncodedPicture:
    """A PNG or JPEG of the (first) picture in `data`. Raises UnreadablePicture."""
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as file:
            if file.width * file.height > MOST_PIXELS:
                raise UnreadablePicture(_TOO_MANY)
            image = _scaled(file)
            return _encoded(image, "PNG" if file.format in _SHARP or image.mode == "RGBA" else "JPEG")
    except UnreadablePicture:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise UnreadablePicture(_TOO_MANY) from error
    except Exception as error:  # damaged data makes decoders raise anything
        raise UnreadablePicture("it is damaged, or no PNG, JPEG, WebP or GIF") from error


def _scaled(file: Image.Image) -> Image.Image:
    """Upright, at most LONGEST_EDGE long, RGB or RGBA; a new image, so nothing else comes along."""
    file.draft("RGB", (LONGEST_EDGE, LONGEST_EDGE))  # JPEG decodes to a smaller size at once
    file.seek(0)
    image = ImageOps.exif_transpose(file)
    if image.mode.startswith("I"):  # 16 bits a pixel, of which the upper eight are seen
        image = image.convert("I").point(lambda level: level / 256).convert("L")
    image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    image.thumbnail((LONGEST_EDGE, LONGEST_EDGE))
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
