"""A file storage in an S3-compatible bucket, imported only if STORAGE_URL is set."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

_MAX_MEMORY_BYTES = 2 * 1024**2  # bytes of an open file; the rest of it is on disk


class BucketStorage(S3Storage):
    """A bucket with the errors of Django's file system: FileNotFoundError for missing files, OSError for failures.

    Checksums are sent only if S3 requires them. Since boto3 1.36 they are the default, as trailers that many
    compatible servers refuse (https://github.com/boto/boto3/issues/4392).
    """

    def get_default_settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().get_default_settings()
        config = Config(
            signature_version="s3v4",
            connect_timeout=5,
            read_timeout=30,
            retries={"mode": "standard", "total_max_attempts": 3},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        return settings | {
            "client_config": config,
            "default_acl": None,
            "querystring_auth": True,
            "file_overwrite": True,
            "max_memory_size": _MAX_MEMORY_BYTES,
        }

    def _open(self, name: str, mode: str = "rb") -> Any:
        """Open and download the file immediately, so that errors are raised here."""
        with _as_os_error():
            file = super()._open(name, mode)
            _ = file.file
            return file

    def _save(self, name: str, content: Any) -> str:
        with _as_os_error():
            stored_name: str = super()._save(name, content)
            return stored_name

    def delete(self, name: str) -> None:
        with _as_os_error():
            super().delete(name)

    def exists(self, name: str) -> bool:
        with _as_os_error():
            exists: bool = super().exists(name)
            return exists


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, Boto3Error) as error:
        raise OSError(f"The bucket does not answer: {type(error).__name__}.") from error
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        kind = FileNotFoundError if code in ("NoSuchKey", "404") else OSError
        raise kind(f"The bucket refuses: {code}.") from error
