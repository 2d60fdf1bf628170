"""Templates are formatted for authors; browsers receive them without line breaks."""

import pytest
from django.template.loader import get_template

from agentsite.template_loader import compact


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("<p>\n  {{ name }}\n</p>\n", "<p>{{ name }}</p>"),
        ("{% if a %}\n  <b>x</b>\n{% endif %}", "{% if a %}<b>x</b>{% endif %}"),
        ("<p>one\n   two</p>", "<p>one two</p>"),
        ('<a class="x"\n   href="y">z</a>', '<a class="x" href="y">z</a>'),
        ("<input\n  required\n  name={{ n }}>", "<input required name={{ n }}>"),
        ("<a{% if x > 1 %}\n  disabled{% endif %}>", "<a{% if x > 1 %} disabled{% endif %}>"),
        ("<b>a</b>&#32;\n<i>b</i>", "<b>a</b> <i>b</i>"),
        ("<b>a</b> <i>b</i>", "<b>a</b> <i>b</i>"),
        ("<pre>\n  <b>a</b>&#10;\n  <b>b</b>\n</pre>", "<pre><b>a</b>\n<b>b</b></pre>"),
    ],
)
def test_line_breaks_are_dropped(written: str, sent: str) -> None:
    assert compact(written) == sent


def test_own_templates_have_no_line_breaks() -> None:
    assert "\n" not in get_template("base.html").template.source


def test_mails_and_other_peoples_templates_keep_their_lines() -> None:
    assert "\n" in get_template("rest_framework/base.html").template.source
