"""As much of JSON Schema as tools are described with: type, properties,
required, additionalProperties, items, enum and const. What is not known here is
passed over, as the schema is meant for the model in the first place."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

_TYPES: dict[str, Any] = {
    "null": type(None),
    "boolean": bool,
    "number": (int, float),
    "integer": int,
    "string": str,
    "array": list,
    "object": dict,
}


def misfit(schema: Any, value: Any, path: str = "the arguments") -> str | None:
    """What is wrong with a value, as a sentence; none when it fits."""
    if not isinstance(schema, dict):
        return None
    if "enum" in schema and value not in schema["enum"]:
        allowed = ", ".join(json.dumps(one) for one in schema["enum"])
        return f"{path} must be one of {allowed}"
    if "const" in schema and value != schema["const"]:
        return f"{path} must be {json.dumps(schema['const'])}"
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(_is_of(one, value) for one in types):
        return f"{path} must be of type {' or '.join(types)}, not {_type_name(value)}"
    if isinstance(value, list):
        items = schema.get("items")
        return _first(misfit(items, one, f"{path}[{at}]") for at, one in enumerate(value))
    if isinstance(value, dict):
        return _misfit_of_members(schema, value, path)
    return None


def _misfit_of_members(schema: dict[str, Any], value: dict[str, Any], path: str) -> str | None:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties")
    missing = next((key for key in schema.get("required", []) if key not in value), None)
    if missing is not None:
        return f"{path} must have `{missing}`"
    strange = next((key for key in value if key not in properties), None)
    if others is False and strange is not None:
        return f"{path} must not have `{strange}`"
    return _first(
        misfit(properties.get(key, others), member, f"`{key}` in {path}")
        for key, member in value.items()
    )


def _first(found: Iterable[str | None]) -> str | None:
    return next((one for one in found if one is not None), None)


def _is_of(name: str, value: Any) -> bool:
    # Python takes true for a number; JSON does not.
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES.get(name, object))


def _type_name(value: Any) -> str:
    return next(name for name in _TYPES if _is_of(name, value))
