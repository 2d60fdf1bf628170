"""Translation of sentences that are stored or raised in English.

The record, models and programs use English, so stored text does not depend on a user's language. Pages translate a
sentence by finding its template in the catalogue, where `{0}` matches any inserted text.
"""

import re
from functools import lru_cache

from django.conf import settings
from django.utils.formats import get_format
from django.utils.translation import get_language, gettext
from django.utils.translation.trans_real import translation

_FIELD = re.compile(r"\{(\w+)\}")
_END = re.compile(r"((?<=[.!?…]) (?=\S)|[;:] )")
_GROUPED = re.compile(r"\d{1,3}(,\d{3})+")  # 12,345
_MAX_PARTS = 20  # parts. A longer text is not one of ours
_MAX_CHARS = 1_000  # characters. Matching 4,000 with a template of four fields took 17 s


def translated(text: str) -> str:
    """Return a text in the current language. Sentences that the catalogue lacks stay as they are."""
    language = get_language() or settings.LANGUAGE_CODE
    is_ours = language != settings.LANGUAGE_CODE and 0 < len(text) <= _MAX_CHARS
    return _translated(text, language) if is_ours else text


@lru_cache(maxsize=2_000)
def _translated(text: str, language: str) -> str:
    """Translate a text, or each of its longest parts that the catalogue has."""
    translated_text = _translation_of(text, language)
    if translated_text is not None:
        return translated_text
    parts, translations = _END.split(text), []
    if len(parts) > _MAX_PARTS:
        return text
    while parts:
        for count in range(len(parts), 0, -1):
            translated_text = _translation_of("".join(parts[:count]), language)
            if translated_text is not None:
                break
        translations.append(parts[0] if translated_text is None else translated_text)
        del parts[:count]
    return "".join(translations)


def _translation_of(text: str, language: str) -> str | None:
    if text in _catalogue_texts(language):
        return gettext(text)
    for template, pattern in _patterns(language):
        if match := pattern.fullmatch(text):
            return _fill(gettext(template), match, language)
    return None


def _fill(template: str, match: re.Match[str], language: str) -> str:
    return _FIELD.sub(lambda field: _translated_value(match[f"f{field[1]}"], language), template)


def _translated_value(value: str, language: str) -> str:
    """Translate an inserted number, phrase or sentence. Other capitalized values are names."""
    if _GROUPED.fullmatch(value):
        return value.replace(",", str(get_format("THOUSAND_SEPARATOR")))
    return _translated(value, language) if value[0].islower() or value.endswith((".", "!", "?")) else value


@lru_cache(maxsize=16)
def _catalogue_texts(language: str) -> frozenset[str]:
    """Return all texts of the catalogue, read where Django's view for scripts reads them."""
    catalogue = translation(language)._catalog  # type: ignore[attr-defined]
    return frozenset(text for text in catalogue.keys() if isinstance(text, str))  # noqa: SIM118  not a dict


@lru_cache(maxsize=16)
def _patterns(language: str) -> list[tuple[str, re.Pattern[str]]]:
    """Return templates and their patterns, longest first, as these are the most specific."""
    templates = sorted((text for text in _catalogue_texts(language) if _FIELD.search(text)), key=len, reverse=True)
    return [(text, re.compile(_as_pattern(text), re.DOTALL)) for text in templates]


def _as_pattern(template: str) -> str:
    """Return the pattern of a template's texts.

    A field ends at the first occurrence of the words after it: if the rest fits anywhere, it fits there. Only the
    last field, which ends with the text, needs backtracking.
    """
    begin, *rest = _FIELD.split(template)
    names, words = rest[::2], rest[1::2]
    parts = [
        (f"(?P=f{name})" if name in names[:number] else f"(?P<f{name}>.+?)") + re.escape(words[number])
        for number, name in enumerate(names)
    ]
    return re.escape(begin) + "".join(f"(?>{part})" for part in parts[:-1]) + parts[-1]
