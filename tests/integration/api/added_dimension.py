"""A program of `test_dimensions`: the product with one more entry in its registry.

It loads `accounting.kit.reads.dimensions` with `ENTRY` at the end of DIMENSIONS, before anything
else of the product, writes the story and prints as JSON what each use of a dimension answers.
Everything is rolled back.
"""

import io
import json
import sys
from pathlib import Path
from types import ModuleType

ENTRY = """
    Dimension(
        name="department",
        label="Department",
        keys=(DimensionKey("department", "coalesce(t.department, '')", can_be_empty=True),),
        joins=(_TEAM,),
        page=PageUse.FILTER | PageUse.MENU | PageUse.SPLIT,
        empty_label="No department",
    ),
"""
NAME = "accounting.kit.reads.dimensions"
END = "\n)\nBY_NAME = "  # of the registry


def load() -> None:
    """The registry with one more entry, under its own name."""
    path = Path(__file__).parents[3] / f"{NAME.replace('.', '/')}.py"
    before, end, after = path.read_text().partition(END)
    assert end, f"{path.name} does not end DIMENSIONS as this program expects"
    module = ModuleType(NAME)
    module.__file__ = str(path)
    sys.modules[NAME] = module
    exec(compile(before + ENTRY + end + after, path, "exec"), module.__dict__)  # noqa: S102  # its own source


def answers() -> dict[str, object]:
    """What REST, its schema, files, the command and a page make of the entry."""
    from django.contrib.auth import get_user_model  # noqa: PLC0415  # after `load`
    from django.core.management import call_command  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    client = Client(SERVER_NAME="localhost")
    client.force_login(get_user_model().objects.get(username="ana"))
    month = "from=2026-11-01&to=2026-11-15"
    usage = f"/api/v1/usage?{month}&by=department"
    printed = io.StringIO()
    options = ("--from=2026-11-01", "--to=2026-11-15", "--department=Research")
    call_command(
        *("report", "usage", "--by=department", *options, "--format=csv"),
        stdout=printed,
    )
    page = client.get(f"/?{month}&department=Research&split=department").context
    menu = client.get(f"/?{month}").context["facets"]
    schema = client.get("/api/v1/schema?format=json").json()
    parameters = schema["paths"]["/api/v1/usage"]["get"]["parameters"]
    row = schema["components"]["schemas"]["UsageRow"]
    wrong = client.get("/api/v1/ledger?by=department").json()
    return {
        "all": client.get(usage).json()["rows"],
        "one": client.get(f"{usage}&department=Research").json()["rows"],
        "csv": client.get(f"{usage}&format=csv").getvalue().decode().splitlines(),
        "command": printed.getvalue().splitlines(),
        "chips": [(chip.label, chip.value) for chip in page["chips"]],
        "page_ms": page["breakdown"].summary.total.allocated_ms,
        "split": [(line.name, line.row.allocated_ms) for line in page["split"].lines],
        "menu": {facet.name: facet.label for facet in menu},
        "parameters": [one["name"] for one in parameters],
        "optional": sorted(set(row["properties"]) - set(row["required"])),
        "by_of_ledger": wrong["errors"][0]["allowed"],
    }


def main() -> None:
    """Print the answers as JSON."""
    load()
    import django  # noqa: PLC0415  # after `load`

    django.setup()
    import time_machine  # noqa: PLC0415
    from django.db import transaction  # noqa: PLC0415
    from django.test.utils import setup_test_environment  # noqa: PLC0415

    from tests.integration.conftest import NOW  # noqa: PLC0415
    from tests.story import cast, tell  # noqa: PLC0415

    setup_test_environment()  # answers keep the context of their page
    with time_machine.travel(NOW, tick=False), transaction.atomic():
        cast(tell(NOW))
        found = answers()
        transaction.set_rollback(True)
    print(json.dumps(found))  # noqa: T201  # read by the test


if __name__ == "__main__":
    main()
