"""The sandbox, in which commands run."""

from agentsite.checks.messages import Finding, broken, fine, note
from tasks_app import workspaces
from tools_app.sandbox.choice import NoSandbox

_NAME = "sandbox"


def works() -> Finding:
    """The strongest backend whose first command ran, and what it does not protect."""
    backend = workspaces.sandbox()
    if isinstance(backend, NoSandbox):
        return broken(
            _NAME,
            f"No sandbox works, so the shell is off. {backend.probe()}",
            "Install bubblewrap (the system's package), or set AGENTSITE_SANDBOX.",
        )
    if backend.weakness:
        return note(_NAME, f"Commands run in {backend.name}. {backend.weakness}")
    return fine(_NAME, f"Commands run in {backend.name}.")
