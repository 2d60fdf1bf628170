"""The tool `skill`, which loads a skill: its instructions into the conversation, its files into the workspace."""

import asyncio

from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool
from tools_app.contract.effects import LoadSkill
from tools_app.files import Workspace
from tools_app.skills.skill_files import SkillText

FOLDER = ".skills"


class SkillArguments(Arguments):
    name: str = Field(min_length=1, description="A name from the section skills.")


@tool(
    name="skill",
    description="""Loads a skill.""",
    arguments=SkillArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="skill {name}",
    activity={"": "read the skill {name}|read # skills"},
    visible=lambda visibility: bool(visibility.skills),
)
async def skill(arguments: SkillArguments, context: ToolContext) -> ToolResult:
    loaded = await context.skills.get(arguments.name)
    await asyncio.to_thread(_write_files, loaded, context.workspace)
    if context.skills.is_in_view(loaded):
        return ToolResult(content=f"The skill {arguments.name} is already loaded: its full text is above.")
    files = ", ".join(f"{FOLDER}/{loaded.name}/{path}" for path in loaded.files)
    lines = [loaded.for_model, *([f"Its files: {files}"] if files else [])]
    return ToolResult(content="\n".join(lines), effects=[LoadSkill(name=loaded.name)])


def _write_files(loaded: SkillText, workspace: Workspace) -> None:
    for path, content in loaded.files.items():
        workspace.write_bytes(f"{FOLDER}/{loaded.name}/{path}", content, executable=path in loaded.executable)
