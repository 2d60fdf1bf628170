"""Tags that mark untrusted text from the web as data, which the text itself cannot forge."""

import re

PAGE, RESULTS = "web_page", "search_results"
_TAG = re.compile(rf"<(?=\s*+/?+\s*+({PAGE}|{RESULTS}))", re.IGNORECASE)


def enclose(url: str, text: str) -> str:
    """Return `text` between <web_page url="…"> and </web_page>, with such tags inside it escaped."""
    address = url.replace('"', "%22").replace("<", "%3C").replace(">", "%3E")
    return f'<{PAGE} url="{address}">\n{_without_tags(text)}\n</{PAGE}>'


def enclose_results(text: str) -> str:
    """Return `text` between <search_results> and </search_results>, with such tags inside it escaped."""
    return f"<{RESULTS}>\n{_without_tags(text)}\n</{RESULTS}>"


def _without_tags(text: str) -> str:
    return _TAG.sub("&lt;", text)
