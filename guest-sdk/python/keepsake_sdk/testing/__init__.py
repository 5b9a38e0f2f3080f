"""A host within the test: agents are tried on the build machine, without a
component and without the real host. It gives and raises what the component's
imports do, so that a test goes through the same code as a plugin that runs."""

from .host import Host

__all__ = ["Host"]
