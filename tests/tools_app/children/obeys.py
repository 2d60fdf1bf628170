"""A child module that obeys its requests."""

import os
import time
from collections.abc import Mapping
from typing import Any


def answer(request: Mapping[str, Any], body: bytes) -> Any:
    match request.get("do"):
        case "stall":
            time.sleep(60)
        case "compute":
            while True:
                pass
        case "grow":
            return len(bytes(4 * 1024**3))
        case "raise":
            raise ValueError("a fault")
        case "die":
            os._exit(3)
    return {"request": request, "size": len(body), "environment": dict(os.environ)}
