"""Arithmetic on vectors, for providers and their tests."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot


def normalise(vector: Sequence[float]) -> list[float]:
    """The vector with length 1; one of zeros stays."""
    length = hypot(*vector)
    return [value / length for value in vector] if length > 0 else list(vector)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors; 0 where one of them is all zeros."""
    lengths = hypot(*one) * hypot(*other)
    return sum(a * b for a, b in zip(one, other)) / lengths if lengths > 0 else 0.0
