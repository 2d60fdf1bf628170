"""Nobody is there to answer: the agent decides for itself."""

from tools_app.hooks.base import Call, Hook, HookContext, Refuse


class Autopilot(Hook):
    name = "autopilot"

    async def before_execution(self, call: Call, around: HookContext) -> Refuse | None:
        if call.tool != "message" or call.arguments.get("type") != "ask":
            return None
        return Refuse(reason="no one is there to answer. Decide yourself, and say in the result what you assumed.")
