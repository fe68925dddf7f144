"""The cyclic garbage collector of the web server."""

import gc

NEW_OBJECTS = 10_000  # between two collections; Python's default is 700


def tune_collector() -> None:
    """Leave what is loaded now out of all collections, and collect less often.

    What is loaded now lives as long as the process, and a list of thousands of rows is some ten
    thousand live objects. With Python's defaults the collector takes up to a third of the time of
    such a page: it scans what it cannot free.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
    _, middle, full = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, middle, full)
