"""Static files under names with a hash of their content: browsers cache them, compressed, until the content changes.

Nothing is collected before a start. A file is prepared at its first request, once for all processes that share
`var/static`. It is minified if it is ours, its references get hashed names, and a compressed copy is written. Copies
of earlier versions stay, so that pages that are open during an upgrade find their files.
"""

import asyncio
import gzip
import logging
import posixpath
import re
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import rcssmin
import rjsmin
from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.core.exceptions import MiddlewareNotUsed, SuspiciousFileOperation
from django.http import HttpRequest, HttpResponseBase
from servestatic.middleware import ServeStaticMiddleware
from servestatic.responders import StaticFile

from agentsite.environment import VAR_DIR

logger = logging.getLogger(__name__)
FOLDER = VAR_DIR / "static"
_MINIFIERS = {".css": rcssmin.cssmin, ".js": rjsmin.jsmin}
_COMPRESSED = {".css", ".html", ".js", ".json", ".map", ".svg", ".txt"}
_HASHED = re.compile(r"(.+)\.[0-9a-f]{8}(\.\w+)")
_REFERENCE = re.compile(r"""(url\(\s*["']?)([^"')\s:#?]+)""")
_hashed_names: dict[str, str] = {}  # by plain name, for existing files only
_preparing = threading.Lock()


class HashedStaticFilesStorage(StaticFilesStorage):
    """A storage that returns hashed URLs. Under `make dev`, where files change, they are plain."""

    def url(self, name: str | None) -> str:
        return super().url(name if settings.DEBUG or not name else hashed_name(name) or name)


class StaticFilesMiddleware(ServeStaticMiddleware):
    """Middleware that serves static files on the event loop.

    Requests that Django answers in a thread never ask for a file, so the synchronous chain omits it.
    """

    sync_capable = True

    def __init__(self, get_response: Any) -> None:
        if not iscoroutinefunction(get_response):
            raise MiddlewareNotUsed
        super().__init__(get_response)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if settings.DEBUG or path in self.files or not path.startswith(self.static_prefix):
            return cast(HttpResponseBase, await super().__call__(request))
        if file := await asyncio.to_thread(self._find, path):
            return cast(HttpResponseBase, await self.aserve(file, request))
        return cast(HttpResponseBase, await self.get_response(request))

    def _find(self, url: str) -> StaticFile | None:
        name = url.removeprefix(self.static_prefix)
        if url.endswith("/") or not self.url_is_canonical(url):
            return None
        if (path := stored(name) or prepared(plain_name(name))) is None:
            return None
        file = self.get_static_file(str(path), url)
        if path.is_relative_to(FOLDER) and name in (plain_name(name), path.relative_to(FOLDER).as_posix()):
            self.files[url] = file  # only names of real files: a client can invent any hash
        return file

    def immutable_file_test(self, path: str, url: str) -> bool:
        """Return whether the URL has the hash of the current content. Other hashes are cached for a moment only."""
        return bool(_HASHED.fullmatch(url)) and posixpath.basename(url) == Path(path).name


def plain_name(name: str) -> str:
    """Return the name without a hash."""
    match = _HASHED.fullmatch(name)
    return "".join(match.groups()) if match else name


def hashed_name(name: str) -> str:
    """Return the name with the hash of the served content, '' if there is no such file."""
    if name not in _hashed_names and (content := _content(name)) is not None:
        _hashed_names[name] = _named_by(content, name)
    return _hashed_names.get(name, "")


def _named_by(content: bytes, name: str) -> str:
    stem, suffix = posixpath.splitext(name)
    return f"{stem}.{sha256(content).hexdigest()[:8]}{suffix}"


def stored(name: str) -> Path | None:
    """Return the stored copy with this hashed name, of any version."""
    path = FOLDER / name
    return path if _HASHED.fullmatch(name) and path.is_file() else None


def prepared(name: str) -> Path | None:
    """Return the copy to serve, after creating it if there is none. Without room for it, return the original file."""
    with _preparing:
        hashed = hashed_name(name)
        if not hashed:
            return None
        copy = FOLDER / hashed
        if copy.exists() and (copy.suffix not in _COMPRESSED or _compressed(copy).exists()):
            return copy
        if (content := _content(name)) is None:
            return None
        _hashed_names[name] = _named_by(content, name)  # an upgrade may have changed the file since it was named
        copy = FOLDER / _hashed_names[name]
        try:
            if copy.suffix in _COMPRESSED:
                _write(_compressed(copy), gzip.compress(content, mtime=0))
            _write(copy, content)
        except OSError as error:
            logger.warning("could not store the prepared copy of %s: %s", name, error)
            return _source(name)
        return copy


def _compressed(copy: Path) -> Path:
    return copy.with_name(f"{copy.name}.gz")


def _content(name: str) -> bytes | None:
    if (source := _source(name)) is None:
        return None
    is_ours = source.parent in settings.STATICFILES_DIRS
    if source.suffix != ".css" and not (is_ours and source.suffix in _MINIFIERS):
        return source.read_bytes()
    text = source.read_text()
    if is_ours:
        text = _MINIFIERS[source.suffix](text)
    if source.suffix == ".css":
        text = _REFERENCE.sub(lambda match: match[1] + _hashed_reference(name, match[2]), text)
    return text.encode()


def _source(name: str) -> Path | None:
    try:
        path = finders.find(name)
    except SuspiciousFileOperation:
        return None
    return Path(path) if path and Path(path).is_file() else None


def _hashed_reference(name: str, reference: str) -> str:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), reference))
    hashed = "" if reference.startswith("/") else hashed_name(target)
    return posixpath.join(posixpath.dirname(reference), posixpath.basename(hashed)) if hashed else reference


def _write(path: Path, content: bytes) -> None:
    """Replace the file atomically. Hosts that share the folder may write it at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{uuid4().hex}.new")
    draft.write_bytes(content)
    draft.replace(path)
