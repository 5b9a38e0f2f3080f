"""What a customer's profile may hold."""

from __future__ import annotations

from typing import Any

#: The members that this agent knows, what they are, and how many letters they
#: may have.
_MEMBERS = [
    ("name", "What the customer goes by.", 200),
    ("plan", "The plan that they are on, such as Pro.", 100),
    ("email", "Their e-mail address.", 320),
    ("phone", "Their phone number.", 50),
    ("language", "The language to answer in, such as German.", 50),
]

#: The JSON Schema of profiles. Further members are for other agents.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        name: {"type": "string", "minLength": 1, "maxLength": letters}
        for name, _, letters in _MEMBERS
    },
    "additionalProperties": True,
}

#: The JSON Schema of what `update_profile` takes: the same members, where none
#: removes one.
PATCH_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "patch": {
            "type": "object",
            "description": "The members to set; one with the value null is removed.",
            "properties": {
                name: {
                    "type": ["string", "null"],
                    "maxLength": letters,
                    "description": description,
                }
                for name, description, letters in _MEMBERS
            },
            "additionalProperties": True,
        }
    },
    "required": ["patch"],
}
