"""A writer of long documents, section by section, into a file that is usable after each section.

Until the document is complete, its outline is a comment at the top of the file, so that a later call can continue.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools_app.contract.capabilities import AskModel
from tools_app.errors import ModelFailed, ToolError
from tools_app.files import Workspace

MAX_SECTIONS = 30
_MAX_TAIL = 2_000  # characters at the end of the text, which the next section continues
_BEGIN, _END = "<!-- outline", "-->"
_OUTLINE_LINE = re.compile(r"\s*+(?:[-*#]++|\d++[.)])?+\s*+(?P<heading>[^:\n]{1,150})(?::\s*+(?P<about>.*))?")


@dataclass(frozen=True, kw_only=True)
class DocumentSection:
    heading: str
    about: str = ""

    def __str__(self) -> str:
        return f"{self.heading}: {self.about}" if self.about else self.heading


async def write(
    prompt: str, path: str, *, workspace: Workspace, ask: AskModel, report: Callable[[str], None]
) -> tuple[int, int]:
    """Write the missing sections. Return how many sections the file had before, and how many it has now.

    Raises: ToolError, with the progress so far and how to continue.
    """
    text = await asyncio.to_thread(_unfinished_text, path, workspace)
    if text:
        outline = _sections(text.removeprefix(_BEGIN).partition(_END)[0])
    else:
        outline = await _new_outline(prompt, ask)
        text = "\n".join([_BEGIN, *map(str, outline), _END, ""])
        await asyncio.to_thread(workspace.write_bytes, path, text.encode())
    before = len(re.findall(r"^## ", text.partition(_END)[2], re.MULTILINE))
    for number, section in enumerate(outline[before:], before + 1):
        report(f"Section {number} of {len(outline)}: {section.heading}\n")
        try:
            answer = await ask(_section_prompt(prompt, outline, section, text), purpose="generate")
        except ModelFailed as error:
            raise ToolError(
                f"{number - 1} of {len(outline)} sections are in {path}. The next one failed: {error} "
                "Call generate again with the same path to go on."
            ) from error
        text += f"## {section.heading}\n\n{_body(answer, section)}\n\n"
        await asyncio.to_thread(workspace.write_bytes, path, text.encode())
    await asyncio.to_thread(workspace.write_bytes, path, text.partition(f"{_END}\n")[2].encode())
    return before, len(outline)


def _unfinished_text(path: str, workspace: Workspace) -> str:
    if not workspace.is_file(path):
        return ""
    text = workspace.read_bytes(path).decode(errors="replace")
    if not text.startswith(_BEGIN):
        raise ToolError(f"{path} exists already. Use another path, or change it with the tool file.")
    return text


async def _new_outline(prompt: str, ask: AskModel) -> list[DocumentSection]:
    request = (
        "Make the outline of a document. Answer with one line for each section, at most "
        f"{MAX_SECTIONS}, in the form 'Heading: what it contains'. No other lines.\n\nThe document:\n{prompt}"
    )
    outline = _sections(await ask(request, purpose="generate"))
    if not outline:
        raise ModelFailed("The model gave no outline. Try again, or say more about the document.")
    return outline


def _sections(text: str) -> list[DocumentSection]:
    sections: list[DocumentSection] = []
    for line in text.replace(_END, "").splitlines():
        match = _OUTLINE_LINE.fullmatch(line) if line.strip() else None
        if match and (heading := match["heading"].strip(" *")):
            sections.append(DocumentSection(heading=heading, about=(match["about"] or "").strip()))
    return sections[:MAX_SECTIONS]


def _section_prompt(prompt: str, outline: Sequence[DocumentSection], section: DocumentSection, text: str) -> str:
    headings = "\n".join(f"- {entry}" for entry in outline)
    tail = text.partition(f"{_END}\n")[2][-_MAX_TAIL:]
    return (
        f"You write a document section by section. The document:\n{prompt}\n\nIts outline:\n{headings}\n\n"
        f"The end of what is written so far:\n{tail or '(nothing yet)'}\n\n"
        f"Write the section '{section}' now, in Markdown, without its heading. Inner headings begin with ###. "
        "Repeat nothing of what is written."
    )


def _body(answer: str, section: DocumentSection) -> str:
    """Remove the heading that models write in spite of the prompt. Higher headings are lowered, since they count as
    sections.
    """
    text = re.sub(rf"\A#++\s*+{re.escape(section.heading)}[^\S\n]*+\n", "", answer.strip())
    return re.sub(r"^##? ", "### ", text, flags=re.MULTILINE).strip()
