"""One file a tool. Importing it registers it."""

from tools_app.tools import (
    browser,
    fetch_url,
    file,
    generate,
    job,
    load_tools,
    match,
    message,
    plan,
    recall,
    search,
    shell,
    skill,
    slides,
    step,
    vision,
)

__all__ = [
    "browser",
    "fetch_url",
    "file",
    "generate",
    "job",
    "load_tools",
    "match",
    "message",
    "plan",
    "recall",
    "search",
    "shell",
    "skill",
    "slides",
    "step",
    "vision",
]
