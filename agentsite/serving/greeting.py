"""What `serve` prints when it is ready."""

from agentsite.accounts import sign_in
from agentsite.serving.first_start import Admin
from tasks_app.workspaces import sandbox

_DEMO = "No key was found in the environment, so the demo provider answers. For a real model see the README."


def text(base: str, admin: Admin, model: str) -> str:
    """Address, login, one-click link, the model and the sandbox, one a line."""
    backend = sandbox()
    lines = [
        "",
        f"  Ready at  {base}/",
        f"  Sign in   {sign_in.link(base, admin.user)}",
        f"  Login     {admin.user.username}" + (f" / {admin.password}   (shown only now)" if admin.password else ""),
        f"  Model     {model}",
        f"  Sandbox   {backend.name}" + (f": {backend.weakness}" if backend.weakness else ""),
    ]
    if model.endswith("/demo"):
        lines += ["", f"  {_DEMO}"]
    return "\n".join([*lines, "", "  Ctrl-C stops the server; running tasks go on at the next start.", ""])
