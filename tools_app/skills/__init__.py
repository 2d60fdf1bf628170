"""Skills: folders with a SKILL.md that tells an agent how to do a kind of work, and the files for it."""

from tools_app.skills.skill_files import (
    ARCHIVE_ERRORS,
    SkillFolder,
    SkillText,
    description_remark,
    installed_skills,
    refused_skills,
    state_of,
)

__all__ = [
    "ARCHIVE_ERRORS",
    "SkillFolder",
    "SkillText",
    "description_remark",
    "installed_skills",
    "refused_skills",
    "state_of",
]
