"""A user's secrets: a value goes in and never comes out."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from llm_app.models import Secret
from tasks_app.api.fields import Text
from tasks_app.api.pagination import Whole
from tasks_app.secrets import keep

MOST_PLACES = 100


class SecretSerializer(serializers.ModelSerializer[Secret]):
    name = Text(help_text="A letter first; digits, dots, dashes and underscores may follow.")
    value = Text(write_only=True)

    class Meta:
        model = Secret
        fields = ["name", "value", "created_at"]


class PlaceSerializer(serializers.Serializer[Any]):
    """An entry of the record that says the value already. It is redacted whenever it is read from now on."""

    session = serializers.UUIDField()
    seq = serializers.IntegerField()


class KeptSerializer(serializers.Serializer[Any]):
    """`found_in` has the newest hundred places, `found` says how many there are."""

    name = serializers.CharField(source="secret.name")
    created_at = serializers.DateTimeField(source="secret.created_at")
    found = serializers.SerializerMethodField()
    found_in = serializers.SerializerMethodField()

    def get_found(self, kept: keep.Kept) -> int:
        return len(kept.found)

    @extend_schema_field(PlaceSerializer(many=True))
    def get_found_in(self, kept: keep.Kept) -> Any:
        return PlaceSerializer(kept.found[:MOST_PLACES], many=True).data


class SecretList(ListAPIView[Secret]):
    """Names only. A name is given once: to change a value, delete the secret first."""

    queryset = Secret.objects.all()
    serializer_class = SecretSerializer
    pagination_class = Whole

    def get_queryset(self) -> QuerySet[Secret]:
        return Secret.objects.filter(owner=self.request.user.pk)

    @extend_schema(responses={201: KeptSerializer})
    def post(self, request: Request) -> Response:
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        given = serializer.validated_data
        kept = keep.keep(request.user, given["name"], given["value"])
        return Response(KeptSerializer(kept).data, 201)


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
