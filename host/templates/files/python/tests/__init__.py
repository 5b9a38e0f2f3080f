"""Lets the tests find the plugin and the SDK, neither of which is installed."""

import sys
from pathlib import Path

_project = Path(__file__).resolve().parent.parent
for _folder in ("src", "vendor/guest-sdk/python"):
    sys.path.insert(0, str(_project / _folder))
