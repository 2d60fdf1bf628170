"""Pictures become small, upright and anonymous before they are sent; other files are rejected with a reason."""

import base64
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from llm_app.pictures import LARGEST, LONGEST_EDGE, EncodedPicture, UndecodablePicture, encode
from tests.pictures import noise, picture, with_wrong_checksums


def decoded(encoded: EncodedPicture) -> Image.Image:
    image = Image.open(BytesIO(base64.b64decode(encoded.data)))
    assert image.size == (encoded.width, encoded.height)
    assert Image.MIME[image.format] == encoded.media_type
    return image


@pytest.mark.parametrize(
    ("given", "sent"),
    [((4000, 1000), (1568, 392)), ((1000, 4000), (392, 1568)), ((1568, 1568), (1568, 1568)), ((9000, 2), (1568, 1))],
)
def test_a_large_picture_is_scaled_in_proportion(given, sent):
    assert decoded(encode(picture(*given))).size == sent


def test_a_small_picture_keeps_its_size():
    assert decoded(encode(picture(8, 6))).size == (8, 6)


@pytest.mark.parametrize(
    ("kind", "mode", "color", "media_type"),
    [
        ("PNG", "RGB", "red", "image/png"),
        ("PNG", "RGBA", (255, 0, 0, 255), "image/png"),
        ("PNG", "L", 76, "image/png"),
        ("PNG", "LA", (76, 255), "image/png"),
        ("PNG", "P", 0, "image/png"),
        ("PNG", "1", 0, "image/png"),
        ("PNG", "I;16", 30_000, "image/png"),
        ("JPEG", "RGB", "red", "image/jpeg"),
        ("JPEG", "CMYK", (0, 255, 255, 0), "image/jpeg"),
        ("JPEG", "L", 76, "image/jpeg"),
        ("WEBP", "RGB", "red", "image/jpeg"),
        ("WEBP", "RGBA", (255, 0, 0, 99), "image/png"),
        ("GIF", "P", 0, "image/png"),
        ("BMP", "RGB", "red", "image/png"),
        ("TIFF", "RGB", "red", "image/jpeg"),
        ("TIFF", "CMYK", (0, 255, 255, 0), "image/jpeg"),
        ("JPEG2000", "RGB", "red", "image/jpeg"),
        ("AVIF", "RGB", "red", "image/jpeg"),
    ],
)
def test_every_format_becomes_a_common_one(kind, mode, color, media_type):
    encoded = encode(picture(kind=kind, mode=mode, color=color))
    assert encoded.media_type == media_type
    assert decoded(encoded).mode in ("RGB", "RGBA")


def test_16_bit_pixels_keep_their_gray():
    image = decoded(encode(picture(mode="I;16", color=128 * 256)))
    assert image.getpixel((0, 0)) == (128, 128, 128)


def test_the_orientation_of_the_camera_is_applied():
    data = picture(40, 20, "JPEG", exif=_exif({0x0112: 6}))
    assert decoded(encode(data)).size == (20, 40)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_metadata_of_the_camera_is_removed(kind):
    said = PngInfo()
    said.add_text("Comment", "taken in a secret place")
    options = {"pnginfo": said} if kind == "PNG" else {}
    data = picture(kind=kind, exif=_exif({0x010E: "taken in a secret place", 0x0110: "A camera"}), **options)
    assert b"taken in a secret place" in data
    encoded = encode(data)
    assert b"secret" not in base64.b64decode(encoded.data)
    assert not decoded(encoded).getexif()


def test_the_first_frame_of_an_animation_is_used():
    frames = [Image.new("RGB", (4, 4), color) for color in ("red", "blue")]
    out = BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    image = decoded(encode(out.getvalue()))
    assert getattr(image, "n_frames", 1) == 1
    assert image.convert("RGB").getpixel((0, 0)) == (255, 0, 0)


def test_a_large_png_becomes_a_jpeg():
    encoded = encode(noise(1568, 1568))
    assert encoded.media_type == "image/jpeg"
    assert len(base64.b64decode(encoded.data)) <= LARGEST


def test_a_large_jpeg_is_scaled_down(monkeypatch):
    monkeypatch.setattr("llm_app.pictures.LARGEST", 20_000)
    encoded = encode(noise(1000, 500, "JPEG"))
    assert len(base64.b64decode(encoded.data)) <= 20_000
    assert decoded(encoded).size < (1000, 500)


def test_transparency_becomes_white_in_a_jpeg(monkeypatch):
    monkeypatch.setattr("llm_app.pictures.LARGEST", 20_000)
    unseen = Image.effect_noise((300, 300), 200).convert("RGBA")
    unseen.putalpha(0)
    out = BytesIO()
    unseen.save(out, "PNG")
    image = decoded(encode(out.getvalue()))
    assert image.format == "JPEG"
    assert image.getpixel((150, 150)) == (255, 255, 255)


@pytest.mark.parametrize("edge", [4_001, 10_000, 20_000])
def test_a_decompression_bomb_is_rejected_before_decoding(edge):
    data = picture(edge, edge, mode="1", color=0)
    with pytest.raises(UndecodablePicture, match="more than 16 million pixels"):
        encode(data)


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_bombs_of_other_formats_are_rejected_before_decoding(kind):
    with pytest.raises(UndecodablePicture, match="more than 16 million pixels"):
        encode(picture(4_001, 4_000, kind))


def test_a_jpeg_may_have_more_pixels_because_it_is_decoded_smaller():
    assert decoded(encode(picture(8_000, 6_000, "JPEG"))).size == (1568, 1176)
    with pytest.raises(UndecodablePicture, match="more than 16 million pixels"):
        encode(picture(8_000, 6_000, "JPEG", progressive=True))  # decoders need memory for all pixels of these


def test_only_damaged_ancillary_chunks_are_tolerated():
    data = with_wrong_checksums()
    assert decoded(encode(data)).size == (8, 6)
    place = data.index(b"IDAT") + 6
    with pytest.raises(UndecodablePicture):
        encode(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no picture",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        picture()[:40],
    ],
    ids=["empty", "text", "svg", "cut"],
)
def test_other_files_are_rejected(data):
    with pytest.raises(UndecodablePicture, match="no picture of a usual format"):
        encode(data)


@given(
    st.sampled_from(["PNG", "JPEG", "GIF", "WEBP"]),
    st.integers(0, 10_000),
    st.binary(min_size=1, max_size=20),
    st.booleans(),
)
def test_damaged_data_never_raises_another_error(kind, place, damage, cut):
    data = picture(40, 30, kind)
    place %= len(data)
    data = data[:place] + damage + (b"" if cut else data[place + len(damage) :])
    try:
        encoded = encode(data)
    except UndecodablePicture:
        return
    assert max(encoded.width, encoded.height) <= LONGEST_EDGE


def test_the_same_picture_gives_the_same_bytes():
    data = noise(300, 200)
    assert encode(data) == encode(data)


def _exif(tags: dict) -> Image.Exif:
    exif = Image.Exif()
    exif.update(tags)
    return exif


def test_an_icon_becomes_a_png():
    image = decoded(encode(picture(32, 32, "ICO", "RGBA", (255, 0, 0, 255))))
    assert (image.format, image.size) == ("PNG", (32, 32))
