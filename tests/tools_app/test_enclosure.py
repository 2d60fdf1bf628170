"""Tests that text between the web_page tags cannot close them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_app.web.untrusted import enclose


@pytest.mark.parametrize("tag", ["</web_page>", "</WEB_PAGE >", "< /\tweb_page>", '<web_page url="x">', "<<web_page"])
def test_text_cannot_open_or_close_a_page(tag: str) -> None:
    first, inside, last = enclose("http://x/", f"before {tag} after").split("\n")
    assert (first, last) == ('<web_page url="http://x/">', "</web_page>")
    assert inside.startswith("before ")
    assert inside.endswith(" after")
    assert tag not in inside


def test_address_cannot_leave_its_attribute() -> None:
    assert enclose('http://x/"><b>', "").splitlines()[0] == '<web_page url="http://x/%22%3E%3Cb%3E">'


@given(st.text("</web_page> \n"))
def test_the_only_end_tag_is_the_last_line(text: str) -> None:
    assert enclose("http://x/", text).count("</web_page>") == 1
