"""Characters that cannot be seen are refused wherever people write, with what is wrong.

REST by its parser, pages by the base of all forms, the setup file by its fields.
"""

import json
from pathlib import Path

import pytest

from accounting.access.models.teams import Binding, Team
from accounting.kit.forms import AccessibleForm
from accounting.prices.models.price import PriceList
from scheduler_view.changes.models import ChangeSet
from tests.integration.access.test_twins import BODIES
from tests.integration.commands.conftest import run
from tests.integration.conftest import SignIn
from tests.page_html import html_of

TOLD = "contains U+202E (right-to-left override)"
HIDDEN = "\u202e"


def texts(path: str) -> list[str]:
    """The members of a body that are text."""
    return [name for name, value in BODIES[path].items() if isinstance(value, str)]


@pytest.mark.parametrize(
    ("path", "member"), [(path, name) for path in BODIES for name in texts(path)]
)
def test_rest_refuses_them_in_each_member(
    sign_in: SignIn, path: str, member: str
) -> None:
    body = BODIES[path] | {member: f"{BODIES[path][member]}{HIDDEN}"}
    before = [model.objects.count() for model in (Team, Binding, PriceList, ChangeSet)]
    answer = sign_in("ana").post(
        f"/api/v1/{path}", json.dumps(body), content_type="application/json"
    )
    assert answer.status_code == 400
    assert f"#/{member}: the text {TOLD}" in answer.json()["detail"]
    after = [model.objects.count() for model in (Team, Binding, PriceList, ChangeSet)]
    assert after == before


@pytest.mark.parametrize(
    ("address", "fields", "field"),
    [
        ("/attribution/new", {"kind": "namespace", "glob": f"{HIDDEN}vision"}, "glob"),
        ("/attribution/new", {"reason": f"Agreed in the round{HIDDEN}"}, "reason"),
        ("/prices/lists/new", {"name": f"Vendor{HIDDEN}"}, "name"),
        ("/account/tokens", {"name": f"sheet{HIDDEN}", "days": "30"}, "name"),
        ("/entries/new", {"reason": f"Agreed in the round{HIDDEN}"}, "reason"),
    ],
)
def test_pages_refuse_them_at_the_field(
    sign_in: SignIn, address: str, fields: dict[str, str], field: str
) -> None:
    answer = sign_in("ana").post(address, fields)
    assert answer.status_code == 422
    page = html_of(answer)
    assert f'id="id_{field}_error"' in page
    assert TOLD in page


def test_every_form_of_text_has_the_base() -> None:
    """A form of its own base would accept them."""
    from django import forms  # noqa: PLC0415  # its classes, when all modules are there

    ours = [
        one
        for one in forms.Form.__subclasses__()
        if one.__module__.startswith(("accounting.", "scheduler_view.", "portal."))
        and one is not AccessibleForm
    ]
    bare = [
        f"{one.__name__}.{name}"
        for one in ours
        for name, field in one.base_fields.items()
        if isinstance(field, forms.CharField)
    ]
    assert bare == []


@pytest.mark.django_db
def test_the_setup_file_refuses_them_with_the_line(tmp_path: Path) -> None:
    file = tmp_path / "setup.yaml"
    file.write_text('teams:\n  - slug: audio\n    name: "Au\\u202edio"\n')
    ended = run("configure", str(file))
    assert ended.code == 2
    assert TOLD in ended.err
    assert ":3:" in ended.err or "line 3" in ended.err
    file.write_text(
        "teams:\n  - slug: audio\nbindings:\n  - {namespace: Au dio, team: audio}\n"
    )
    ended = run("configure", str(file))
    assert ended.code == 2
    assert "'Au dio' matches no namespace" in ended.err


def test_text_with_the_joiners_of_its_script_is_stored(sign_in: SignIn) -> None:
    """Persian is not written without U+200C."""
    name = "می\u200cرویم"
    body = BODIES["teams"] | {"name": name}
    answer = sign_in("ana").post(
        "/api/v1/teams", json.dumps(body), content_type="application/json"
    )
    assert answer.status_code == 201
    assert Team.objects.filter(name=name).exists()
    refused = sign_in("ana").post("/account/tokens", {"name": name, "days": "0"})
    assert "contains U+200C" not in html_of(refused)
