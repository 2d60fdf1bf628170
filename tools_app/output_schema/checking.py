"""Whether the data of a result fits its schema."""

import json
from typing import Any

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.errors import InvalidArguments

_LIMITS = ChildLimits(wall_s=20, cpu_s=10)


async def fitted(data: Any, schema: str) -> Any:
    """`data` as the schema means it. Raises InvalidArguments with what is wrong, for the model."""
    request = {"schema": json.loads(schema), "data": data}
    try:
        answer = await answer_of("tools_app.json_schema.child", request, limits=_LIMITS)
    except NoAnswer as error:
        raise InvalidArguments("data could not be checked against its schema in the time that there is.") from error
    if answer["faults"]:
        raise InvalidArguments("; ".join(answer["faults"]))
    return answer["data"]
