"""Why a request cannot be rebuilt. The message goes on after "call …: "."""


class NotRebuilt(Exception):
    """Something that the request was made of is not in the record any more."""
