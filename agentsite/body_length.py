"""Bodies that come in chunks, without a length: Django would take them for empty ones, so they are refused."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.deprecation import MiddlewareMixin

from tasks_app.api.problems import CONTENT_TYPE, Problem


class RequireLength(MiddlewareMixin):
    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if "HTTP_TRANSFER_ENCODING" not in request.META or request.META.get("CONTENT_LENGTH"):
            return None
        problem = Problem(status=411, detail="Send the whole body with its Content-Length, not in chunks.")
        return JsonResponse(problem.body, status=problem.status, content_type=CONTENT_TYPE)
