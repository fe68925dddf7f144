#!/usr/bin/env python
"""Django's command line, on the embedded services when no DATABASE_URL is set."""

import gc
import os
import sys

if __name__ == "__main__":
    gc.disable()  # until `run` has imported and prepared all
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    os.environ.setdefault("GPU_LEDGER_LOCAL", "1")
    from portal.commands import run

    sys.exit(run(sys.argv))
