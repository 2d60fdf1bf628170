"""Only safe tools, and of those only safe calls. What is not safe as a whole, the policy does not even show."""

from tools_app.hooks.base import Call, Hook, HookContext, Refuse


class SafeMode(Hook):
    name = "safe mode"

    async def before_execution(self, call: Call, around: HookContext) -> Refuse | None:
        if call.danger == "safe":
            return None
        return Refuse(reason=f"this call is {call.danger}, and only safe calls run here. Read, search and report.")
