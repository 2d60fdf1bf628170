"""The built-in hooks. Each is off unless an agent's settings name it."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tools_app.hooks.base import Call, CallOutcome, Hook, HookContext, Refuse
from tools_app.hooks.termination_review import TerminationReview

FILTER_TIMEOUT_S = 2  # for all patterns of an output filter; some patterns take exponential time
SAFE_MODE, OUTPUT_FILTER = "safe_mode", "output_filter"
CHECK_REQUEST = (
    "before you finish, check your own work. Compare the result with what was asked, point by point. Look at the "
    "files, outputs or sources that it rests on; do not trust your memory of them. If something is missing or wrong, "
    "fix it first. Then hand over the result again."
)


class SafeMode(Hook):
    """A hook that refuses calls that are not safe. The policy already hides tools that are never safe."""

    name = "safe mode"
    summary = "It has only safe tools, and of those only safe calls."

    async def before_execution(self, call: Call, around: HookContext) -> Refuse | None:
        if call.danger == "safe":
            return None
        return Refuse(reason=f"this call is {call.danger}, and only safe calls run here. Read, search and report.")


class Autopilot(Hook):
    name = "autopilot"
    summary = "Nobody is there to answer: its questions are refused, and it decides for itself."

    async def before_execution(self, call: Call, around: HookContext) -> Refuse | None:
        if call.tool != "message" or call.arguments.get("type") != "ask":
            return None
        return Refuse(reason="no one is there to answer. Decide yourself, and say in the result what you assumed.")


class OutputFilter(Hook):
    """A hook that withholds a complete result or message if a pattern matches. It rewrites nothing.

    `patterns` are regular expressions. The model learns the number of the pattern that matched, not its text. A text
    that a pattern cannot check in time is withheld as well.
    """

    name = "output filter"
    summary = "Results and messages that match one of its patterns are withheld as a whole."
    filters_output = True
    limit_s = 60.0  # its own timeout, in processor time, comes first

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = list(patterns)

    def before_execution(self, call: Call, around: HookContext) -> Refuse | None:
        if call.tool != "message":
            return self._refusal(call.words)
        as_json = json.dumps(dict(call.arguments), ensure_ascii=False)
        texts = [value for value in call.arguments.values() if isinstance(value, str)]  # JSON escapes line breaks
        return self._refusal(as_json, *texts, call.words)

    def after_execution(self, call: Call, outcome: CallOutcome, around: HookContext) -> Refuse | None:
        return self._refusal(outcome.content)

    def _refusal(self, *texts: str) -> Refuse | None:
        import regex  # 2 MB that few installations need, so imported on first use

        deadline = time.monotonic() + FILTER_TIMEOUT_S
        for number, pattern in enumerate(self._patterns, 1):
            try:
                for text in texts:
                    timeout_s = max(deadline - time.monotonic(), 0.001)
                    if regex.search(pattern, text, timeout=timeout_s, concurrent=True):
                        return Refuse(reason=f"it contains something that must not be shown here (pattern {number}).")
            except TimeoutError:
                return Refuse(
                    reason=f"pattern {number} of this agent's output filter could not be compared with it within "
                    f"{FILTER_TIMEOUT_S} s. Ask for less at once; an administrator can write a simpler pattern."
                )
            except regex.error as error:
                return Refuse(
                    reason=f"pattern {number} of this agent's output filter is not a regular expression: {error}. An "
                    "administrator can correct it."
                )
        return None


class SelfVerification(Hook):
    name = "self-verification"
    summary = "Before it hands over a result it is asked once to check it, and again after more work."

    async def before_completion(self, call: Call, around: HookContext) -> Refuse | None:
        for earlier in reversed(around.past()):
            if earlier.refused_by == self.name:
                return None
            if earlier.tool != "message":
                break
        return Refuse(reason=CHECK_REQUEST)


@dataclass(frozen=True, kw_only=True)
class HookSettings:
    """An agent's settings for its hooks."""

    withheld_patterns: Sequence[str] = ()
    reviews_by_model: bool = False


BUILTIN: Mapping[str, Callable[[HookSettings], Hook]] = {
    SAFE_MODE: lambda settings: SafeMode(),
    "autopilot": lambda settings: Autopilot(),
    OUTPUT_FILTER: lambda settings: OutputFilter(settings.withheld_patterns),
    "self_verification": lambda settings: SelfVerification(),
    "termination_review": lambda settings: TerminationReview(by_model=settings.reviews_by_model),
}
