"""The command that updates the translations in `locale/` from the code, and compiles them. It needs no gettext.

Besides marked texts, people read those of exceptions, notices, tools and scripts, which are found by their kind. In
the text of an f-string, `{0}` stands for its first value (`tasks_app/text/sentences.py`).
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils.translation.template import templatize

from tools_app.contract import registry
from tools_app.json_schema import first_sentence

ROOT: Path = settings.BASE_DIR
_APPS = ("agentsite", "tasks_app", "tools_app", "llm_app")
_SKIPPED_FOLDERS = {"migrations", "admin", "prompt", "vendor", "management"}  # folders; the admin is in English
_TRANSLATION_FUNCTIONS = {"_": 1, "gettext": 1, "gettext_lazy": 1, "gettext_noop": 1, "ngettext": 2, "ngettext_lazy": 2}
# People read the arguments of these calls, and the arguments and docstrings of these classes and their subclasses.
_MESSAGE_CALLS = {"notice", "Failed", "LimitExceeded", "_fail", "Judgement", "PermissionDenied"}
_MESSAGE_CLASSES = {"Refusal", "LLMError"}
_MESSAGE_FILES = re.compile(  # files with sentences for people; those of the group also have phrases
    r"agentsite/accounts/login_limits|llm_app/(call/learned_quirks|connection_test|errors|provider_status|redaction/refusal|setup/connect)"
    r"|tasks_app/(run/(decisions|interrupts)|services/(diagnosis|forks|secrets|servers))|tools_app/files/(paths|safe_open|workspace)"
    r"|(?P<phrases>llm_app/budgets/limits|tasks_app/engine/(approvals|observer|preflight|compaction/apply)"
    r"|tools_app/shell/(danger|git|losses|rules))"
)
_SENTENCE = re.compile(r"[A-Z“{](?=[^ ]* )[^\\|]*[.!?]|Stopped\.")
_PHRASE = re.compile(r"([a-z]++|\{\d\})( [a-z]++| \{\d\},?+){2,}+[^\\|]*")
_IN_TEMPLATE = re.compile(r"\b(n?gettext|_)\(((?:\s*u?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\s*,?)+)")
_IN_SCRIPT = re.compile(r"\btext\((\"(?:[^\"\\]|\\.)*\")")
_COUNTED_NOUN = re.compile(r"\{#(\w+)\}")


@dataclass(frozen=True)
class TranslatableText:
    """A text to translate, and its plural form if it has one."""

    id: str
    plural: str = ""


# --- the texts of the code ------------------------------------------------------------------------------------------


def texts() -> list[TranslatableText]:
    """Return the texts of the code, each once, in the order of the files."""
    return list(dict.fromkeys((*_template_texts(), *_code_texts(), *_script_texts(), *_tool_texts())))


def _files(folder: str, ending: str) -> list[Path]:
    files = sorted((ROOT / folder).rglob(f"*.{ending}"))
    return [file for file in files if not _SKIPPED_FOLDERS & {*file.relative_to(ROOT).parts[:-1]}]


def _template_texts() -> Iterator[TranslatableText]:
    for file in (*_files("templates", "html"), *_files("templates", "txt")):
        for _, arguments in _IN_TEMPLATE.findall(templatize(file.read_text())):
            yield TranslatableText(*ast.literal_eval(f"({arguments.rstrip(', ')},)")[:2])


def _script_texts() -> Iterator[TranslatableText]:
    for file in _files("static", "js"):
        yield from (TranslatableText(json.loads(literal)) for literal in _IN_SCRIPT.findall(file.read_text()))


def _tool_texts() -> Iterator[TranslatableText]:
    """Yield the descriptions of tools, and the activities of their calls."""
    for tool in registry.all_tools():
        yield TranslatableText(first_sentence(tool.description))
        for activity in tool.activity.values():
            singular, _, plural = activity.partition("|")
            yield TranslatableText(singular, plural)
            yield from (TranslatableText(name.removesuffix("s"), name) for name in _COUNTED_NOUN.findall(singular))


def _code_texts() -> Iterator[TranslatableText]:
    trees = {file: ast.parse(file.read_text()) for app in _APPS for file in _files(app, "py")}
    message_classes = _subclass_names(
        [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    )
    for file, tree in trees.items():
        yield from _module_texts(tree, message_classes)
        if match := _MESSAGE_FILES.match(str(file.relative_to(ROOT))):
            yield from _sentences_of(tree, phrases=bool(match["phrases"]))


def _module_texts(tree: ast.Module, message_classes: set[str]) -> Iterator[TranslatableText]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in message_classes:
            yield TranslatableText(" ".join((ast.get_docstring(node) or "").split()))
        elif isinstance(node, ast.Call):
            yield from _call_texts(node, message_classes)


def _subclass_names(classes: Iterable[ast.ClassDef]) -> set[str]:
    names, count = set(_MESSAGE_CLASSES), 0
    while len(names) > count:
        count = len(names)
        for node in classes:
            if any(isinstance(base, ast.Name) and base.id in names for base in node.bases):
                names.add(node.name)
    return names


def _sentences_of(node: ast.AST, *, phrases: bool) -> Iterator[TranslatableText]:
    """Yield the sentences below a node, except docstrings, prompts, and parts of f-strings."""
    for child in ast.iter_child_nodes(node):
        if text := _text_of(child):
            yield from [TranslatableText(text)] if _is_for_people(text, phrases=phrases) else []
        elif not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)) and not _is_prompt(child):
            yield from _sentences_of(child, phrases=phrases)


def _is_for_people(text: str, *, phrases: bool) -> bool:
    has_words = any(len(word) > 1 for word in re.sub(r"\{\d\}", "", text).split())
    return has_words and bool(_SENTENCE.fullmatch(text) or (phrases and _PHRASE.fullmatch(text)))


def _is_prompt(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Prompt"


def _call_texts(call: ast.Call, message_classes: set[str]) -> Iterator[TranslatableText]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if count := _TRANSLATION_FUNCTIONS.get(name):
        forms = [text for node in call.args[:count] if (text := _text_of(node))]
        if len(forms) == count:
            yield TranslatableText(*forms)
    elif name in _MESSAGE_CALLS | message_classes:
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        values = map(_text_of, arguments)
        yield from (TranslatableText(text) for text in values if _is_for_people(text, phrases=name == "Judgement"))


def _text_of(node: ast.AST) -> str:
    """Return the text of a literal or f-string, '' for other nodes."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            fields = iter(range(len(values)))
            return "".join(_text_of(part) or f"{{{next(fields)}}}" for part in values)
    return ""


# --- catalogues -----------------------------------------------------------------------------------------------------


def read(po: Path) -> Catalog:
    with po.open("rb") as file:
        return read_po(file)


def update(catalogue: Catalog) -> None:
    """Give a catalogue the present texts of the code. Translations stay; those of new texts are empty."""
    template = Catalog()
    for text in texts():
        template.add((text.id, text.plural) if text.plural else text.id)
    catalogue.update(template, no_fuzzy_matching=True, update_creation_date=False)


def missing(catalogue: Catalog) -> list[str]:
    """Return the texts without a translation."""
    messages = [message for message in catalogue if message.id]
    return [forms(message.id)[0] for message in messages if message.fuzzy or not all(forms(message.string))]


def forms(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the singular, and the plural if there is one, of an id or a translation."""
    return tuple(text or ("",)) if not isinstance(text, str) else (text,)


def as_po(catalogue: Catalog) -> bytes:
    file = BytesIO()
    write_po(file, catalogue, width=0, ignore_obsolete=True)
    return file.getvalue()


def as_mo(catalogue: Catalog) -> bytes:
    file = BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


class Command(BaseCommand):
    help = "Brings the translations in locale/ up to date with the texts of the code, and compiles them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--missing", action="store_true", help="Print the texts that have no translation.")

    def handle(self, *args: Any, **options: Any) -> None:
        for po in sorted(ROOT.glob("locale/*/LC_MESSAGES/django.po")):
            catalogue = read(po)
            update(catalogue)
            po.write_bytes(as_po(catalogue))
            po.with_suffix(".mo").write_bytes(as_mo(catalogue))
            untranslated = missing(catalogue)
            self.stdout.write(f"{po.parts[-3]}: {len(catalogue)} texts, {len(untranslated)} without a translation")
            if options["missing"]:
                self.stdout.write("\n".join(untranslated))
