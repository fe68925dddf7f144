"""A module whose code is run again.

A function that only builds a table of its module runs while tests are collected, before
`make mutation` inserts a fault. Tests of such a table build it anew, and so do tests of a module
that reads the environment when it is imported.
"""

from importlib.util import module_from_spec
from types import ModuleType


def built_anew(module: ModuleType) -> ModuleType:
    """A second copy of a module, which nothing else imports.

    Raises:
        ValueError: the module has no loader.
    """
    spec = module.__spec__
    if spec is None or spec.loader is None:
        raise ValueError(f"{module.__name__} has no loader")
    copy = module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy
