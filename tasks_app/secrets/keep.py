"""Keeping a secret: the one way for page, REST, admin and programs. A value goes in and never comes out."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model

from llm_app import active_secrets
from llm_app.models import Secret
from llm_app.redaction.placeholder import NAME, placeholder
from llm_app.redaction.redactor import Redactor
from llm_app.redaction.refusal import why_refused
from tasks_app.errors import SecretNameTaken, SecretRefused
from tasks_app.memory import edit
from tasks_app.models import Session
from tasks_app.secrets.copies import redact_copies
from tasks_app.secrets.places import Place, places
from tools_app.contract import registry


@dataclass(frozen=True, kw_only=True)
class Kept:
    """`found` are the entries of the owner's record that say the value already: they are redacted from now on."""

    secret: Secret
    found: list[Place]

    @property
    def sentence(self) -> str:
        if not self.found:
            return f"{self.secret.name} is saved. Its value is never shown again."
        count = len(self.found)
        times = "in an entry" if count == 1 else f"in {count} entries"
        return (
            f"{self.secret.name} is saved. Its value stands {times} of the record already: it is redacted there from "
            "now on, but models and people may have seen it. Change it where it comes from."
        )


def keep(owner: Any, name: str, value: str) -> Kept:
    """A new secret of a person, or of the whole team without one. Raises SecretRefused or SecretNameTaken."""
    if reason := why_not_kept(owner, name, value):
        raise reason
    secret, is_new = Secret.objects.get_or_create(owner=owner, name=name, defaults={"value": value})
    if not is_new:
        raise SecretNameTaken(field="name")
    return taken(secret)


def taken(secret: Secret) -> Kept:
    """What follows when a value is saved: its copies are redacted, and it is said where in the record it stands."""
    redactor = Redactor([(secret.name, secret.value)])
    everyone = get_user_model().objects.all()
    if secret.owner is None:
        sessions, people = Session.objects.all(), everyone
    else:
        sessions, people = Session.objects.writable_by(secret.owner), everyone.filter(pk=secret.owner.pk)
    redact_copies(sessions, people, redactor)
    edit.redact(secret.owner, redactor)
    return Kept(secret=secret, found=places(sessions, redactor))


def why_not_kept(owner: Any, name: str, value: str) -> SecretRefused | None:
    if not NAME.fullmatch(name):
        return SecretRefused(
            "A name has at most 64 letters, digits, dots, dashes and underscores, and a letter first.", field="name"
        )
    if "\0" in value:
        return SecretRefused("A value cannot contain a NUL character.", field="value")
    reason = why_refused(value, _ordinary()) or _why_not_redactable(owner, name, value.strip())
    return SecretRefused(reason, field="value") if reason else None


def _why_not_redactable(owner: Any, name: str, value: str) -> str:
    """What stands in a placeholder is never redacted."""
    names = [name, *(name for name, _, _ in active_secrets.of_people([owner.pk] if owner else []).secrets)]
    if any(value in placeholder(name) for name in names):
        return "The value is the name of a secret, and names are shown. Choose another name."
    return ""


@cache
def _ordinary() -> str:
    """Our own texts for models: the sections of the prompt, and the tools."""
    folder = settings.BASE_DIR / "templates" / "prompt"
    tools = (f"{tool.name} {tool.description} {tool.parameters}" for tool in registry.all_tools())
    return "\n".join([*(section.read_text() for section in folder.glob("*.xml")), *tools])
