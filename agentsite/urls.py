"""The URLs of the site."""

from collections.abc import Callable

from django.contrib import admin
from django.http import HttpRequest, HttpResponseBase
from django.urls import include, path, re_path
from django.utils.module_loading import import_string
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from agentsite import health
from agentsite.accounts.sign_in import sign_in_with_link
from tasks_app.api.metrics import Metrics
from tasks_app.api.urls import UnknownURL


def _second_factor(name: str) -> Callable[[HttpRequest], HttpResponseBase]:
    """Return a view of allauth that is imported at its first request: 4 MB with fido2, which we do not offer."""

    def view(request: HttpRequest) -> HttpResponseBase:
        answer: HttpResponseBase = import_string(f"allauth.mfa.{name}")(request)
        return answer

    return view


SECOND_FACTOR = [
    path("", RedirectView.as_view(url="/settings/#sign-in"), name="mfa_index"),
    path("authenticate/", _second_factor("base.views.authenticate"), name="mfa_authenticate"),
    path("reauthenticate/", _second_factor("base.views.reauthenticate"), name="mfa_reauthenticate"),
    path("totp/activate/", _second_factor("totp.views.activate_totp"), name="mfa_activate_totp"),
    path("totp/deactivate/", _second_factor("totp.views.deactivate_totp"), name="mfa_deactivate_totp"),
    path("codes/", _second_factor("recovery_codes.views.view_recovery_codes"), name="mfa_view_recovery_codes"),
    path(
        "codes/new/", _second_factor("recovery_codes.views.generate_recovery_codes"), name="mfa_generate_recovery_codes"
    ),
    path(
        "codes/file/",
        _second_factor("recovery_codes.views.download_recovery_codes"),
        name="mfa_download_recovery_codes",
    ),
]
handler400 = "agentsite.refusals.bad_request"
urlpatterns = [
    path("api/v1/", include("tasks_app.api.urls")),  # first: programs send most requests, and order counts
    path("", include("tasks_app.urls")),
    path("accounts/link/<str:token>/", sign_in_with_link, name="sign_in_link"),
    path("accounts/2fa/", include(SECOND_FACTOR)),
    path("accounts/", include("allauth.account.urls")),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "api/docs/", SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="api_docs.html"), name="docs"
    ),
    re_path("^api/", UnknownURL.as_view()),
    path("healthz", health.alive),
    path("readyz", health.ready),
    path("metrics", Metrics.as_view()),
    path("admin/", admin.site.urls),
]
