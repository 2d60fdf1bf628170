"""One question before the end: is it done, and how do you know? Asked again when tools have run since."""

from tools_app.hooks.base import Call, Hook, HookContext, Refuse

QUESTION = (
    "before you finish, check your own work. Compare the result with what was asked, point by point. Look at the "
    "files, outputs or sources that it rests on; do not trust your memory of them. If something is missing or wrong, "
    "mend it first. Then hand over the result again."
)


class SelfVerification(Hook):
    name = "self-verification"

    async def before_completion(self, call: Call, around: HookContext) -> Refuse | None:
        for past in reversed(around.past()):
            if past.refused_by == self.name:
                return None
            if past.tool != "message":
                break
        return Refuse(reason=QUESTION)
