"""Addresses below /api/ where nothing is."""

from typing import Any

from django.http import Http404
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.views import APIView


class Unknown(APIView):
    """404 for every method, as a problem like all others."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not request.path.endswith("/"):
            raise NotFound("There is nothing here. Addresses end with a slash, except those of files.")
        raise Http404()
