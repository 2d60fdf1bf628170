"""Bearer tokens, and whether a client that was let in is still allowed."""

from functools import partial
from typing import Any, cast

from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from knox.auth import TokenAuthentication
from knox.crypto import hash_token
from knox.models import get_token_model
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from llm_app.models import Secret
from llm_app.sql import cached_sql, fetch_first
from tasks_app.access import require_signed_in
from tasks_app.hub.access_watch import Credential


@cached_sql
def _token_of(digest: str) -> Any:
    return fetch_first(get_token_model().objects.filter(digest=digest).select_related("user").order_by())


class BearerToken(TokenAuthentication):
    """Found by its digest: so nothing of a token needs to be stored in clear, however short it is."""

    def authenticate_credentials(self, token: bytes) -> Any:
        digest = hash_token(token.decode(errors="replace"))
        found = _token_of(digest)
        if found is None or (found.expiry and self._cleanup_token(found)):
            raise AuthenticationFailed("Invalid token.")
        return self.validate_user(found)


class BearerTokenScheme(KnoxTokenScheme):  # type: ignore[no-untyped-call]  # registers itself
    """How OpenAPI names it; known to drf-spectacular from here on."""

    target_class = "tasks_app.api.authentication.BearerToken"
    name = "BearerToken"


def may_approve(token: Any) -> bool:
    """Whether this token may approve calls: never if it is kept as a secret here, because agents can use it then."""
    kept = (secret.value for secret in Secret.objects.all())
    return token.may_approve and all(hash_token(value) != token.digest for value in kept)


def require_admitted(request: Request) -> None:
    """Asks the database anew: a revoked token and a closed account end it, and a sign-out where a cookie let it in.

    Raises AuthenticationFailed or SignedOut.
    """
    if request.auth is None:
        require_signed_in({"session": request.session, "user": request.user})
    else:
        BearerToken().authenticate(request)


def credential_of(request: Request) -> Credential:
    """What let a client in that stays."""
    check, token, user = partial(require_admitted, request), request.auth, cast(Any, request.user)
    if token is None:
        return Credential(user_id=user.pk, login=request.session.session_key or "", check=check)
    return Credential(user_id=user.pk, token=cast(Any, token).digest, check=check)
