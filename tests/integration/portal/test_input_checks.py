"""Requests that no view could make sense of: refused at once, with a document or a page.

Left out: wrong values of known parameters (tests/integration/api/test_wrong_use.py), JSON
bodies (tests/unit/kit/test_parsers.py).
"""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, RequestFactory

from accounting.access.models.people import Person
from accounting.kit.resources.resource import Resource
from portal.settings import DATA_UPLOAD_MAX_MEMORY_SIZE
from portal.wsgi import application
from tests.page_html import html_of

FORM = "application/x-www-form-urlencoded"
PAGES = (
    "/",
    "/teams",
    "/gpus",
    "/explain?what=charge",
    "/audit",
    "/quotas",
    "/changes",
)
LISTS = ("usage", "holds", "audit", "prices", "change-sets", "schema", "docs")


@pytest.fixture
def somebody(db: None) -> Client:
    """A signed-in person, whose requests reach the views."""
    client = Client(raise_request_exception=False)
    client.force_login(get_user_model().objects.create_user("somebody"))
    return client


def assert_refused(answer: Any, status: int, words: str) -> None:
    """A problem document under /api/, else a page in the product's look."""
    assert answer.status_code == status
    if answer.request["PATH_INFO"].startswith("/api/"):
        assert answer.headers["Content-Type"] == "application/problem+json"
        document = answer.json()
        assert document["status"] == status
        assert words in document["detail"]
    else:
        text = html_of(answer)
        assert 'class="sheet"' in text
        assert words in text


@pytest.mark.parametrize("page", PAGES)
def test_nul_in_an_address_of_a_page(somebody: Client, page: str) -> None:
    mark = "&" if "?" in page else "?"
    for part in ("cluster=%00", "q=ab%00c", "%00=1", "team=a&team=b%00"):
        answer = somebody.get(f"{page}{mark}{part}")
        assert_refused(answer, 400, "contains a NUL character")


@pytest.mark.parametrize("name", LISTS)
def test_nul_in_an_address_of_the_api(somebody: Client, name: str) -> None:
    answer = somebody.get(f"/api/v1/{name}?actor=%00&from=%00")
    assert_refused(answer, 400, "'actor' contains a NUL character")
    assert answer.json()["errors"][0]["parameter"] == "actor"


@pytest.mark.parametrize("path", ["/gpus/%00", "/teams/a%00b", "/api/v1/%00", "/%00"])
def test_nul_in_a_path(somebody: Client, path: str) -> None:
    assert_refused(somebody.get(path), 400, "contains a NUL character")


@pytest.mark.parametrize("name", ["theme", "timezone", "next\0"])
@pytest.mark.parametrize("kind", ["urlencoded", "multipart"])
def test_nul_in_a_form(somebody: Client, name: str, kind: str) -> None:
    if kind == "urlencoded":
        body = f"{name}=a%00b".replace("\0", "%00")
        answer = somebody.post("/account/preferences", body, content_type=FORM)
    else:
        answer = somebody.post("/account/preferences", {name: "a\0b"})
    assert_refused(answer, 400, "contains a NUL character")


def test_nul_in_a_header(somebody: Client) -> None:
    for path in ("/teams", "/api/v1/teams"):
        answer = somebody.get(path, headers={"Idempotency-Key": "a\0"})
        assert_refused(answer, 400, "The header Idempotency-Key contains")


def test_nul_in_a_cookie_is_no_session(db: None) -> None:
    client = Client(raise_request_exception=False)
    answer = client.get("/teams", headers={"Cookie": r'session="0123456789\000"'})
    assert answer.status_code == 302
    answer = client.get(
        "/api/v1/teams", headers={"Cookie": r'session="0123456789\000"'}
    )
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "charset", ["base64", "rot13", "utf-16", "punycode", "idna", "a\0b", "x" * 99]
)
@pytest.mark.parametrize("path", ["/teams", "/api/v1/teams"])
def test_a_charset_that_is_not_utf_8(path: str, charset: str) -> None:
    """Through the application itself: the client of the tests makes requests of its own."""
    kind = f"{FORM}; charset={charset}"
    for made in (RequestFactory().get(f"{path}?q=a"), RequestFactory().post(path)):
        environ = made.META | {"CONTENT_TYPE": kind}
        answer: Any = application.get_response(application.request_class(environ))
        assert answer.status_code == 415
        assert b"charset" in answer.content
        is_document = answer.headers["Content-Type"] == "application/problem+json"
        assert is_document == path.startswith("/api/")


def test_utf_8_may_be_named(somebody: Client) -> None:
    kind = f"{FORM}; charset=UTF-8"
    answer = somebody.post("/account/preferences", "theme=dark", content_type=kind)
    assert answer.status_code == 204


@pytest.mark.parametrize("length", ["ten", "-1", "+5", "0x10", "²", "1" * 5000])
def test_a_length_that_is_no_number(somebody: Client, length: str) -> None:
    status, words = (
        (413, "larger") if length.startswith("11") else (400, "not a number")
    )
    for path in ("/account/preferences", "/api/v1/teams"):
        answer = somebody.post(path, "{}", content_type=FORM, CONTENT_LENGTH=length)
        assert_refused(answer, status, words)


@pytest.mark.parametrize("path", ["/account/preferences", "/sign-in", "/api/v1/teams"])
def test_a_body_of_20_mb(somebody: Client, path: str) -> None:
    for kind in (FORM, "application/json", "multipart/form-data; boundary=x"):
        answer = somebody.post(path, b"a" * 20_000_000, content_type=kind)
        assert_refused(answer, 413, "larger than 2.5 MB")


def test_addresses_that_take_files_take_64_mb(somebody: Client) -> None:
    """Who may import is asked by the view; others are answered before a large body is read."""
    large, too_large = b"a" * 4_000_000, b"a" * (65 << 20)
    person = Client(raise_request_exception=False)
    fin = get_user_model().objects.create_user("fin")
    Person.objects.create(user=fin, role="finance")
    person.force_login(fin)
    for client, status in ((person, 400), (somebody, 404), (Client(), 401)):
        answer = client.post("/api/v1/bills", large, content_type="text/csv")
        assert answer.status_code == status
    assert_refused(
        person.post("/api/v1/bills", too_large, content_type="text/csv"), 413, "64 MB"
    )

    def send(client: Client, path: str) -> Any:
        return client.post(path, {"file": SimpleUploadedFile("b.csv", large)})

    answer = send(person, "/bills/new")
    assert answer.status_code == 422
    assert "longer than" in html_of(answer)  # it was read
    assert_refused(send(Client(), "/bills/new"), 413, "Sign in first")
    assert_refused(send(person, "/prices/import"), 413, "larger than 2.5 MB")


def test_a_body_at_the_limit_is_read(somebody: Client) -> None:
    body = b'{"a": "' + b"a" * (DATA_UPLOAD_MAX_MEMORY_SIZE - 9) + b'"}'
    answer = somebody.post("/api/v1/teams", body, content_type="application/json")
    assert answer.status_code == 403  # of one who is no admin: it was looked at


def test_too_many_parameters_and_fields(somebody: Client) -> None:
    many = "&".join(f"p{i}=1" for i in range(1_001))
    for path in ("/teams", "/api/v1/teams"):
        assert_refused(somebody.get(f"{path}?{many}"), 400, "too many parameters")
    answer = somebody.post("/account/preferences", many, content_type=FORM)
    assert_refused(answer, 400, "too many fields")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=", b"x"),
        ("multipart/form-data; boundary=\xff", b"x"),
    ],
)
def test_a_broken_form(somebody: Client, kind: str, body: bytes) -> None:
    answer = somebody.post("/account/preferences", body, content_type=kind)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "query", ["q=%ff%fe", "q=%ed%a0%80", "q=%", "%ff=1", "&&&=", "q=%u12"]
)
def test_bytes_that_are_not_utf_8_are_read_as_such(
    somebody: Client, query: str
) -> None:
    for path in ("/find", "/teams", "/gpus", "/audit"):
        assert somebody.get(f"{path}?{query}").status_code in (200, 403)
    assert somebody.get(f"/api/v1/usage?{query}").status_code == 400


@pytest.mark.parametrize(
    "host", ["evil.example", "a b", "", "localhost:x", "[", "\xff"]
)
def test_a_host_that_is_not_ours(somebody: Client, host: str) -> None:
    assert_refused(somebody.get("/teams", headers={"Host": host}), 400, "not valid")
    assert_refused(
        somebody.get("/api/v1/teams", headers={"Host": host}), 400, "malform"
    )


def test_a_missing_address_of_the_api_is_a_document_too(somebody: Client) -> None:
    assert_refused(somebody.get("/api/v2/teams"), 404, "nothing")


def test_an_error_of_ours_is_a_document_with_the_id_of_the_request(
    somebody: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise RuntimeError("a fault that nobody foresaw")

    monkeypatch.setattr(Resource, "rows", fail)
    answer = somebody.get("/api/v1/clusters")
    assert_refused(answer, 500, "The log contains this error under the request ID")
    assert "foresaw" not in html_of(answer)


def test_nothing_is_looked_up_for_a_refusal() -> None:
    """Without the mark `django_db` a query would fail this test."""
    client = Client(headers={"Cookie": "session=0123456789abcdef"})
    assert client.get("/api/v1/audit?actor=%00").status_code == 400
    assert client.get("/teams?cluster=%00").status_code == 400
