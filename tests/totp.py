"""The code that an authenticator app shows, from its key (RFC 6238)."""

import base64
import hmac
import struct
import time


def code(key: str, *, later: int = 0) -> str:
    """Return the code of now, or of `later` periods of 30 seconds from now."""
    digest = hmac.digest(base64.b32decode(key), struct.pack(">Q", int(time.time()) // 30 + later), "sha1")
    start = digest[-1] & 15
    return f"{(int.from_bytes(digest[start : start + 4]) & 0x7FFFFFFF) % 1_000_000:06}"
