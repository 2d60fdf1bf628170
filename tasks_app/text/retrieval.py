"""The terms by which texts are found. Pure; one way for what is stored and what is asked, on every database."""

import re
import unicodedata
from itertools import pairwise

LONGEST = 40  # characters of a term
_WITHOUT_SPACES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"  # kana, Han, hangul
_RUN = re.compile(rf"(?P<dense>[{_WITHOUT_SPACES}]+)|[^\W_{_WITHOUT_SPACES}]+")


def terms_of(text: str) -> list[str]:
    """Words in small letters, without the s of a plural; pairs of characters where words have no spaces between.

    A term has letters and digits only: nothing in it means anything to a database.
    """
    found: list[str] = []
    for run in _RUN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        found += _pairs(run[0]) if run["dense"] else [_singular(run[0])[:LONGEST]]
    return found


def _pairs(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)] or [run]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
