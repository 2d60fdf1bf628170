"""A user's secrets: a value goes in and never comes out."""

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from llm_app.models import Secret
from tasks_app.api.fields import Text
from tasks_app.api.pagination import Whole
from tasks_app.api.problems import Conflict

SHORTEST = 8  # characters; shorter ones stand in too many words that are none
TOO_SHORT = f"A value under {SHORTEST} characters cannot be kept secret: masking it would mask ordinary words as well."


class SecretSerializer(serializers.ModelSerializer[Secret]):
    name = serializers.RegexField(
        r"\A[A-Za-z_][A-Za-z0-9_.-]*\Z",
        max_length=64,
        error_messages={"invalid": "A name begins with a letter; digits, dots, dashes and underscores may follow."},
    )
    value = Text(write_only=True, min_length=SHORTEST, max_length=100_000, error_messages={"min_length": TOO_SHORT})

    class Meta:
        model = Secret
        fields = ["name", "value", "created_at"]


class SecretList(ListAPIView[Secret]):
    """Names only. A name is given once: to change a value, delete the secret first."""

    queryset = Secret.objects.all()
    serializer_class = SecretSerializer
    pagination_class = Whole

    def get_queryset(self) -> QuerySet[Secret]:
        return Secret.objects.filter(owner=self.request.user.pk)

    @extend_schema(responses={201: SecretSerializer})
    def post(self, request: Request) -> Response:
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        secret, is_new = Secret.objects.get_or_create(
            owner_id=request.user.pk,
            name=serializer.validated_data["name"],
            defaults={"value": serializer.validated_data["value"]},
        )
        if not is_new:
            raise Conflict("You have a secret of this name already. Delete it first.")
        return Response(self.get_serializer(secret).data, 201)


class SecretDetail(GenericAPIView[Secret]):
    queryset = Secret.objects.all()
    serializer_class = SecretSerializer

    @extend_schema(responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        if "\0" in name:  # PostgreSQL would refuse to look for it
            raise Http404()
        deleted, _ = Secret.objects.filter(owner=request.user.pk, name=name).delete()
        if not deleted:
            raise Http404()
        return Response(status=204)
