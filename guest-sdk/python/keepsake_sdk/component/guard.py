"""What stands between the host and a plugin's functions: errors that the other
side can act on are answered, and faults are told with the place they come from
before they end the instance."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

# Generated with the component.
from componentize_py_types import Err
from wit_world.imports import log, types

from ..error import KeepsakeError, to_wit

T = TypeVar("T")


def guarded(run: Callable[..., T], *given: Any) -> T:
    # Seeded while the component was built: each instance would draw the same.
    random.seed()
    try:
        return run(*given)
    except KeepsakeError as error:
        raise Err(to_wit(error, types)) from None
    except Exception as error:
        said = "".join(traceback.format_exception_only(error)).strip()
        place = _place(error)
        log.report_panic(f"{said} ({place})" if place else said)
        # The runtime prints the stack, which is shown with the failure.
        raise


def the_only(base: type[T], modules: dict[str, Any]) -> T:
    """The instance of the one class of its kind in the plugin's module."""
    found = [
        one
        for one in modules.values()
        if isinstance(one, type) and issubclass(one, base) and one.__module__ == "plugin"
    ]
    if len(found) != 1:
        raise TypeError(
            f"plugin.py must hold one class of the kind {base.__name__}, as plugin.toml says;"
            f" it holds {len(found)}"
        )
    return found[0]()


def _place(error: BaseException) -> str | None:
    """The innermost line that is the author's own."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "keepsake_sdk" not in frame.filename]
    frame = (own or frames or [None])[-1]
    if frame is None:
        return None
    # Sources lie in numbered folders of the component, the author's in the first.
    name = frame.filename.replace("/0/", "src/", 1)
    return f"{name}:{frame.lineno}"
