"""The contents of blobs by address, each read once."""

from collections.abc import Collection

from llm_app.models import Blob
from tasks_app.replay.faults import NotRebuilt

_AT_ONCE = 500  # addresses of one query


class Blobs:
    def __init__(self) -> None:
        self._texts: dict[str, str] = {"": ""}

    def text(self, address: str) -> str:
        """Raises NotRebuilt where the blob is gone."""
        self.load([address])
        if address not in self._texts:
            raise NotRebuilt(f"the blob {address[:12]} is gone")
        return self._texts[address]

    def load(self, addresses: Collection[str]) -> dict[str, str]:
        """Those that are there, by address."""
        missing = [address for address in set(addresses) if address not in self._texts]
        for start in range(0, len(missing), _AT_ONCE):
            found = Blob.objects.filter(pk__in=missing[start : start + _AT_ONCE])
            self._texts |= dict(found.values_list("sha256", "content"))
        return {address: self._texts[address] for address in addresses if address in self._texts}
