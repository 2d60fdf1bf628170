"""Markdown of agents as safe HTML."""

import re
import time
from hashlib import sha256

import pytest
from django.conf import settings
from hypothesis import example, given
from hypothesis import strategies as st

from tasks_app.pages.markdown import PLAIN, first_words, markdown, parser, sanitizer

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
    r"$\text{<script>alert(1)</script>}$ and $\href{javascript:alert(1)}{x}$",
    r"\(\text{</math><img src=x onerror=alert(1)>}\) \[\style{background:url(//evil.example)}{x}\]",
    r"$$\includegraphics{//evil.example/x.png} \url{//evil.example} \class{x}{y} \cssId{x}{y} \color{red;background:url(//evil.example)}{x}$$",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>",
    "a[^<img src=x onerror=alert(1)>]\n\n[^<img src=x onerror=alert(1)>]: [x](javascript:alert(1)) <b>x</b>",
    "- [ ] <input autofocus onfocus=alert(1)>\n- [x] [x](javascript:alert(1))",
    '```mermaid\ngraph TD; A[<img src=x onerror=alert(1)>]-->B; click A href "javascript:alert(1)"\n```',
    '```mermaid" onclick=alert(1)\nx\n```',
    "```\u2028<b>\n" + "</code></pre></details><script>alert(1)</script>\n" * 40 + "```",
    "https://evil.example/<script> //evil.example ftp://evil.example javascript://evil.example/%0aalert(1)",
    'https://evil.example/" onmouseover="alert(1)',
    '| " onfocus="alert(1) | <div tabindex=9 onfocus=alert(1)> |\n|---|:-:|\n| x | y |',
]
TAG = re.compile(r"<([a-z0-9]+)((?: [a-z-]+=\"[^\"]*\")*)>|</[a-z0-9]+>|<[a-z]+ ?/?>")
NOTE = r"(fn|fnref|code)-[0-9a-f]{8}-\d+(:\d+)?"
HARMLESS = re.compile(
    rf' (href="((https?://|mailto:|/s/1/files/)[^"]*|#{NOTE})"|src="/s/1/files/[^"]*"|alt="[^"]*"|id="{NOTE}"'
    r'|class="[a-z0-9 +#.-]*"|aria-label="(Table: [^"]*|Done|Footnotes|Back to the text)"|role="region"|tabindex="0"'
    r'|dir="(auto|rtl)"|type="checkbox"|disabled=""|checked="[^"]*"|display="block"|mathcolor="#[0-9A-F]{6}"|stretchy="false"'
    r'|form="(prefix|infix|postfix)"'  # from an operator in a formula
    r'|[lr]space="[\d.]+(em)?"|width="[\d.]+r?em"|displaystyle="(true|false)"|start="\d+"|rel="noopener noreferrer nofollow"|target="_blank"|loading="lazy")'
)


def require_harmless(html: str) -> None:
    """Check that every tag and attribute is a known one."""
    rest = html
    for tag in TAG.finditer(html):
        assert tag[1] not in ("script", "style", "iframe", "form", "svg", "object", "base", "meta"), html
        assert HARMLESS.sub("", tag[2] or "") == "", html
        rest = rest.replace(tag[0], "", 1)
    assert "<" not in rest, html
    for address in re.findall(r'(?:href|src)="(/[^"]*)"', html):
        assert ".." not in address, html


@pytest.mark.parametrize("text", ATTACKS)
def test_attack_becomes_text_or_nothing(text):
    require_harmless(markdown(text, FILES))
    require_harmless(markdown(text))


@given(st.lists(st.sampled_from([*ATTACKS, "[", "](", ")", "<", ">", '"', "`", "\n", "!", "&", ":", "x"]), max_size=8))
def test_mixed_attacks_are_harmless(pieces):
    require_harmless(markdown("".join(pieces), FILES))


def test_external_picture_is_not_fetched():
    html = markdown("![a chart](https://evil.example/pixel.png?secret)", FILES)
    assert "<img" not in html
    assert '<a href="https://evil.example/pixel.png?secret"' in html


def test_workspace_pictures_and_links_are_shown():
    html = markdown("![chart](out/chart.png) and [report](./my%20report.md)", FILES)
    assert 'src="/s/1/files/out/chart.png"' in html
    assert 'href="/s/1/files/my%20report.md"' in html


def test_svg_is_not_a_picture():
    assert "src=" not in markdown("![x](drawing.svg)", FILES)


def test_links_send_no_referrer():
    html = markdown("[x](https://example.org/?a=1&b=2)")
    assert 'href="https://example.org/?a=1&amp;b=2"' in html
    assert 'rel="noopener noreferrer nofollow"' in html


def test_tables_lists_code_and_strikethrough():
    html = markdown("| a |\n|---|\n| 1 |\n\n3. x\n\n~~no~~ `y`\n\n```python\nif 1: pass\n```")
    for piece in (
        '<td class="short" dir="auto">1</td>',
        '<ol start="3" dir="auto">',
        "<s>no</s>",
        "<code>y</code>",
        '<span class="k">if</span>',
    ):
        assert piece in html


def test_unknown_language_is_plain_code():
    assert "<span" not in markdown("```klingon\nnuqneH\n```")


@pytest.mark.parametrize("formula", ["$x^2$", r"\(x^2\)", "**$x^2$**", "($x^2$)", "$x^2$, so", "- $x^2$"])
def test_inline_formula_is_mathml(formula):
    assert "<math><msup><mi>x</mi><mn>2</mn></msup></math>" in markdown(formula)


@pytest.mark.parametrize(
    "formula",
    ["$$x^2$$", "$$\nx^2\n$$", r"\[x^2\]", "\\[\nx^2\n\\]", "so\n$$\nx^2\n$$\nthat", r"is \[x^2\] then", "> $$x^2$$"],
)
def test_display_formula_is_a_scrollable_block(formula):
    html = markdown(formula)
    assert '<math display="block"><msup><mi>x</mi><mn>2</mn></msup></math>' in html
    assert 'class="formula" tabindex="0"' in html


def test_equations_are_aligned_in_columns():
    html = markdown("\\begin{align*}\na &= b \\\\\n&= c\n\\end{align*}")
    assert html.count("<mtr>") == 2
    assert 'class="m-right m-joining"' in html


@pytest.mark.parametrize(
    "text",
    [
        *("$5 to $10", "costs $5, or 10$ elsewhere", "US$5 and US$10", "$HOME/bin:$PATH", "$ x $", r"\$5 and \$6"),
        *("`$x^2$`", "```\n$x^2$\n```", "a $ b", "$5", "$$", "5$ to 6$"),
    ],
)
def test_money_and_variables_are_not_formulas(text):
    assert "<math" not in markdown(text)


def test_invalid_formula_is_shown_as_written():
    assert r"<code>\frac{1}{</code>" in markdown(r"$\frac{1}{$")


def test_task_list_has_disabled_boxes():
    html = markdown("- [x] done\n- [ ] open")
    boxes = re.findall(r"<input[^>]*>", html)
    assert [("checked" in box, "disabled" in box, 'type="checkbox"' in box) for box in boxes] == [
        (True, True, True),
        (False, True, True),
    ]


def test_footnotes_have_unique_ids_and_back_links():
    first, second = markdown("a[^1]\n\n[^1]: note"), markdown("b[^1]\n\n[^1]: note")
    notes = [re.findall(r'(?:href="#|id=")(fn[\w:-]*)"', html) for html in (first, second)]
    assert [len(ids) for ids in notes] == [4, 4]
    assert len(set(notes[0])) == 2
    assert not set(notes[0]) & set(notes[1])
    assert "_blank" not in first


def test_bare_urls_are_links_and_file_names_are_not():
    html = markdown("See https://example.org/a_b, main.py and a@b.example.")
    assert re.findall(r'href="([^"]*)"', html) == ["https://example.org/a_b"]


def test_punycode_address_is_shown_undecoded():
    assert ">https://xn--pple-43d.com/</a>" in markdown("https://xn--pple-43d.com/")


def test_each_block_has_its_direction():
    html = markdown("Hello\n\nمرحبا\n\n- שלום\n- x\n\n> **نص**\n\n| שם | b |\n|---|---|\n| 1 | 2 |\n\n- a\n\n  b")
    assert '<p dir="auto">Hello</p>\n<p dir="auto">مرحبا</p>' in html
    assert '<ul dir="rtl">\n<li>שלום' in html
    assert '<blockquote dir="rtl">' in html
    assert '<table dir="rtl">' in html
    assert '<ul dir="auto">\n<li>\n<p dir="auto">a' in html


def test_only_long_code_is_folded():
    assert "<details" not in markdown("```py\n" + "x = 1\n" * 30 + "```")
    html = markdown("```py\n" + "x = 1\n" * 31 + "```")
    assert "<summary>Python <small>31 lines</small></summary>" in html


def test_diagram_is_sent_as_source():
    html = markdown("```mermaid\ngraph TD; A-->B\n```")
    assert '<figure class="code diagram">' in html
    assert "graph TD; A--&gt;B" in html


@pytest.mark.parametrize(
    "piece",
    [
        "$$x\n",
        "\\[ x\n",
        "$x ",
        "[^1]: x\n",
        "- [ ] x\n",
        "\\(x ",
        "> ",
        "https://x.y/ ",
        "$$x}\n",
        "\\begin{align} x}\n",
    ],
)
def test_no_text_is_slow(piece):
    started = time.process_time()
    markdown(piece * (30_000 // len(piece)))
    assert time.process_time() - started < 5


def test_vendored_scripts_match_their_checksums():
    vendor = settings.BASE_DIR / "static" / "vendor"
    said = re.findall(r"\| `([\w.]+)` \|.*`([0-9a-f]{64})`", (vendor / "README.md").read_text())
    assert said
    for name, digest in said:
        assert sha256((vendor / name).read_bytes()).hexdigest() == digest


# Texts that a simple regular expression gets wrong.
NEARLY_PLAIN = [
    *("a", "12:30", "1.", "1)", ": ", ":\n", ":", "mailto:", "http:", "https:", "//", "@x.de", "www.a.com", "a@b.de"),
    *(
        " ",
        "  ",
        "\n",
        "\n\n",
        "\n ",
        "-",
        "--",
        "(",
        "[",
        "]",
        ")",
        "!",
        "'",
        '"',
        "/",
        "%",
        "&",
        "&amp;",
        "=",
        "#",
        "+",
    ),
    *("é", "ש", "—", "😀", "²", "٣", "_", "*", "|", "\xa0", "\u2028", "\ufeff", "\u200b", "\x85", "\u3000"),
]


@given(st.from_regex(PLAIN, fullmatch=True) | st.lists(st.sampled_from(NEARLY_PLAIN), max_size=12).map("".join))
@example("http:www.example.com, e.g. 1. (c) -- it's  100%")
@example('The "end" (of it): 3/4, at 12:30 – a@b.de\nis no address.\n\n\nSo mailto: https: they say\n')
def test_plain_text_equals_the_parsers_output(text):
    parsed = parser.render(text, FILES, is_whole=True)
    assert markdown(text, FILES) == sanitizer.sanitised(parsed, FILES)


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        *(("Well, so it is.", True), ("Two lines\nof words\n\nand more", True), ("It says: at 12:30, a@b.de", True)),
        *(
            ("mailto:a@b.de", False),
            ("https://example.com", False),
            ("- one", False),
            ("1. one", False),
            ("a  \nb", False),
        ),
    ],
)
def test_plain_text_needs_no_parser(text, is_plain):
    assert bool(PLAIN.fullmatch(text)) == is_plain


# --- emphasis next to CJK --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("これは**「重要」**です。", "これは<strong>「重要」</strong>です。"),
        ("**「重要」**です", "<strong>「重要」</strong>です"),
        ("これは*「重要」*です", "これは<em>「重要」</em>です"),
        ("これは~~「重要」~~です", "これは<s>「重要」</s>です"),
        ("これは***「重要」***です", "これは<em><strong>「重要」</strong></em>です"),
        ("这是**我想做的事。**所以继续。", "这是<strong>我想做的事。</strong>所以继续。"),
        ("这是**“重要”**的", "这是<strong>“重要”</strong>的"),
        ("**마크다운(Markdown)**을 사용하세요.", "<strong>마크다운(Markdown)</strong>을 사용하세요."),
        ("버튼**`저장`**을 누르세요", "버튼<strong><code>저장</code></strong>을 누르세요"),
        ("**[リンク](a.md)**を", '<strong><a href="/s/1/files/a.md" target="_blank" rel="noopener noreferrer nofollow">'
         "リンク</a></strong>を"),
        ("**重要🙂**です", "<strong>重要🙂</strong>です"),
        ("葛\U000e0100**(葛)**は", "葛\U000e0100<strong>(葛)</strong>は"),
        ("**ハ゛(ﾊﾞ)**ﾃﾞｽ", "<strong>ハ゛(ﾊﾞ)</strong>ﾃﾞｽ"),
        ("「__重要__」です", "「<strong>重要</strong>」です"),
        ("调用__init__方法", "调用__init__方法"),
        ("変数_名_前", "変数_名_前"),
        ("5 * 3 ** 2、** です", "5 * 3 ** 2、** です"),
    ],
)  # fmt: skip
def test_emphasis_next_to_cjk(text, html):
    assert markdown(text, FILES) == f'<p dir="auto">{html}</p>\n'


@pytest.mark.parametrize(
    "text",
    ["a**(b)**c", "a*\"b\"*c", "snake_case_name", "a __init__ b", "_(a)_b", "**a **b", "***a** b*", "~~a~~b", "🙂**(a)**b",
     "*.py and *.md", "“**a**”b", "a**”b**", "5*3*2"],
)  # fmt: skip
def test_other_emphasis_follows_commonmark(text):
    plain = parser.MarkdownIt("commonmark", {"html": False}).enable("strikethrough")
    assert parser.structure().renderInline(text) == plain.renderInline(text)


def test_run_of_marks_takes_linear_time():
    text = "これは**「重要」**です" * 5_000
    began = time.process_time()
    assert markdown(text, FILES).count("<strong>") == 5_000
    assert time.process_time() - began < 10


# --- words in one line -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Is `_is_create` **really** used?", "Is _is_create really used?"),
        ("_is_create and is_create_, __init__ and _private_", "_is_create and is_create_, __init__ and _private_"),
        ("Look at *.py and *.md", "Look at *.py and *.md"),
        ("a *word* and _two words_ and __three strong words__", "a word and two words and three strong words"),
        ("# A `C#` heading\n\nmore", "A C# heading"),
        ("1 < 2 and a > b, `a|b` | c", "1 < 2 and a > b, a|b | c"),
        ("> quoted *words*\n> go on", "quoted words go on"),
        ("- one\n- [two](a.md)\n- ![three](b.png)", "one two three"),
        ("```py\nx = __name__\n```", "x = __name__"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a b 1 2"),
        ("これは**「重要」**です", "これは「重要」です"),
        ("plain words", "plain words"),
        ("", ""),
        ("costs $5, formula $x_1$", "costs $5, formula x_1"),
    ],
)
def test_first_words_keep_names_and_drop_marks(text, line):
    assert first_words(text) == line
