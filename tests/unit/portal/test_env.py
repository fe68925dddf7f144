"""The environment: every wrong setting is named, no secret is shown, files work."""

import re
import stat
from decimal import Decimal
from pathlib import Path

import pytest

from accounting.core.interval import HOUR_MS
from portal.env import (
    ConfigurationError,
    database_settings,
    mail_settings,
    read_environment,
    static_root,
)
from portal.secret_key import secret_key
from scheduler_view.savings.rules.duration import duration_limits

SECRET = "correct horse battery staple correct horse"
NAMES = (
    "SECRET_KEY",
    "DATABASE_URL",
    "REDIS_URL",
    "PUBLIC_URL",
    "ALLOWED_HOSTS",
    "GPU_LEDGER_HOME",
    "GPU_LEDGER_LOCAL",
    "LOG_LEVEL",
    "LOG_FORMAT",
    "TRUST_FORWARDED_PROTO",
    "TRUSTED_PROXIES",
    "EXPORT_FOLDER",
    "FACT_DAYS",
    "ANOMALY_MINIMUM",
    "MAX_DURATIONS",
    "SPOT_HOURS",
    "SPOT_PODS",
    "INGEST_HOURS_AT_ONCE",
    "ORGANIZATION_ID",
    "ORGANIZATION_NAME",
    "SCHEDULED_EXPORTS",
    "S3_ACCESS_KEY_ID",
    "S3_ENDPOINT",
    "S3_REGION",
    "S3_SECRET_ACCESS_KEY",
    "SCHEDULED_EXPORT_BUCKET",
    "SCHEDULED_EXPORT_FOLDER",
    "SECRETS_DIR",
    "SMTP_URL",
    "MAIL_FROM",
)


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own environment."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


def test_missing_secret_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"SECRET_KEY: is missing"):
        read_environment()


def test_empty_secret_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "")
    with pytest.raises(ConfigurationError, match=r"SECRET_KEY: is missing"):
        read_environment()


def test_local_commands_generate_one_secret_and_keep_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPU_LEDGER_LOCAL", "1")
    monkeypatch.setenv("GPU_LEDGER_HOME", str(tmp_path / "home"))
    first = secret_key(read_environment())
    assert len(first) >= 50
    assert secret_key(read_environment()) == first
    files = list((tmp_path / "home").iterdir())
    assert [file.name for file in files] == ["secret_key"]
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600


def test_damaged_generated_secret_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPU_LEDGER_LOCAL", "1")
    monkeypatch.setenv("GPU_LEDGER_HOME", str(tmp_path))
    (tmp_path / "secret_key").write_text("")
    with pytest.raises(ConfigurationError, match="damaged"):
        secret_key(read_environment())


def test_all_wrong_settings_are_named_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_KEY", "short-canary")
    monkeypatch.setenv("DATABASE_URL", "mysql://root:canary@db/x")
    monkeypatch.setenv("REDIS_URL", "http://canary")
    monkeypatch.setenv("LOG_LEVEL", "LOUD")
    with pytest.raises(ConfigurationError) as caught:
        read_environment()
    message = str(caught.value)
    for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "LOG_LEVEL"):
        assert f"\n  {name}: " in message
    assert "canary" not in message


@pytest.mark.parametrize(
    ("url", "is_accepted"),
    [
        ("https://gpu.example.org", True),
        ("http://127.0.0.1:8000", True),
        ("http://localhost", True),
        ("http://gpu.example.org", False),
        ("gpu.example.org", False),
        ("ftp://gpu.example.org", False),
    ],
)
def test_clear_text_is_for_this_machine_only(
    monkeypatch: pytest.MonkeyPatch, url: str, *, is_accepted: bool
) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    monkeypatch.setenv("PUBLIC_URL", url)
    if is_accepted:
        assert read_environment().is_secure is url.startswith("https")
    else:
        with pytest.raises(ConfigurationError, match="PUBLIC_URL: must be"):
            read_environment()


def test_hosts_are_named_never_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    monkeypatch.setenv("PUBLIC_URL", "https://gpu.example.org/")
    monkeypatch.setenv("ALLOWED_HOSTS", "a.example, b.example,")
    assert read_environment().hosts == ["gpu.example.org", "a.example", "b.example"]
    monkeypatch.setenv("ALLOWED_HOSTS", "*")
    with pytest.raises(ConfigurationError, match="ALLOWED_HOSTS"):
        read_environment()


def test_secret_comes_from_a_named_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "key"
    path.write_text(f"{SECRET}\n")
    monkeypatch.setenv("SECRET_KEY_FILE", str(path))
    assert secret_key(read_environment()) == SECRET


def test_secret_comes_from_the_secrets_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "secret_key").write_text(SECRET)
    (tmp_path / "database_url").write_text("postgres://u:p@db/ledger")
    monkeypatch.setenv("SECRETS_DIR", str(tmp_path))
    environment = read_environment()
    assert secret_key(environment) == SECRET
    assert environment.database_url is not None


def test_unreadable_file_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigurationError, match=r"SECRET_KEY_FILE: .*nowhere"):
        read_environment()


def test_value_and_file_together_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "key"
    path.write_text(SECRET)
    monkeypatch.setenv("SECRET_KEY", SECRET)
    monkeypatch.setenv("SECRET_KEY_FILE", str(path))
    with pytest.raises(ConfigurationError, match="both set"):
        read_environment()


def test_secrets_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    monkeypatch.setenv("DATABASE_URL", "postgres://u:canary@db/ledger")
    assert SECRET not in repr(read_environment())
    assert "canary" not in repr(read_environment())


def test_database_url_over_the_network() -> None:
    found = database_settings(
        "postgresql://u%40x:p%2Fw@db.example:6432/a%20b?sslmode=require"
    )
    assert found["USER"] == "u@x"
    assert found["PASSWORD"] == "p/w"
    assert found["HOST"] == "db.example"
    assert found["PORT"] == "6432"
    assert found["NAME"] == "a b"
    assert found["OPTIONS"] == {"sslmode": "require"}


def test_database_url_over_a_socket() -> None:
    found = database_settings("postgres://postgres@/ledger?host=/run/pg&port=5433")
    assert (found["HOST"], found["PORT"]) == ("/run/pg", "5433")
    assert found["OPTIONS"] == {}


@pytest.mark.parametrize("url", ["sqlite:///x", "postgres://host", "postgres://host/"])
def test_wrong_database_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"must begin|must contain a database"):
        database_settings(url)


def test_proxies_are_addresses_or_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    assert read_environment().trusted_proxies == []
    monkeypatch.setenv("TRUSTED_PROXIES", " 10.0.0.7, 172.18.0.0/16 ,fd00::/64")
    found = [str(network) for network in read_environment().trusted_proxies]
    assert found == ["10.0.0.7/32", "172.18.0.0/16", "fd00::/64"]


@pytest.mark.parametrize("text", ["1", "proxy.example.org", "10.0.0.7/8", "10.0.0"])
def test_what_is_no_network_is_refused(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    monkeypatch.setenv("TRUSTED_PROXIES", text)
    with pytest.raises(ConfigurationError, match="TRUSTED_PROXIES: "):
        read_environment()


@pytest.mark.parametrize("text", ["0.0.0.0/0", "::/0", "10.0.0.7, ::/0"])
def test_not_everybody_is_a_proxy(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    monkeypatch.setenv("TRUSTED_PROXIES", text)
    with pytest.raises(ConfigurationError, match="includes all addresses"):
        read_environment()


def test_static_files_are_in_the_home_of_a_read_only_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    checkout.mkdir()
    assert static_root(checkout, home) == checkout / "staticfiles"
    monkeypatch.setattr("os.access", lambda path, _mode: path != checkout)
    assert static_root(checkout, home) == home / "staticfiles"
    (checkout / "staticfiles").mkdir()  # as in the image, which nobody may write
    assert static_root(checkout, home) == checkout / "staticfiles"


@pytest.mark.parametrize("days", ["7", "398", "a month"])
def test_facts_are_kept_for_a_week_to_thirteen_months(
    monkeypatch: pytest.MonkeyPatch, days: str
) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    assert read_environment().fact_days == 35
    monkeypatch.setenv("FACT_DAYS", "90")
    assert read_environment().fact_days == 90
    monkeypatch.setenv("FACT_DAYS", days)
    with pytest.raises(ConfigurationError, match="FACT_DAYS"):
        read_environment()


def test_longest_holds_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    assert read_environment().max_durations == []
    monkeypatch.setenv("MAX_DURATIONS", "tier:batch=12h, team:search=1d12h")
    limits = ["tier:batch=12h", "team:search=1d12h"]
    assert read_environment().max_durations == limits
    found = duration_limits(limits).of("batch", "search")
    assert found is not None
    assert found.limit_ms == 12 * HOUR_MS
    for wrong in ("batch=12h", "tier:batch=12", "tier:batch=0h", "tier:=1h", "x:b=1h"):
        monkeypatch.setenv("MAX_DURATIONS", wrong)
        with pytest.raises(ConfigurationError, match="is not a limit"):
            read_environment()
        with pytest.raises(ValueError, match="is not a limit"):
            duration_limits([wrong])


@pytest.mark.parametrize("name", ["SPOT_PODS", "SPOT_HOURS"])
def test_work_for_spot_is_limited_by_whole_numbers(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    found = read_environment()
    assert (found.spot_pods, found.spot_hours) == (4, 24)
    monkeypatch.setenv(name, "0")
    with pytest.raises(ConfigurationError, match=name):
        read_environment()


@pytest.mark.parametrize("amount", ["-1", "NaN", "much"])
def test_the_smallest_anomaly_is_an_amount(
    monkeypatch: pytest.MonkeyPatch, amount: str
) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    assert read_environment().anomaly_minimum == 50
    monkeypatch.setenv("ANOMALY_MINIMUM", "12.50")
    assert read_environment().anomaly_minimum == Decimal("12.50")
    monkeypatch.setenv("ANOMALY_MINIMUM", amount)
    with pytest.raises(ConfigurationError, match="ANOMALY_MINIMUM"):
        read_environment()


def test_hours_at_once_are_one_to_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    assert read_environment().ingest_hours_at_once == 6
    monkeypatch.setenv("INGEST_HOURS_AT_ONCE", "0")
    with pytest.raises(ConfigurationError, match="INGEST_HOURS_AT_ONCE"):
        read_environment()


def test_a_bucket_has_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    assert read_environment().scheduled_export_bucket == ""
    for known in ("s3://finance", "s3://finance/gpu-ledger/files"):
        monkeypatch.setenv("SCHEDULED_EXPORT_BUCKET", known)
        assert read_environment().scheduled_export_bucket == known
    for wrong in ("finance", "https://finance.example", "s3://A", "s3://a b"):
        monkeypatch.setenv("SCHEDULED_EXPORT_BUCKET", wrong)
        with pytest.raises(ConfigurationError, match="SCHEDULED_EXPORT_BUCKET"):
            read_environment()


def test_scheduled_exports_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    monkeypatch.setenv("SCHEDULED_EXPORTS", "focus-1.4:csv, statements:xlsx")
    found = read_environment().scheduled_exports
    assert found == ["focus-1.4:csv", "statements:xlsx"]
    monkeypatch.setenv("SCHEDULED_EXPORTS", "focus-2:csv")
    with pytest.raises(ConfigurationError, match="'focus-2:csv' is not a file"):
        read_environment()


@pytest.mark.parametrize(
    ("url", "host", "port", "user", "tls", "ssl"),
    [
        ("smtp://mail.example.org", "mail.example.org", 587, "", True, False),
        (
            "smtps://a%40b:p@mail.example.org",
            "mail.example.org",
            465,
            "a@b",
            False,
            True,
        ),
        (
            "smtp://u:p@mail.example.org:2525",
            "mail.example.org",
            2525,
            "u",
            True,
            False,
        ),
        ("smtp://10.0.0.7?tls=none", "10.0.0.7", 25, "", False, False),
        ("smtp://u:p@127.0.0.1:1025?tls=none", "127.0.0.1", 1025, "u", False, False),
    ],
)
def test_mail_servers(
    url: str, host: str, port: int, user: str, tls: bool, ssl: bool
) -> None:
    found = mail_settings(url)
    assert (found["EMAIL_HOST"], found["EMAIL_PORT"]) == (host, port)
    assert (found["EMAIL_HOST_USER"], found["EMAIL_USE_TLS"]) == (user, tls)
    assert found["EMAIL_USE_SSL"] is ssl


@pytest.mark.parametrize(
    ("url", "sender", "fault"),
    [
        ("mail.example.org", "a@b", "must begin with smtp"),
        ("http://mail.example.org", "a@b", "must begin with smtp"),
        ("smtp://u:hidden-word@h?tls=maybe", "a@b", "accepts only"),
        ("smtps://h?tls=none", "a@b", "accepts only"),
        ("smtp://u:hidden-word@mail?tls=none", "a@b", "in clear text"),
        ("smtp://h:port", "a@b", "SMTP_URL"),
        ("smtp://u:p@h/x", "a@b", "must end after"),
        ("smtp://h?tls=none&x=y", "a@b", "accepts only"),
        ("smtp://h", "", "MAIL_FROM: is missing"),
        ("smtp://h", "nobody", "MAIL_FROM: must be an address"),
        ("smtp://h", "a@b\nBcc: c@d", "MAIL_FROM: must be an address"),
    ],
)
def test_a_wrong_mail_server_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, url: str, sender: str, fault: str
) -> None:
    monkeypatch.setenv("SECRET_KEY", SECRET)
    monkeypatch.setenv("SMTP_URL", url)
    monkeypatch.setenv("MAIL_FROM", sender)
    with pytest.raises(ConfigurationError, match=fault) as error:
        read_environment()
    assert "hidden-word" not in str(error.value)


@pytest.mark.parametrize("sign", ["#", "/", "?", "[", "]", "\u2100"])
@pytest.mark.parametrize("first", ["S3cret", "12"])
@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("SMTP_URL", "smtp://u:{}@mail.example.org:587"),
        ("SMTP_URL", "smtps://u:{}@mail.example.org"),
        ("DATABASE_URL", "postgres://u:{}@db:5432/ledger"),
        ("APP_DATABASE_URL", "postgres://u:{}@db/ledger?sslmode=require"),
        ("REDIS_URL", "redis://:{}@cache:6379/0"),
        ("PUBLIC_URL", "https://u:{}@gpu.example.org"),
    ],
)
def test_a_password_that_is_not_encoded_is_refused_without_any_of_it(
    monkeypatch: pytest.MonkeyPatch, name: str, url: str, first: str, sign: str
) -> None:
    """Its begin must not be taken for a port, or be a part of the error."""
    monkeypatch.setenv("SECRET_KEY", SECRET)
    monkeypatch.setenv("MAIL_FROM", "a@b")
    monkeypatch.setenv(name, url.format(f"{first}{sign}zq=8x"))
    with pytest.raises(ConfigurationError, match=f"{name}: .*percent-encode") as error:
        read_environment()
    assert not {"S3cret", "zq", "8x"} & set(re.findall(r"\w+", str(error.value)))
