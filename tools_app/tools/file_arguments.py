"""The arguments of the tool `file`, also in the words of other harnesses."""

import json
from typing import Any, Literal

from pydantic import Field, model_validator

from tools_app.contract import Arguments, Synonyms
from tools_app.documents.view import checked_view

_REQUIRED_ACTIONS = {"content": ("write", "append", "patch"), "old": ("edit",), "new": ("edit",), "to": ("move",)}


class FileArguments(Arguments):
    action: Literal["read", "write", "append", "edit", "patch", "list", "move", "delete"] = Field(
        description="read: lines, a picture, or pages of a document (PDF, Office …). write: create or replace. append: "
        "add to the end. edit: replace old by new. patch: several places or files, all or nothing unless `partial`. "
        "move: path to `to`. delete: a person is asked where it is final."
    )
    path: str = Field("", description="In the workspace; . is its root. For patch: its folder.")
    paths: list[str] | None = Field(None, description="For read: files or globs, in place of path.")
    content: str | None = Field(
        None,
        description="The text; for patch a unified diff, or *** Begin Patch to *** End Patch.",
    )
    old: str | None = Field(None, description="For edit: the text to replace; occurs once.")
    new: str | None = Field(None, description="For edit: its replacement.")
    replace_all: bool = Field(False, description="For edit: each occurrence.")
    partial: bool = Field(False, description="For patch.")
    offset: int | None = Field(None, description="The first line, page or entry; -20: the last 20.")
    skip: int | None = Field(None, ge=0, description="As the call for a next page says.")
    limit: int | None = Field(None, ge=1, description="The most lines or pages.")
    view: str | None = Field(None, description="text (of HTML), source (of e-mail), picture (PDF pages), or a charset.")
    to: str | None = Field(None, description="For move: the new path.")

    @model_validator(mode="after")
    def _belong_together(self) -> "FileArguments":
        if self.paths and self.action != "read":
            raise ValueError("paths belongs to read")
        if not self.path and not self.paths:
            raise ValueError("path: name a file, or several to read as paths")
        for name, actions in _REQUIRED_ACTIONS.items():
            if self.action in actions and getattr(self, name) is None:
                raise ValueError(f"{name} is required for {self.action}")
            if self.action not in actions and getattr(self, name):
                raise ValueError(f"{name} belongs to {' and '.join(actions)}")
        if self.action == "edit" and (not self.old or self.old == self.new):
            raise ValueError("old must not be empty, and new must differ from it")
        checked_view(self.view)
        return self


def _fitted(values: dict[str, Any]) -> dict[str, Any]:
    """Return content that is a JSON value as its text, the root where a listing or a patch names no folder,
    the first line for line 0, and the source of a workbook for its formulas.
    """
    if values.get("formulas") is True and "view" not in values:
        values = {name: value for name, value in values.items() if name != "formulas"} | {"view": "source"}
    if isinstance(content := values.get("content"), dict | list):
        values = {**values, "content": json.dumps(content, ensure_ascii=False)}
    if isinstance(values.get("path"), list):
        values = {name: value for name, value in values.items() if name != "path"} | {"paths": values["path"]}
    if isinstance(values.get("paths"), str):
        values = {**values, "paths": [values["paths"]]}
    if "path" not in values and values.get("action") in ("list", "patch"):
        values = {"path": ".", **values}
    if values.get("offset") == 0:
        values = {**values, "offset": 1}
    return values


SYNONYMS = Synonyms(
    arguments={
        **dict.fromkeys(("filepath", "filename", "file", "targetfile", "absolutepath", "relativepath", "dir"), "path"),
        **dict.fromkeys(("directory", "folder", "uri", "notebookpath"), "path"),
        **dict.fromkeys(("oldstring", "oldstr", "oldtext", "search", "find", "oldcontent"), "old"),
        **dict.fromkeys(("newstring", "newstr", "newtext", "replace", "replacement", "newcontent"), "new"),
        **dict.fromkeys(("text", "filetext", "contents", "body", "data", "diff", "patch", "patchtext"), "content"),
        **dict.fromkeys(("files", "filepaths", "pathlist"), "paths"),
        **dict.fromkeys(("destination", "newpath", "target", "dest", "topath"), "to"),
        **dict.fromkeys(("startline", "start", "line", "page", "linestart"), "offset"),
        **dict.fromkeys(("lines", "numlines", "maxlines", "linecount"), "limit"),
        **dict.fromkeys(("replaceall", "all", "global"), "replace_all"),
        **dict.fromkeys(("command", "operation", "mode", "type", "op"), "action"),
        **dict.fromkeys(("encoding", "charset"), "view"),
    },
    values={
        "action": {
            **dict.fromkeys(("view", "open", "cat", "show", "get", "readfile"), "read"),
            **dict.fromkeys(("create", "save", "overwrite", "writefile"), "write"),
            **dict.fromkeys(("strreplace", "replace", "editfile", "modify"), "edit"),
            **dict.fromkeys(("applypatch", "applydiff"), "patch"),
            **dict.fromkeys(("ls", "dir", "listdir", "listfiles"), "list"),
            **dict.fromkeys(("rename", "mv"), "move"),
            **dict.fromkeys(("remove", "rm", "unlink"), "delete"),
        }
    },
    fitted=_fitted,
)
