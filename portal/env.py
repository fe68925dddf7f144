"""The settings of the process from its environment: read once, typed, with one clear error.

Every setting can also be a file: `SECRET_KEY_FILE=/run/secrets/key`, or a file named `secret_key`
in the directory `SECRETS_DIR`. Values never appear in error messages, because some are secrets.
"""

import os
import re
from decimal import Decimal
from email.utils import parseaddr
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
)

BASE_DIR = Path(__file__).resolve().parent.parent

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

# of the database; longer names are truncated
ROLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")

MAX_DURATION = re.compile(r"(tier|team):[A-Za-z0-9._-]+=(?=\d*[1-9])(\d+[smhd])+")

SCHEDULED_EXPORT = re.compile(
    r"(focus-1\.4|focus-1\.2|charges|statements):(csv|parquet|xlsx)"
)

BUCKET = r"^(s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^\s?#]*)?)?$"

MAIL_ADDRESS = re.compile(r"[^@\s<>]+@[^@\s<>]+")

NOT_A_URL = (
    "is not a valid URL: percent-encode special characters of the user name and password"
    " (# as %23, / as %2F, ? as %3F, @ as %40), and write the port as a number"
)

SHORTEST_SECRET = 32  # characters; Django generates 50


class ConfigurationError(ImproperlyConfigured):
    """The environment is not valid."""


class NamedFiles(PydanticBaseSettingsSource):
    """Reads the file that `<NAME>_FILE` names, for every setting."""

    def get_field_value(
        self, field: FieldInfo, field_name: str
    ) -> tuple[Any, str, bool]:
        """The content of the file without its last line break, or None."""
        path = os.environ.get(f"{field_name.upper()}_FILE")
        if not path:
            return None, field_name, False
        if os.environ.get(field_name.upper()):
            name = field_name.upper()
            raise ConfigurationError(
                f"{name} and {name}_FILE are both set: set only one"
            )
        try:
            return Path(path).read_text().rstrip("\r\n"), field_name, False
        except (OSError, UnicodeDecodeError) as error:
            message = f"{field_name.upper()}_FILE: {path} cannot be read ({error})"
            raise ConfigurationError(message) from None

    def __call__(self) -> dict[str, Any]:
        """All settings that are set as a file."""
        found = {
            name: self.get_field_value(field, name)[0]
            for name, field in self.settings_cls.model_fields.items()
        }
        return {name: value for name, value in found.items() if value is not None}


class Environment(BaseSettings):
    """The settings that differ between installations."""

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", env_ignore_empty=True, hide_input_in_errors=True
    )

    secret_key: SecretStr | None = None
    """Signs sessions and links. Required, except for local commands and the demo."""

    database_url: SecretStr | None = None
    """`postgres://user:password@host:5432/name?sslmode=require`; PostgreSQL 15 or
    newer. Without it the embedded one of `portal.embedded` is used."""

    app_database_url: SecretStr | None = None
    """The database URL of web, worker, beat and observer, passed to `manage.py prepare_database`
    only: it creates that role, which cannot rewrite the audit log, with its password.
    """

    redis_url: SecretStr | None = None
    """`redis://host:6379/0`, `rediss://` or `unix:///path?db=0`; Redis or Valkey 6.0 or
    newer. Add `protocol=2` for a proxy that does not support RESP3. Without it: embedded.
    """

    public_url: str = "http://127.0.0.1:8000"
    """The address that people type. https, except on the local machine."""

    allowed_hosts: Annotated[list[str], NoDecode] = []
    """More accepted host names, with commas; that of `public_url` is always accepted."""

    trust_forwarded_proto: bool = False
    """True behind a proxy that terminates TLS and always sets `X-Forwarded-Proto` itself."""

    trusted_proxies: Annotated[list[IPv4Network | IPv6Network], NoDecode] = []
    """Addresses or networks of the proxies in front, with commas (`10.0.0.7, fd00::/64`).
    Only from these `X-Forwarded-For` is used as the client's address, for rate limits and logs.
    """

    gpu_ledger_home: Path = BASE_DIR / ".gpu-ledger"
    """The folder for the state of the embedded services and for a generated secret."""

    gpu_ledger_local: bool = False
    """True for commands at a terminal and the demo: a missing secret is generated once
    and stored in `gpu_ledger_home`, static files are served without a build step.
    """

    ingest_hours_at_once: Annotated[int, Field(ge=1, le=24)] = 6
    """Hours of buffered samples that are computed together, for a small cluster.
    Fewer hours need less memory, and less is computed again after a worker died.
    """

    fact_days: Annotated[int, Field(ge=8, le=397)] = 35
    """Days for which five-minute facts are kept (rules.md N32). At least a day longer than sources
    are read again, and not longer than hours are kept.
    """

    spot_pods: Annotated[int, Field(ge=1, le=10_000)] = 4
    """The most pods at the same time of work that could run on spot (scheduling.md S31)."""

    spot_hours: Annotated[int, Field(ge=1, le=10_000)] = 24
    """Work whose longest hold is shorter than this could run on spot (scheduling.md S31)."""

    max_durations: Annotated[list[str], NoDecode] = []
    """How long tiers and teams may hold GPUs, with commas (scheduling.md S23), such as
    `tier:batch=12h, team:search=1d12h`."""

    anomaly_minimum: Annotated[Decimal, Field(ge=0, lt=10**12)] = Decimal(50)
    """The smallest difference of an unusual day, in the billing currency (money.md M40)."""

    organization_name: Annotated[str, Field(min_length=1, max_length=200)] = (
        "GPU Ledger"
    )
    """Who provides and invoices the GPUs, as FOCUS files name it. Closed periods keep theirs."""

    organization_id: Annotated[str, Field(min_length=1, max_length=200)] = "gpu-ledger"
    """The billing account of FOCUS files. Closed periods keep theirs."""

    export_folder: Path | None = None
    """The folder of exported files, shared by web and workers; default: `exports` in
    `gpu_ledger_home`."""

    scheduled_exports: Annotated[list[str], NoDecode] = []
    """Files of every closed period, with commas, such as `focus-1.4:csv, statements:xlsx`."""

    scheduled_export_folder: Path | None = None
    """The folder of those files. Without it, none are written."""

    scheduled_export_bucket: Annotated[str, Field(pattern=BUCKET)] = ""
    """An S3-compatible bucket for them, as `s3://finance/gpu-ledger`; needs the extra `s3`."""

    s3_endpoint: Annotated[str, Field(pattern=r"^(https?://\S+)?$")] = ""
    """The address of the bucket's service; without it, that of AWS."""

    s3_region: str = "us-east-1"
    """The region of the bucket. Many services accept any."""

    s3_access_key_id: str = ""
    """Without it, the credentials of the worker: its role, or the environment of AWS tools."""

    s3_secret_access_key: SecretStr | None = None
    """Set with `s3_access_key_id`."""

    smtp_url: SecretStr | None = None
    """`smtp://user:password@host:587` with STARTTLS, or `smtps://` for TLS from the start. Without
    encryption: `smtp://host:25?tls=none`. Without it, mail is shown in the product only."""

    mail_from: Annotated[str, Field(max_length=254)] = ""
    """The sender, as `GPU Ledger <gpu-ledger@example.org>`. Required with `smtp_url`."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["json", "text"] | None = None
    """`json` for machines (default), `text` for people (default when local)."""

    @field_validator(
        *("allowed_hosts", "trusted_proxies", "scheduled_exports", "max_durations"),
        mode="before",
    )
    @classmethod
    def split_list(cls, value: object) -> object:
        """Accept `a.example, b.example`."""
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def refuse_everybody(
        cls, value: list[IPv4Network | IPv6Network]
    ) -> list[IPv4Network | IPv6Network]:
        """If every address were a trusted proxy, clients could choose the counted address."""
        if any(network.prefixlen == 0 for network in value):
            raise ValueError("includes all addresses: list only your proxies")
        return value

    @field_validator("max_durations")
    @classmethod
    def check_max_durations(cls, value: list[str]) -> list[str]:
        """Fail here, not in a worker."""
        for one in value:
            if not MAX_DURATION.fullmatch(one):
                raise ValueError(
                    f"{one!r} is not a limit: use tier:NAME=12h or team:SLUG=1d12h"
                )
        return value

    @field_validator("scheduled_exports")
    @classmethod
    def check_scheduled_exports(cls, value: list[str]) -> list[str]:
        """Fail here, not at the first close."""
        for one in value:
            if not SCHEDULED_EXPORT.fullmatch(one):
                raise ValueError(
                    f"{one!r} is not a file: use focus-1.4, focus-1.2, charges or statements, a"
                    " colon, and csv, parquet or xlsx"
                )
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def refuse_wildcards(cls, value: list[str]) -> list[str]:
        """A portal that accepts any host name can be made to send links with any name."""
        if "*" in value:
            raise ValueError("* is not accepted: list the hosts")
        return value

    @field_validator("secret_key")
    @classmethod
    def refuse_weak_secrets(cls, value: SecretStr | None) -> SecretStr | None:
        """A short secret can be guessed, and with it every session."""
        if value and len(value.get_secret_value()) < SHORTEST_SECRET:
            raise ValueError(f"needs at least {SHORTEST_SECRET} characters")
        return value

    @field_validator("database_url")
    @classmethod
    def check_database_url(cls, value: SecretStr | None) -> SecretStr | None:
        """Fail here, not at the first query."""
        if value:
            database_settings(value.get_secret_value())
        return value

    @field_validator("app_database_url")
    @classmethod
    def check_app_database_url(cls, value: SecretStr | None) -> SecretStr | None:
        """Its name is used in SQL, so it must be a simple one."""
        if value:
            name = database_settings(value.get_secret_value())["USER"]
            if not ROLE.fullmatch(name):
                raise ValueError(
                    "must contain a role of lowercase letters, digits and underscores:"
                    " postgres://ROLE:password@host:5432/name"
                )
        return value

    @field_validator("redis_url")
    @classmethod
    def check_redis_url(cls, value: SecretStr | None) -> SecretStr | None:
        """Fail here, not at the first task."""
        if value:
            scheme = _url_parts(value.get_secret_value()).scheme
            if scheme not in {"redis", "rediss", "unix"}:
                raise ValueError("must begin with redis://, rediss:// or unix://")
        return value

    @field_validator("smtp_url")
    @classmethod
    def check_smtp_url(cls, value: SecretStr | None) -> SecretStr | None:
        """Fail here, not at the first message."""
        if value:
            mail_settings(value.get_secret_value())
        return value

    @field_validator("mail_from")
    @classmethod
    def check_mail_from(cls, value: str) -> str:
        """One address, with or without a name."""
        address = parseaddr(value)[1]
        if value and (not value.isprintable() or not MAIL_ADDRESS.fullmatch(address)):
            raise ValueError("must be an address: GPU Ledger <gpu-ledger@example.org>")
        return value

    @field_validator("public_url")
    @classmethod
    def check_public_url(cls, value: str) -> str:
        """Passwords and session cookies are not sent in clear text."""
        address = _url_parts(value)
        if address.scheme not in {"http", "https"} or not address.hostname:
            raise ValueError("must be an address such as https://gpu.example.org")
        if address.scheme == "http" and address.hostname not in LOOPBACK:
            raise ValueError("must be https, except for 127.0.0.1 and localhost")
        return value.rstrip("/")

    @model_validator(mode="after")
    def require_secret(self) -> "Environment":
        """Deny by default: no well-known secret, no missing one."""
        if self.secret_key is None and not self.gpu_ledger_local:
            raise ValueError(
                "SECRET_KEY: is missing. Set it, or SECRET_KEY_FILE, to at least"
                f" {SHORTEST_SECRET} random characters"
            )
        return self

    @model_validator(mode="after")
    def require_sender(self) -> "Environment":
        """Mail servers refuse mail without a sender."""
        if self.smtp_url and not self.mail_from:
            raise ValueError("MAIL_FROM: is missing. SMTP_URL needs it")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment, then named files, then the secrets directory."""
        directory = os.environ.get("SECRETS_DIR")
        mounted = SecretsSettingsSource(settings_cls, secrets_dir=directory or None)
        return init_settings, env_settings, NamedFiles(settings_cls), mounted

    @property
    def is_secure(self) -> bool:
        """True if the public address is https."""
        return self.public_url.startswith("https://")

    @property
    def hosts(self) -> list[str]:
        """All accepted host names."""
        own = urlsplit(self.public_url).hostname or ""
        local = sorted(LOOPBACK) if own in LOOPBACK else [own]
        return [*local, *self.allowed_hosts]


def read_environment() -> Environment:
    """The environment of this process.

    Raises:
        ConfigurationError: names every setting that is missing or not valid.
    """
    try:
        return Environment()
    except ValidationError as error:
        lines = [_line(problem["loc"], problem["msg"]) for problem in error.errors()]
        message = "GPU Ledger does not start with this environment:\n  "
        raise ConfigurationError(message + "\n  ".join(lines)) from None


def _line(location: tuple[int | str, ...], message: str) -> str:
    text = message.removeprefix("Value error, ")
    return (
        f"{location[0]!s}: {text}".replace(
            str(location[0]), str(location[0]).upper(), 1
        )
        if location
        else text
    )


def _url_parts(url: str) -> SplitResult:
    """A URL in its parts; its port is valid.

    Python's own errors contain a part of the URL, which may be of its password. With #, / or ? in
    it, the rest of a password is taken for another part: the @ after it says so.

    Raises:
        ValueError: it is not valid, or not percent-encoded; without any of its text.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError(NOT_A_URL) from None
    if "#" in url or "@" in parts.path + parts.query:
        raise ValueError(NOT_A_URL)
    return parts


def database_settings(url: str) -> dict[str, Any]:
    """The entry of Django's DATABASES for a PostgreSQL URL.

    A socket directory is set with `?host=/run/postgresql`; other query parameters are those of
    libpq (`sslmode`, `sslrootcert`, `options`).

    Raises:
        ValueError: it is not the URL of a PostgreSQL database.
    """
    parts = _url_parts(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ValueError("must begin with postgres:// or postgresql://")
    if not parts.path.strip("/"):
        raise ValueError("must contain a database name: postgres://user@host:5432/NAME")
    options = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", None) or unquote(parts.hostname or ""),
        "PORT": str(options.pop("port", None) or parts.port or ""),
        "OPTIONS": options,
    }


def mail_settings(url: str) -> dict[str, Any]:
    """Django's settings of mail, EMAIL_*, for a URL of an SMTP server.

    `smtp://` uses STARTTLS, and the session ends if the server does not offer it; `smtps://` is TLS
    from the start. `?tls=none` sends in clear text. Ports: 587, 465, and 25 without TLS (RFC 8314).

    Raises:
        ValueError: it is not the URL of an SMTP server.
    """
    parts = _url_parts(url)
    tls = parts.query
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname:
        raise ValueError("must begin with smtp://HOST or smtps://HOST")
    if parts.path.strip("/"):
        raise ValueError(
            "must end after the host and port: smtp://user:password@HOST:587"
        )
    is_known = parts.query in {"", "tls=none"}
    if not is_known or (tls and parts.scheme == "smtps"):
        raise ValueError("accepts only ?tls=none, with smtp://")
    if tls and parts.password and parts.hostname not in LOOPBACK:
        raise ValueError("would send the password in clear text: remove ?tls=none")
    usual = 465 if parts.scheme == "smtps" else 25 if tls else 587
    return {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or usual,
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp" and not tls,
        "EMAIL_USE_SSL": parts.scheme == "smtps",
    }


def static_root(checkout: Path, home: Path) -> Path:
    """The folder of `collectstatic` and the web server.

    In the checkout, as in the image; in the home if the checkout is read-only.
    """
    built = checkout / "staticfiles"
    if built.is_dir() or os.access(checkout, os.W_OK):
        return built
    return home / "staticfiles"
