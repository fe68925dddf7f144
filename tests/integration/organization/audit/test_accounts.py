"""Sign-ins, tokens, passwords and deactivation in the audit chain (I17).

Each test commits: links are made when a transaction ends.
"""

import json

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.kit.models.audit import AuditLink
from accounting.organization.actions.people import save_person
from accounting.organization.actions.tokens import create_token, revoke_token
from accounting.organization.reads.audit_entries import AuditFilter, audit_rows
from accounting.organization.reads.chain_checks import history_tables
from tests.database_flush import delete_rows
from tests.integration.organization.audit.test_chain import broken

PASSWORD, OTHER = "correct horse battery staple", "another horse battery staple"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def clean(transactional_db: None) -> None:
    """The chain of this test only."""
    del transactional_db
    delete_rows([*history_tables(), "accounting_auditlink"])


def entries(what: str) -> list[tuple[str, str, dict[str, object]]]:
    """Actor, action and what is new of each entry, oldest first."""
    rows = reversed(list(audit_rows(AuditFilter(what=what))))
    return [(row.actor, row.action, dict(row.after)) for row in rows]


def test_an_account_from_its_beginning_to_its_end() -> None:
    save_person("ana", role="admin", actor="system", reason="first")
    save_person("ben", role="admin", actor="system", reason="second")
    save_person("ben", password=PASSWORD, actor="system", reason="lost it")
    save_person("ben", is_active=False, actor="ana", reason="left")
    accounts = entries("account")
    assert [(actor, action) for actor, action, _ in accounts] == [
        ("system", "insert"),
        ("system", "insert"),
        ("system", "password"),
        ("ana", "update"),
    ]
    assert accounts[-1][2] == {"is_active": False}
    roles = [(actor, after.get("role")) for actor, _, after in entries("person")]
    assert ("system", "admin") in roles
    assert broken() == []


def test_a_burst_of_failures_is_one_entry_and_a_sign_in_is_one() -> None:
    save_person("ana", password=PASSWORD, actor="system", reason="first")
    browser = Client()
    for password in ("guess 1", "guess 2", "guess 3", PASSWORD):
        browser.post("/sign-in", {"username": "ana", "password": password})
    found = entries("signinrecord")
    assert [(actor, after["outcome"]) for actor, _, after in found] == [
        ("ana", "failed"),
        ("ana", "signed-in"),
    ]
    assert broken() == []


def test_tokens_made_and_revoked() -> None:
    save_person("ana", password=PASSWORD, actor="system", reason="first")
    user = get_user_model().objects.get(username="ana")
    token, _ = create_token(owner=user, name="sheet", scopes=["read:usage"])
    revoke_token(owner=user, token_key=token.token_key)
    found = entries("apitoken")
    assert [(actor, action) for actor, action, _ in found] == [
        ("ana", "insert"),
        ("ana", "delete"),
    ]
    assert found[0][2]["scopes"] == ["read:usage"]


def test_a_password_changed_on_the_account_page() -> None:
    save_person("ana", password=PASSWORD, actor="system", reason="first")
    browser, elsewhere = Client(), Client()
    for client in (browser, elsewhere):
        client.post("/sign-in", {"username": "ana", "password": PASSWORD})
    fields = {"old_password": PASSWORD, "new_password1": OTHER, "new_password2": OTHER}
    assert browser.post("/account/password", fields).status_code == 302
    assert browser.get("/account").status_code == 200
    assert elsewhere.get("/account").status_code == 302
    actors = [(actor, action) for actor, action, _ in entries("account")]
    assert actors == [("system", "insert"), ("system", "password"), ("ana", "password")]


def test_neither_passwords_nor_digests_are_in_the_record() -> None:
    save_person("ana", password=PASSWORD, actor="system", reason="first")
    user = get_user_model().objects.get(username="ana")
    token, secret = create_token(owner=user, name="sheet", scopes=["read:usage"])
    Client().post("/sign-in", {"username": PASSWORD, "password": PASSWORD})
    record = json.dumps([str(link.body) for link in AuditLink.objects.all()])
    for word in (user.password, "argon2", token.digest, secret, PASSWORD):
        assert word not in record
    columns = {
        field.column
        for model in apps.get_models()
        if model._meta.db_table in history_tables()
        for field in model._meta.fields
    }
    assert not columns & {"password", "digest"}
