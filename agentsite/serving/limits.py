"""How large a body may be, by who sends it and where to: decided at the head, before anything of it is kept.

A head only shows that a cookie or a token is presented. So what everybody may send is small, and whoever announces more
waits, unread, until a thread has found the session or the token in the database; what is made up stays anonymous.
"""

import re
from importlib import import_module

from django.conf import settings
from django.contrib import auth
from django.db import connection
from django.http import HttpRequest, parse_cookie
from rest_framework.exceptions import AuthenticationFailed

from tasks_app.api.authentication import BearerToken

ANONYMOUS = 64 * 1024  # bytes; a sign-in has 1 KB
UPLOAD = 64 * 1024**2  # a file of 50 MB, the words beside it, and the form around them
_UPLOADS = re.compile(rb"/|/s/[^/]+/(messages|files)/|/api/v1/sessions/[^/]+/files/.+")


def largest(uri: bytes) -> int:
    """The most that a route takes, of somebody who is signed in; its view may want less."""
    return UPLOAD if _UPLOADS.fullmatch(uri.partition(b"?")[0]) else settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def is_known(cookies: str, authorization: str) -> bool:
    """Whether the headers of these names belong to a user: asks the database, so not on the event loop."""
    request = HttpRequest()
    request.META["HTTP_AUTHORIZATION"] = authorization
    key = parse_cookie(cookies).get(settings.SESSION_COOKIE_NAME)
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    try:
        return auth.get_user(request).is_authenticated or BearerToken().authenticate(request) is not None
    except AuthenticationFailed:
        return False
    finally:
        connection.close()
