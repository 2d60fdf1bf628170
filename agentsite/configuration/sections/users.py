from collections.abc import Iterator, Sequence

from django.contrib.auth.models import Group

from agentsite.accounts.models import ApiToken, User
from agentsite.configuration import schema
from agentsite.configuration.rows import put
from agentsite.configuration.sections import budgets
from agentsite.models import AppliedValue
from tools_app.models import UserPolicy

LABEL = "configuration file"


def apply(users: Sequence[schema.User]) -> Iterator[str]:
    for item in users:
        user = User.objects.filter(username=item.username).first()
        if user is None:
            user = User.objects.create_user(item.username)
            yield f"user {item.username}: created"
        changes = [*_password(user, item), *_token(user, item), *_roles(user, item)]
        if changes:
            yield f"user {item.username}: {', '.join(changes)}"
        if values := item.tools.given():
            policy = UserPolicy.objects.filter(user=user).first() or UserPolicy(user=user)
            yield from put(policy, values, f"tools of user {item.username}")
        yield from budgets.apply(item.budget, f"budget of user {item.username}", user=user)


def _password(user: User, item: schema.User) -> Iterator[str]:
    """Only a value that is new in the file is set: what the person changed since is theirs."""
    if item.password and _is_new(f"password of {user}", item.password.get_secret_value()):
        user.set_password(item.password.get_secret_value())
        user.save(update_fields=["password"])
        yield "password set"


def _token(user: User, item: schema.User) -> Iterator[str]:
    """The file's token replaces the one that the file gave before; other tokens stay."""
    if item.api_token and _is_new(f"api_token of {user}", item.api_token.get_secret_value()):
        ApiToken.objects.filter(user=user, name=LABEL).delete()
        ApiToken.objects.set_value(user, item.api_token.get_secret_value(), LABEL)
        yield "api_token set"


def _roles(user: User, item: schema.User) -> Iterator[str]:
    wanted = set(item.roles)
    present = set(user.groups.values_list("name", flat=True))
    if "roles" in item.model_fields_set and wanted != present:
        user.groups.set(Group.objects.filter(name__in=wanted))
        yield f"roles [{', '.join(sorted(present))}] → [{', '.join(sorted(wanted))}]"


def _is_new(name: str, value: str) -> bool:
    if not AppliedValue.objects.is_new(name, value):
        return False
    AppliedValue.objects.remember(name, value)
    return True
