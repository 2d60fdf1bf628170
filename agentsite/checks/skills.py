"""The skills in folders: those that are left out, and descriptions that others would not take."""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from agentsite.checks.messages import Finding, note
from tools_app.models import Skill
from tools_app.skills.installed import installed, refused
from tools_app.skills.reading import remark


def unusual() -> Iterator[Finding]:
    place = Path(settings.SKILLS_DIR)
    for path, reason in refused(place).items():
        yield note(f"skill {path.parent.name}", f"{path} is left out: {reason}", "Mend it, or remove its folder.")
    descriptions = {name: folder.description for name, folder in installed(place).items()}
    descriptions |= dict(Skill.objects.values_list("name", "description"))
    for name, description in descriptions.items():
        if words := remark(description):
            yield note(f"skill {name}", words)
