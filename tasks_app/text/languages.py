"""Language detection by script and common words, which returns nothing for unclear texts."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

EXAMINED_CHARS = 2000
FEWEST_LETTERS = 12  # of a script that identifies its language
FEWEST_WORDS = 3  # stop words of one language, and at least twice those of any other
_NOT_PROSE = re.compile(r"```.*?(```|\Z)|`[^`]*`|[!-~]*[/\\@_][!-~]*|\[attached file:[^\]]*\]", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = {
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "CJK": "Chinese",
    "CYRILLIC": "a language in Cyrillic script",
    "GREEK": "Greek",
    "ARABIC": "a language in Arabic script",
    "HEBREW": "Hebrew",
    "DEVANAGARI": "a language in Devanagari script",
    "THAI": "Thai",
    "LATIN": "",
}
_STOP_WORDS = {
    "English": "the and of to is are was this that with for you your it not have what which please from can there",
    "German": "der die das und ist nicht ein eine mit für ich du sie wir es auf den dem im zu wie bitte auch noch sind",
    "French": "le les des et est une dans pour que qui je vous nous pas sur avec ce cette du au sont plus être fait",
    "Spanish": "el los las y es una en para que por con no se del lo como más este esta pero están hay qué",
    "Italian": "il gli di e è una per che non con del della sono questo questa come più si lo nel anche perché",
    "Portuguese": "o os as e é uma para que não com do da em por mais como este esta são você dos das ao isso",
    "Dutch": "de het een en is niet van voor met op dat dit zijn ik je wij er ook naar maar wat kan deze aan",
}
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _words in _STOP_WORDS.items():
    for _word in _words.split():
        _LANGUAGES_OF.setdefault(_word, []).append(_language)
STOP_WORDS = frozenset(_LANGUAGES_OF)


@lru_cache(maxsize=256)
def language_of(text: str) -> str:
    """Return the English name of the text's language, or '' if it is unclear or unknown. Code is ignored."""
    prose = _NOT_PROSE.sub(" ", text[:EXAMINED_CHARS])
    scripts = _count_scripts(prose)
    if not scripts:
        return ""
    script, letters = scripts.most_common(1)[0]
    if letters * 10 < scripts.total() * 7:
        return "Japanese" if scripts["HIRAGANA"] + scripts["KATAKANA"] >= FEWEST_LETTERS else ""
    if script == "LATIN":
        return _language_by_words(prose)
    if script == "CJK" and scripts["HIRAGANA"] + scripts["KATAKANA"]:
        return "Japanese"
    return _SCRIPTS[script] if letters >= FEWEST_LETTERS else ""


def _count_scripts(text: str) -> "Counter[str]":
    """Count the letters of each known script."""
    names = (unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    return Counter(script for name in names if (script := name.partition("-")[0]) in _SCRIPTS)


def _language_by_words(text: str) -> str:
    languages = (language for word in _WORD.findall(text.lower()) for language in _LANGUAGES_OF.get(word, ()))
    (language, count), (_, next_count) = [*Counter(languages).most_common(2), ("", 0), ("", 0)][:2]
    return language if count >= FEWEST_WORDS and count >= 2 * next_count else ""
