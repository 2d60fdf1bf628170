"""Key rotation: a new key comes first in FIELD_ENCRYPTION_KEY, `rotate_keys` runs, and the old key can be removed."""

from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import connection

from llm_app.encryption import decrypted, encrypted
from llm_app.models import Provider, Secret, ServiceKey
from tests import factories

pytestmark = pytest.mark.django_db
VALUE = "rotated-secret-1"


@pytest.fixture
def rows(settings):
    settings.FIELD_ENCRYPTION_KEY = Fernet.generate_key().decode()
    factories.ProviderFactory(name="keyed", api_key=VALUE)
    factories.ProviderFactory(name="without")
    Secret.objects.create(name="TEAM", value=VALUE)
    ServiceKey.objects.create(name="search.x", value=VALUE)
    phone = {"secret": encrypted(VALUE), "other": 1}
    Authenticator.objects.create(user=factories.UserFactory(), type=Authenticator.Type.TOTP, data=phone)


def stored() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT value FROM secrets UNION ALL SELECT value FROM service_keys")
        values = [value for (value,) in cursor.fetchall()]
        cursor.execute("SELECT api_key FROM providers WHERE api_key <> ''")
        return values + [value for (value,) in cursor.fetchall()]


def test_the_new_key_decrypts_everything_after_a_rotation(rows, settings):
    old, new = settings.FIELD_ENCRYPTION_KEY, Fernet.generate_key().decode()
    settings.FIELD_ENCRYPTION_KEY = f"{new},{old}"
    out = StringIO()
    call_command("rotate_keys", stdout=out)
    assert "secrets.value: 1" in out.getvalue()
    assert len(stored()) == 3
    settings.FIELD_ENCRYPTION_KEY = new
    assert Secret.objects.get().value == ServiceKey.objects.get().value == VALUE
    assert Provider.objects.get(name="keyed").api_key == VALUE
    assert decrypted(Authenticator.objects.get().data["secret"]) == VALUE
    assert Provider.objects.get(name="without").api_key == ""


def test_a_missing_old_key_is_reported_and_changes_nothing(rows, settings):
    before = stored()
    settings.FIELD_ENCRYPTION_KEY = Fernet.generate_key().decode()
    with pytest.raises(CommandError, match="Nothing is lost"):
        call_command("rotate_keys")
    assert stored() == before


def test_the_database_contains_no_plain_values(rows):
    assert all(value.startswith("gAAAA") for value in stored())
