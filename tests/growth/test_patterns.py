"""Tests that every regular expression of the project takes linear time on any text."""

import re
from dataclasses import replace

import pytest

from tests.growth.patterns import GrowthMeter, Pump, SourcePattern, module, modules, patterns_of, pumps, seconds

LENGTH = 10_000  # characters; four times as many for slow uses

# Patterns built from local values: an expression of their module that yields all or typical ones.
EXAMPLES = {
    "llm_app/call/families.py: family.names": "[each.names for each in _FAMILIES]",
    "llm_app/call/learned_quirks.py: rule.message_pattern": "[each.message_pattern for each in _RULES]",
    "llm_app/call/learned_quirks.py: f'(?<!\\\\w){field}(?!\\\\w)'": "[rf'(?<!\\w){each.field}(?!\\w)' for each in _RULES]",
    "llm_app/call/learned_quirks.py: _named_as_field(field)": "[_named_as_field('stream')]",
    "llm_app/call/learned_limits.py: f'(?<!\\\\d){size}\\\\s*(?:>|/)\\\\s*{_NUMBER}'": (
        "[rf'(?<!\\d)100000\\s*(?:>|/)\\s*{_NUMBER}']"
    ),
    "llm_app/redaction/needles.py: f\"(?={''.join((f'[{some}]' for some in of_each_place))})\" "
    "if of_each_place else '(?!)'": "[_pattern_of_starts(['aaaa', 'abab']).pattern]",
    "llm_app/setup/known_providers.py: known.key": "[each.key for each in KNOWN_PROVIDERS]",
    "llm_app/setup/model_list.py: family.pattern": (
        "[each.pattern for known in __import__('llm_app.setup.known_providers', fromlist=['']).KNOWN_PROVIDERS for each in known.families]"
    ),
    "llm_app/text_calls/last_block.py: _closing": "[r'[ \\t>]{0,3}`{3,}\\s*', r'[ \\t>]{0,900}~{900,}\\s*']",
    "llm_app/text_calls/markers.py: markers.begin": "[each.begin for each in FAMILIES.values()]",
    "llm_app/text_calls/markers.py: begin_pattern": "[each.begin for each in FAMILIES.values()]",
    "llm_app/text_calls/markers.py: end_pattern": "[each.end for each in FAMILIES.values()]",
    "llm_app/text_calls/xml_calls.py: pattern": "[p for each in DIALECTS for p in (each.call_begin, each.parameter_begin)]",
    "llm_app/text_calls/xml_calls.py: self.sign": "[each.sign for each in DIALECTS]",
    "llm_app/text_calls/xml_value.py: _tags": "[XMLValue('</parameter>', '<parameter')._tags.pattern]",
    "tasks_app/pages/markdown/sanitizer.py: pattern": "[_MATH_CLASS, *_CLASSES.values()]",
    "tasks_app/pages/preview_exchange.py: pattern": "[pattern.pattern for pattern in _PAGE_BEGINNINGS]",
    "tasks_app/pages/preview_exchange.py: "
    "f'https?://(localhost|127\\\\.0\\\\.0\\\\.1|0\\\\.0\\\\.0\\\\.0|sandbox):{self._request.port}(?=/|$)'": (
        "['https?://(localhost|sandbox):80(?=/|$)']"
    ),
    "tasks_app/pages/sign_ins.py: sign": "[sign for sign, _ in (*_BROWSERS, *_SYSTEMS)]",
    "tasks_app/text/sentences.py: _as_pattern(text)": "[pattern.pattern for _, pattern in _patterns('de')]",
    "tools_app/documents/long_document.py: f'\\\\A#++\\\\s*+{re.escape(section.heading)}[^\\\\S\\\\n]*+\\\\n'": (
        r"[r'\A#++\s*+A[^\S\n]*+\n']"
    ),
    "tools_app/shell/secrets.py: '|'.join(map(re.escape, secrets))": "[placeholders({'[secret:A]': '', '[[': ''}).pattern]",
}
# Patterns written by people. They are only compiled for validation, or have a timeout, or run in a child process.
BY_PEOPLE = {
    "agentsite/configuration/agents.py: pattern",
    "tasks_app/admin/agents.py: pattern",
    "tasks_app/engine/routing.py: rule.pattern",
    "tasks_app/models/routing_rule.py: self.pattern",
    "tools_app/hooks/builtin.py: pattern",
    "tools_app/matching/document_child.py: expression",
    "tools_app/matching/patterns.py: re.escape(folder) + ('' if anchored else '(?:.*/)?') + f'(?:{body})'",
    "tools_app/matching/patterns.py: characters",
    "tools_app/matching/worker.py: expression",
}
# Slower patterns with a bounded text: the name of the limit in their module.
BOUNDED = {"tasks_app/text/languages.py: _NOT_PROSE": "EXAMINED_CHARS"}
# Patterns that are passed on, so that their use is not visible: the only method used with them.
METHODS = {
    **{
        f"tools_app/shell/tokens.py: {name}": "match"
        for name in (
            "BLANK",
            "REDIRECTION",
            "OPERATOR",
            "WORD",
            "KEYWORD_IN",
            "PATTERN_OPERATOR",
            "SUBSCRIPT",
            "BACKTICKS",
        )
    },
    "tools_app/editing/replacement.py: _READING": "match",
    "tools_app/editing/replacement.py: ' *(\\\\d{1,7}): '": "match",
    "tools_app/editing/replacement.py: ' *(\\\\d{1,7})[:-]'": "match",
    "tools_app/editing/replacement.py: ' *(\\\\d{1,7}) ?\\\\| ?'": "match",
    "tools_app/shell/tokens.py: ESCAPED_IN_BACKTICKS": "sub",
    "tools_app/shell/tokens.py: ESCAPED_IN_QUOTED_BACKTICKS": "sub",
    "tasks_app/text/sentences.py: _as_pattern(text)": "fullmatch",
}


def _concrete(found: SourcePattern) -> list[SourcePattern]:
    if found.place in BY_PEOPLE:
        return []
    if method := METHODS.get(found.place):
        found = replace(found, methods=frozenset([method]))
    if found.text is not None:
        return [found]
    assert found.place in EXAMPLES, f"{found.place} is made of local values: EXAMPLES needs a line for it"
    return [replace(found, text=text) for text in eval(EXAMPLES[found.place], module(found.path))]


def _slow(pattern: SourcePattern) -> str:
    """Return the text that takes too long, or ''."""
    assert pattern.text is not None
    limit = BOUNDED.get(pattern.place)
    for method, use in pattern.uses():
        meter = GrowthMeter(LENGTH)
        for pump in pumps(pattern.text, pattern.flags):
            text = lambda length, pump=pump: pump.text(length, pattern.text)  # noqa: E731
            if limit and seconds(use, text(module(pattern.path)[limit]), 1) > 0.05:
                return f"{pattern.place}: {method} of {pump} up to its limit"
            if not limit and meter.is_exceeded(use, text):
                return f"{pattern.place}: {method} of {pump}"
    return ""


@pytest.mark.parametrize("path", [path for path in modules() if any(patterns_of(path))])
def test_time_grows_with_the_text(path):
    slow = [fault for found in patterns_of(path) for pattern in _concrete(found) if (fault := _slow(pattern))]
    assert not slow, "\n".join(slow)


def test_lists_name_existing_patterns():
    places = {found.place for path in modules() for found in patterns_of(path)}
    assert not {*EXAMPLES, *BY_PEOPLE, *BOUNDED, *METHODS} - places


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"<(?=\s*/?\s*page)", "sub"),
        (r"\s+$", "search"),
        (r"(a+)+b", "match"),
        (r"\w+@\w+", "search"),
        (r"\[([^\]]*)\]", "findall"),
        (rb"<meta[^>]+?charset", "search"),
        (r"[^.\n]*\b(hope|help)[^.\n]*", "sub"),
        (r"(?s)\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", "match"),
        (r"(?s)<(b|i)>.*?</\1>", "finditer"),
    ],
)
def test_hostile_texts_detect_nonlinear_patterns(pattern, method):
    assert _slow(SourcePattern(path="", expression="", methods=frozenset([method]), text=pattern))


def test_harmless_patterns_pass():
    for pattern in (r"\s+", r"(?<!\s)\s++$", r"<(?=\s*+/?+\s*+page)", r"\b\w++@\w+", r"a{1,10}b"):
        assert not _slow(
            SourcePattern(path="", expression="", methods=frozenset(["search"]), text=re.compile(pattern).pattern)
        )


def test_pump_repeats_its_unit():
    assert Pump("<", "ab", "!").text(6, "") == "<ababab!"
    assert Pump("<", "é", "").text(2, b"") == "<éé".encode()
