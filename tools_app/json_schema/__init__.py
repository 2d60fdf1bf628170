"""JSON schemas of arguments and results."""

from tools_app.json_schema import external
from tools_app.json_schema.model_schemas import brief, first_sentence
from tools_app.json_schema.validation import MAX_DEPTH, depth

__all__ = ["MAX_DEPTH", "brief", "depth", "external", "first_sentence"]
