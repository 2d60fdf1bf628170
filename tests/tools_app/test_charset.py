"""Tests that bytes become the intended text, even with a wrong charset in the header."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_app.files.encoding import decode_text


@pytest.mark.parametrize(
    ("body", "declared"),
    [
        ("Füße".encode(), ""),
        ("Füße".encode(), "iso-8859-1"),
        ("Füße".encode(), "no-such-charset"),
        ("Füße".encode("utf-8-sig"), "us-ascii"),
        ("Füße".encode("latin-1"), ""),
        ("Füße".encode("latin-1"), "utf-8"),
        ("Füße".encode("latin-1"), "Latin1"),
        ("Füße".encode("latin-1"), "utf8mb4"),
        ("Füße".encode("utf-16"), ""),
        ("Füße".encode("utf-16-le"), "UTF-16LE"),
        ("Füße".encode("utf-16-be"), "utf-16be"),
    ],
)
def test_european_text_is_decoded(body: bytes, declared: str) -> None:
    assert decode_text(body, declared) == "Füße"


@pytest.mark.parametrize("charset", ["shift_jis", "euc-jp", "iso-2022-jp", "gb18030", "gb2312", "big5"])
def test_charset_of_the_server_or_the_page_is_used(charset: str) -> None:
    assert decode_text("日本".encode(charset), charset) == "日本"
    for form in (
        f'<meta charset="{charset}">日本',
        f"<META http-equiv=content-type content='text/html; charset={charset.upper()}'>日本",
        f"<?xml version='1.0' encoding='{charset}'?><p>日本",
    ):
        assert decode_text(form.encode(charset), "") == form


def test_declared_single_byte_charset_is_used() -> None:
    assert decode_text("<meta charset=windows-1251>Привет".encode("cp1251")).endswith("Привет")
    assert decode_text("Привет".encode("koi8-r"), "koi8-r") == "Привет"


def test_charset_names_mean_the_same_as_in_browsers() -> None:
    assert decode_text("镕".encode("gbk"), "gb2312") == "镕"
    assert decode_text("①髙".encode("cp932"), "shift_jis") == "①髙"
    assert decode_text("“Füße”".encode("cp1252"), "iso-8859-1") == "“Füße”"


def test_one_invalid_byte_does_not_spoil_a_page() -> None:
    for charset in ("utf-8", "gb18030", "euc-jp"):
        page = "日本語".encode(charset) * 100
        assert decode_text(page + b"\xff " + page, charset).count("日本語") == 200


@pytest.mark.parametrize("name", ["punycode", "idna", "unicode_escape", "rot13", "hex", "zip", "undefined"])
def test_codecs_that_are_not_charsets_are_ignored(name: str) -> None:
    assert decode_text(b"ab\\u0041-xyz", name) == "ab\\u0041-xyz"
    assert decode_text(f"<meta charset={name}>a".encode()) == f"<meta charset={name}>a"


def test_incomplete_character_at_the_end_is_dropped() -> None:
    body = "日本€😀".encode()
    for size in range(len(body)):
        assert "日本€😀".startswith(decode_text(body[:size], truncated=True))
    assert decode_text("Füße caf\u00e9".encode("latin-1"), truncated=False) == "Füße café"


@given(st.binary(max_size=200), st.text(max_size=10), st.booleans())
def test_decoding_never_fails(body: bytes, declared: str, truncated: bool) -> None:
    decode_text(body, declared, truncated=truncated)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\ufffe\uffff")))
def test_valid_utf_8_is_unchanged(text: str) -> None:
    assert decode_text(text.encode(), "utf-8") == text
