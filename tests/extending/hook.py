from tools_app.hooks.base import Call, Hook, HookContext, Refuse


class NoMail(Hook):
    name = "no mail"
    summary = "Mail is sent by people, not by the shell."

    def before_execution(self, call: Call, around: HookContext) -> Refuse | None:
        sends = call.tool == "shell" and "sendmail" in call.arguments["command"]
        return Refuse(reason="mail is sent by people.") if sends else None
