"""Secrets in all common forms are replaced by placeholders."""

import base64
import html
import json
import shlex
import textwrap
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

import pytest
from django.utils.html import escape
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_app.redaction import Redactor

VALUES = {
    "token": "ghp_0a1B2c3D4e5F6g7H8i9J",
    "password": "pa\"ss' \\wo/rd <&> 100%+=?#",
    "foreign": "naïve→Passwort-ß😀",
    "lines": "first line of a key\n\tsecond, 'quoted' line\r\nthird/line+of==",
}


def lower_escapes(text: str) -> str:
    return "".join(part.lower() if n % 2 else part for n, part in enumerate(_parts(text)))


def _parts(text: str) -> list[str]:
    """Split a text, with percent escapes as separate parts at the odd positions."""
    out, rest = [], text
    while "%" in rest:
        before, _, rest = rest.partition("%")
        out += [before, "%" + rest[:2]]
        rest = rest[2:]
    return [*out, rest]


WRITTEN: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": lambda v: json.dumps(v, ensure_ascii=False)[1:-1],
    "JSON, ASCII only": lambda v: json.dumps(v)[1:-1],
    "JSON with escaped slashes": lambda v: json.dumps(v)[1:-1].replace("/", "\\/"),
    "JSON safe for HTML": lambda v: (
        json.dumps(v)[1:-1].replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    ),
    "JSON in JSON": lambda v: json.dumps(json.dumps(v))[1:-1],
    "JSON in JSON, not ASCII": lambda v: json.dumps(json.dumps(v, ensure_ascii=False), ensure_ascii=False)[1:-1],
    "JSON in HTML": lambda v: html.escape(json.dumps(v)),
    "JSON in a URL": lambda v: quote(json.dumps(v), safe=""),
    "URL": lambda v: quote(v, safe=""),
    "URL with slashes": quote,
    "URL with small digits": lambda v: lower_escapes(quote(v, safe="")),
    "form": lambda v: urlencode({"q": v}),
    "form with small digits": lambda v: lower_escapes(quote_plus(v)),
    "HTML": html.escape,
    "HTML by Django": escape,
    "HTML, text only": lambda v: html.escape(v, quote=False),
    "HTML, ASCII only": lambda v: html.escape(v).encode("ascii", "xmlcharrefreplace").decode(),
    "Python": repr,
    "Python, ASCII only": ascii,
    "Python's bytes": lambda v: repr(v.encode()),
    "shell": shlex.quote,
    "hex": lambda v: v.encode().hex(),
    "hex in capitals": lambda v: v.encode().hex().upper(),
    "hex dump": lambda v: v.encode().hex(" "),
    "each line": lambda v: "\n+ ".join(line for line in v.splitlines()),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN)
def test_a_written_form_is_redacted(value: str, write: Callable[[str], str]) -> None:
    redacted = Redactor([("KEY", value)]).redacted(f"before {write(value)} after")
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")
    assert "[secret:KEY]" in redacted
    for line in value.splitlines():
        assert write(line).strip("'\"b") not in redacted


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("before", [b"", b"u", b"us", b"use", b"user:", b"x" * 40])
@pytest.mark.parametrize("after", [b"", b"1", b"12", b"123", b"\n"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("width", [0, 76, 20])
def test_base64_is_redacted_at_any_offset_and_wrapping(value, before, after, encode, width):
    text = encode(before + value.encode() + after).decode()
    text = "\n".join(textwrap.wrap(text, width)) if width else text
    redacted = Redactor([("KEY", value)]).redacted(f"Authorization: Basic {text} end")
    assert "[secret:KEY]" in redacted
    left = redacted.removeprefix("Authorization: Basic ").removesuffix(" end").replace("[secret:KEY]", "")
    assert len(left) <= 8 * (len(before) + len(after)) // 6 + 6 + (len(before) // 20 if width else 0)


def test_single_lines_of_a_key_are_redacted_but_not_its_heading() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nb2Rlc2F0dGVzdA==\n-----END PRIVATE KEY-----\n"
    redactor = Redactor([("TLS", key)])
    assert redactor.redacted("12\tMIIEvQIBADANBgkqhkiG9w0BAQEFAASC") == "12\t[secret:TLS]"
    assert redactor.redacted("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"
    assert redactor.redacted(f"a {key.strip()} b") == "a [secret:TLS] b"


def test_white_space_around_a_value_is_not_part_of_it() -> None:
    assert Redactor([("KEY", " s3cr3t-value\n")]).redacted("x s3cr3t-value y") == "x [secret:KEY] y"


def test_the_longest_of_nested_secrets_is_named() -> None:
    redactor = Redactor([("SHORT", "abcdefgh"), ("LONG", "abcdefgh-ijklmnop"), ("PART", "cdefgh-ijkl")])
    assert redactor.redacted("x abcdefgh-ijklmnop y abcdefgh z") == "x [secret:LONG] y [secret:SHORT] z"


def test_no_part_of_overlapping_secrets_remains() -> None:
    redactor = Redactor([("A", "aaaa-bbbb-cccc"), ("B", "cccc-dddd-eeee-ffff")])
    assert redactor.redacted("x aaaa-bbbb-cccc-dddd-eeee-ffff y") == "x [secret:B] y"


def test_the_first_of_two_names_for_one_value_is_used() -> None:
    assert Redactor([("B", "one-value-1"), ("A", "one-value-1")]).redacted("one-value-1") == "[secret:B]"


def test_the_spans_are_sufficient_for_replay() -> None:
    from llm_app.redaction.redactor import with_placeholders

    text = "→ one-value-1 and 6f6e652d76616c75652d31"
    redacted = Redactor([("A", "one-value-1")]).redact(text)
    assert [(span.offset, span.length, span.placeholder) for span in redacted.spans] == [
        (2, 11, "[secret:A]"),
        (18, 22, "[secret:A]"),
    ]
    assert with_placeholders(text, redacted.spans) == redacted.text


def test_json_values_are_redacted_in_every_text_and_name() -> None:
    redactor = Redactor([("A", "one-value-1")])
    value = {"one-value-1": ["x one-value-1", 3, None, True, {"k": ("one-value-1",)}]}
    assert redactor.redacted_json(value) == {"[secret:A]": ["x [secret:A]", 3, None, True, {"k": ["[secret:A]"]}]}


def test_a_truncated_text_shows_no_beginning_of_a_secret() -> None:
    redactor = Redactor([("A", "one-value-1")])
    for size in range(1, 11):
        assert redactor.redacted_beginning("the key: " + "one-value-1"[:size]) == "the key: "
    assert redactor.redacted_beginning("the key: one-value-1") == "the key: [secret:A]"


def test_names_stay_and_redacting_twice_changes_nothing() -> None:
    redactor = Redactor([("GITHUB_TOKEN", "one-value-1"), ("B", "GITHUB_TOKEN"), ("C", "[secret:")])
    once = redactor.redacted("one-value-1 [secret:GITHUB_TOKEN]")
    assert once == "[secret:GITHUB_TOKEN] [secret:GITHUB_TOKEN]"
    assert redactor.redacted(once) == once


def test_the_version_identifies_a_set_of_secrets() -> None:
    one, other = ("A", "one-value-1"), ("B", "two-value-2")
    assert Redactor([one, other]).version == Redactor([other, one]).version
    versions = {Redactor(s).version for s in ([], [one], [other], [one, other], [("A", "two-value-2")])}
    assert len(versions) == 5


def test_a_text_that_cannot_be_redacted_is_withheld(caplog: pytest.LogCaptureFixture) -> None:
    redactor = Redactor([("A", "one-value-1")])
    broken: str = 17  # type: ignore[assignment]
    redactor._packed = None  # type: ignore[assignment]
    assert redactor.redacted("one-value-1") == "[withheld: redaction failed]"
    assert redactor.redacted_json({"a": ["one-value-1"]}) == {
        "[withheld: redaction failed]": ["[withheld: redaction failed]"]
    }
    assert Redactor([("A", "one-value-1")]).redacted_beginning(broken) == "[withheld: redaction failed]"
    assert "one-value-1" not in caplog.text


# --- arbitrary secrets and texts ---------------------------------------------------------------------------------

alphabet = st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="[]")
values = st.text(alphabet, min_size=8, max_size=40).filter(lambda v: len(v.strip()) >= 8 and len(set(v.strip())) > 3)
texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=60)


@settings(deadline=None)
@given(value=values, texts=st.lists(texts, min_size=2, max_size=4), write=st.sampled_from(sorted(WRITTEN)))
def test_no_form_of_any_secret_survives(value: str, texts: list[str], write: str) -> None:
    form = WRITTEN[write](value.strip())
    text = form.join(texts)
    redacted = Redactor([("KEY", value)]).redacted(text)
    assert WRITTEN[write](value.strip()) not in redacted
    assert value.strip() not in redacted


@settings(deadline=None)
@given(text=texts, value=values)
def test_a_text_without_the_secret_stays_as_it_is(text: str, value: str) -> None:
    if not Redactor([("KEY", value)]).redact(text).spans:
        assert Redactor([("KEY", value)]).redacted(text) == text
    assert Redactor([("KEY", value)]).redacted("Nothing is hidden here.") == "Nothing is hidden here."
