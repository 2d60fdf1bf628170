"""All addresses of the site."""

from django.contrib import admin
from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from agentsite import health
from agentsite.accounts.sign_in import sign_in_with_link
from tasks_app.api.metrics import Metrics
from tasks_app.api.urls import Unknown

urlpatterns = [
    path("", include("tasks_app.urls")),
    path("accounts/link/<str:token>/", sign_in_with_link, name="sign_in_link"),
    path("accounts/", include("allauth.urls")),
    path("api/v1/", include("tasks_app.api.urls")),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "api/docs/", SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="api_docs.html"), name="docs"
    ),
    re_path("^api/", Unknown.as_view()),
    path("healthz", health.alive),
    path("readyz", health.ready),
    path("metrics", Metrics.as_view()),
    path("admin/", admin.site.urls),
]
