"""Presentation may show other subjects (decision 46), but no two modules need each other."""

from graphlib import TopologicalSorter

import grimp

APPS = ("portal", "scheduler_view", "accounting")


def test_no_modules_import_each_other() -> None:
    """The modules have an order in which each imports only those before it."""
    graph = grimp.build_graph(*APPS, exclude_type_checking_imports=True, cache_dir=None)
    imports = {
        module: graph.find_modules_directly_imported_by(module)
        for module in graph.modules
    }
    assert len(imports) > 1000
    TopologicalSorter(imports).prepare()  # CycleError names the modules
