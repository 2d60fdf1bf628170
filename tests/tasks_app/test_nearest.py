"""Terms of texts, and ranking of texts by a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.text.retrieval import LONGEST, bm25, terms_of


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Reports, REPORT; report's", ["report", "report", "report", "s"]),
        ("snake_case file.txt", ["snake", "case", "file", "txt"]),
        ("東京で会議", ["東京", "京で", "で会", "会議"]),
        ("v2 の API", ["v2", "の", "api"]),
        ("Übergabe ＡＢＣ", ["übergabe", "abc"]),
        ("", []),
    ],
)
def test_words_become_terms(text, terms):
    assert terms_of(text) == terms


@given(st.text())
def test_terms_have_no_search_syntax(text):
    assert all(term.isalnum() and 0 < len(term) <= LONGEST for term in terms_of(text))


def ask(question, *texts, most=5):
    return bm25(terms_of(question), texts, terms_of, most)


def test_more_matching_words_rank_higher():
    assert ask("red car", "a red car", "a red house", "a blue car and a red one", "nothing")[0] == "a red car"


def test_rare_words_rank_higher():
    assert ask("red zebra", "red a", "red b", "red c", "zebra d")[0] == "zebra d"


def test_shorter_texts_rank_higher():
    assert ask("tea", "tea " + "and much else " * 20, "tea")[0] == "tea"


def test_texts_without_a_match_are_excluded():
    assert ask("tea", "coffee") == ask("tea") == ask("", "tea") == []


@given(st.lists(st.text()), st.text(), st.integers(0, 5))
def test_results_are_unique_and_limited(texts, question, most):
    places = bm25(terms_of(question), range(len(texts)), lambda n: terms_of(texts[n]), most)
    assert len(places) == len(set(places)) <= most
