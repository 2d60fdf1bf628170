"""What is wrong with the end of a task, by rules. Pure, and lenient: what could be meant well passes."""

import re
from collections.abc import Sequence

from tools_app.hooks.base import PastCall

MEND = {
    "NO_SEND": "You say that something is attached, and nothing is. Put its path into `attachments`, or do not say so.",
    "UNSENT_RESULTS": "You made files and neither attached nor named them. Attach them, or say where they lie.",
    "NO_SUBSTANTIVE": "The person learns nothing from this. Say what you did, what came of it, and where it is.",
    "ACK_ONLY": "This only confirms the request or promises something. Do it first, then report what came of it.",
    "ERROR_UNRESOLVED": "Your last call went wrong and you do not say so. Try another way, or say what failed and why.",
    "GENERIC": "This would fit any request. Answer this one, with what you found or did.",
}
_FAILED = ("failed", "blocked", "rejected", "unknown")
_MAKES_FILES = {"file": ("write", "append", "edit", "patch"), "generate": None, "slides": None}

_ATTACHED = re.compile(r"\b(attached|attachments?|enclosed|im anhang|angehängt|beigefügt)\b", re.IGNORECASE)
_TROUBLE = re.compile(
    r"fail|error|could ?n[o']t|unable|not (possible|allowed|found|done|run)|reject|refus|block|denied|without|instead|"
    r"fehl|nicht|leider|unknown",
    re.IGNORECASE,
)
_PHRASES = re.compile(
    r"[^.!?\n]*\b(how (can|may) i (help|assist)|as an ai\b|let me know if|feel free to|is there anything else|"
    r"(happy|glad) to help|hope this helps)[^.!?\n]*[.!?]*",
    re.IGNORECASE,
)
_ACKNOWLEDGES = re.compile(
    r"^\W*(ok(ay)?|sure|certainly|of course|got it|understood|will do|on it|right away|verstanden|gerne|mache ich)\b",
    re.IGNORECASE,
)
_PROMISES = re.compile(r"\b(i['’]ll|i will|let me|i am going to|i['’]m going to|working on)\b", re.IGNORECASE)
_EMPTY = re.compile(
    r"^\W*((it['’]?s|it is|all|everything( is)?|the task is|task|i['’]m|i am)\s+)?"
    r"(done|finished|completed?|ready|set|fertig|erledigt)\W*$",
    re.IGNORECASE,
)


def fault(text: str, attachments: Sequence[str], past: Sequence[PastCall]) -> str:
    """The code of what is wrong with a result, or nothing. `past` are the task's calls so far."""
    work = [call for call in past if call.tool != "message"]
    if _ATTACHED.search(text) and not attachments:
        return "NO_SEND"
    if _has_unsent(text, attachments, work):
        return "UNSENT_RESULTS"
    if work and work[-1].status in _FAILED and not _TROUBLE.search(text):
        return "ERROR_UNRESOLVED"
    if attachments:
        return ""
    return _says_nothing(text)


def _says_nothing(text: str) -> str:
    own = _PHRASES.sub("", text)
    if own != text and len(_words(own)) < 4:
        return "GENERIC"
    short = len(_words(own))
    if (_ACKNOWLEDGES.match(own) and short <= 5) or (_PROMISES.search(own) and short <= 20):
        return "ACK_ONLY"
    return "NO_SUBSTANTIVE" if _EMPTY.match(text) or not _words(text) else ""


def _has_unsent(text: str, attachments: Sequence[str], work: Sequence[PastCall]) -> bool:
    """Whether files were made, and none of them is attached or named."""
    made = {str(call.arguments.get("path", "")) for call in work if call.status == "succeeded" and _makes_file(call)}
    made.discard("")
    return bool(made) and not any(path in attachments or path.rpartition("/")[2] in text for path in made)


def _makes_file(call: PastCall) -> bool:
    actions = _MAKES_FILES.get(call.tool, ())
    return actions is None or call.arguments.get("action") in actions


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
