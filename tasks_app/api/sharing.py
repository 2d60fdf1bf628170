"""Members of sessions and projects, and links for readers without an account. Only owners manage them."""

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import origins
from tasks_app.access import owned_project, owned_session
from tasks_app.api.formats import SinglePage, Text
from tasks_app.api.idempotency import idempotent
from tasks_app.models import Project, ShareLink
from tasks_app.services import sharing


class MemberSerializer(serializers.Serializer[Any]):
    """A person (`user`) or all who have a `role`: one of the two, by name."""

    id = serializers.IntegerField(read_only=True)
    user = Text(source="user.username", required=False, max_length=150)
    role = Text(source="role.name", required=False, max_length=150)
    may_write = serializers.BooleanField(default=False)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        person = data.pop("user", {}).get("username", "")
        role = data.pop("role", {}).get("name", "")
        if bool(person) == bool(role):
            raise ValidationError({"user": ["Name a user or a role."]})
        return data | {"person": person, "role": role}


class MemberRights(serializers.Serializer[Any]):
    may_write = serializers.BooleanField()


class _Members(ListAPIView[Any]):
    serializer_class = MemberSerializer
    pagination_class = SinglePage
    queryset = ShareLink.objects.none()
    owned: ClassVar[Any]

    def shared(self, pk: UUID) -> Any:
        """Return the session or project. Raises Http404, or PermissionDenied if the user does not own it."""
        return type(self).owned(self.request.user, pk)

    def _rows(self, pk: UUID) -> Any:
        return self.shared(pk).memberships.select_related("user", "role").order_by("pk")

    def _row(self, pk: UUID, member_id: int) -> Any:
        member = self._rows(pk).filter(pk=member_id).first()
        if member is None:
            raise Http404()
        return member

    def _publish_change(self, shared: Any) -> None:
        """Make running tasks of a project check access to its library again."""
        if isinstance(shared, Project):
            shared.publish_change()


class _MemberList(_Members):
    """A member is added once: the same name again changes what they may do."""

    def get_queryset(self) -> Any:
        return self._rows(next(iter(self.kwargs.values())))

    @extend_schema(responses={201: MemberSerializer})
    @idempotent
    def post(self, request: Request, **ids: UUID) -> Response:
        shared = self.shared(next(iter(ids.values())))
        serializer = MemberSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        member = sharing.add_member(request.user, shared, **serializer.validated_data)
        self._publish_change(shared)
        return Response(MemberSerializer(member).data, 201)


class _MemberDetail(_Members):
    http_method_names = ["patch", "delete", "options"]

    @extend_schema(request=MemberRights, responses=MemberSerializer)
    def patch(self, request: Request, member_id: int, **ids: UUID) -> Response:
        member = self._row(next(iter(ids.values())), member_id)
        serializer = MemberRights(data=request.data)
        serializer.is_valid(raise_exception=True)
        member.may_write = serializer.validated_data["may_write"]
        if not self._rows(next(iter(ids.values()))).filter(pk=member_id).update(may_write=member.may_write):
            raise Http404()  # removed since the query above
        return Response(MemberSerializer(member).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, member_id: int, **ids: UUID) -> Response:
        member = self._row(next(iter(ids.values())), member_id)
        member.delete()
        self._publish_change(getattr(member, member.SHARED))
        return Response(status=204)


class SessionMemberList(_MemberList):
    owned = staticmethod(owned_session)


class SessionMemberDetail(_MemberDetail):
    owned = staticmethod(owned_session)


class ProjectMemberList(_MemberList):
    owned = staticmethod(owned_project)


class ProjectMemberDetail(_MemberDetail):
    owned = staticmethod(owned_project)


class LinkSerializer(serializers.ModelSerializer[ShareLink]):
    """A share link. Its `url` is returned once, when the link is made."""

    days = serializers.ChoiceField(sharing.DAYS, default=sharing.DAYS[0], write_only=True)
    url = serializers.SerializerMethodField()

    class Meta:
        model = ShareLink
        fields = ["id", "days", "url", "created_at", "expires_at"]
        read_only_fields = ["created_at", "expires_at"]

    def get_url(self, link: ShareLink) -> str | None:
        url: str | None = self.context.get("url")
        return url


class LinkList(ListAPIView[ShareLink]):
    serializer_class = LinkSerializer
    pagination_class = SinglePage
    queryset = ShareLink.objects.none()

    def get_queryset(self) -> QuerySet[ShareLink]:
        return ShareLink.objects.filter(session=owned_session(self.request.user, self.kwargs["session_id"]))

    @extend_schema(responses={201: LinkSerializer})
    def post(self, request: Request, session_id: UUID) -> Response:
        session = owned_session(request.user, session_id)
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        token = sharing.make_link(session, serializer.validated_data["days"])
        url = origins.public_address(request, reverse("shared", args=[token]))
        return Response(LinkSerializer(session.links.first(), context={"url": url}).data, 201)


class LinkDetail(GenericAPIView[ShareLink]):
    """Revoked, it opens nothing any more."""

    serializer_class = LinkSerializer
    queryset = ShareLink.objects.none()

    @extend_schema(responses={204: None})
    def delete(self, request: Request, session_id: UUID, link_id: int) -> Response:
        deleted, _ = owned_session(request.user, session_id).links.filter(pk=link_id).delete()
        if not deleted:
            raise Http404()
        return Response(status=204)
