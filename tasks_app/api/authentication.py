"""Bearer tokens, and later checks of the credentials of clients that stay connected."""

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
def _find_token(digest: str) -> Any:
    return fetch_first(get_token_model().objects.filter(digest=digest).select_related("user").order_by())


class BearerToken(TokenAuthentication):
    """A token that is looked up by its digest, so that no part of it is stored in clear."""

    def authenticate_credentials(self, token: bytes) -> Any:
        digest = hash_token(token.decode(errors="replace"))
        token_row = _find_token(digest)
        if token_row is None or (token_row.expiry and self._cleanup_token(token_row)):
            raise AuthenticationFailed("Invalid token.")
        return self.validate_user(token_row)


class BearerTokenScheme(KnoxTokenScheme):  # type: ignore[no-untyped-call]  # registers itself
    """The name of BearerToken in OpenAPI. Defining the class registers it with drf-spectacular."""

    target_class = "tasks_app.api.authentication.BearerToken"
    name = "BearerToken"


def may_approve(token: Any) -> bool:
    """Return whether this token may approve calls. A token that is stored as a secret may not, as agents can use it."""
    values = (secret.value for secret in Secret.objects.all())
    return token.may_approve and all(hash_token(value) != token.digest for value in values)


def check_credential(request: Request) -> None:
    """Check the token or the login of the request against the database again.

    Raises AuthenticationFailed for a revoked token or a closed account, SignedOut after the end of a login.
    """
    if request.auth is None:
        require_signed_in({"session": request.session, "user": request.user})
    else:
        BearerToken().authenticate(request)


def credential_of(request: Request) -> Credential:
    """Return the credential with which the request was authenticated, for a client that stays connected."""
    check, token, user = partial(check_credential, request), request.auth, cast(Any, request.user)
    if token is None:
        return Credential(user_id=user.pk, login=request.session.session_key or "", check=check)
    return Credential(user_id=user.pk, token=cast(Any, token).digest, check=check)
