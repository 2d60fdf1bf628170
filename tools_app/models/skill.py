"""Skills that administrators have uploaded. The skills of an installation are folders."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q

from tools_app.skills.skill_files import MAX_DESCRIPTION, MAX_NAME, SkillText


class SkillQuerySet(models.QuerySet["Skill"]):
    def usable_by(self, user_id: int) -> "SkillQuerySet":
        return self.filter(Q(roles=None) | Q(roles__in=get_user_model().roles_of(user_id)), enabled=True).distinct()


class Skill(models.Model):
    name = models.CharField(max_length=MAX_NAME, unique=True)
    description = models.CharField(
        max_length=MAX_DESCRIPTION, help_text="Part of the prompt: it tells the model when to use the skill."
    )
    body = models.TextField(help_text="What the agent reads when it loads the skill.")
    enabled = models.BooleanField(default=True)
    roles = models.ManyToManyField(
        Group, blank=True, related_name="+", help_text="Whose members may use it. None: everyone."
    )
    changed_at = models.DateTimeField(auto_now=True)

    objects = SkillQuerySet.as_manager()

    class Meta:
        db_table = "skills"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def text(self) -> SkillText:
        """Return the skill with its files."""
        rows = list(self.files.all())
        return SkillText(
            name=self.name,
            description=self.description,
            body=self.body,
            files={row.path: bytes(row.content) for row in rows},
            executable={row.path for row in rows if row.executable},
        )


class SkillFile(models.Model):
    """A file that is written into the workspace when the skill is loaded."""

    skill = models.ForeignKey(Skill, models.CASCADE, related_name="files")
    path = models.CharField(max_length=300)
    content = models.BinaryField()
    executable = models.BooleanField(default=False, help_text="Whether it can be run as a program.")

    class Meta:
        db_table = "skill_files"
        ordering = ["path"]
        constraints = [models.UniqueConstraint(fields=["skill", "path"], name="skill_file_once")]

    def __str__(self) -> str:
        return self.path
