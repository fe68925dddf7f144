"""Sets up the portal for the simulated cluster with the usual commands."""

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from string import Template

from django.contrib.auth import get_user_model

from accounting.access.models.people import (
    Membership,
    OrganizationRole,
    Person,
    TeamRole,
)
from accounting.access.models.teams import Team
from accounting.kit.audit import SYSTEM, act
from accounting.metering.models.cluster import Cluster
from accounting.setup.tasks.apply import apply_configuration
from accounting.setup.tasks.schema import read_configuration
from portal.demo.bootstrap.server import (
    HOST,
    KUBE_PATH,
    PUSHER_TOKEN,
    QUEUE_PATH,
    READER_TOKEN,
    places,
)
from portal.demo.scenario.story import Story

CLUSTER = "demo"
FILE = Path(__file__).with_name("demo.yaml")


@dataclass(frozen=True, slots=True)
class DemoSignIn:
    """One person of the demo and their permissions."""

    name: str
    role: str  # of the organization
    team: str = ""
    team_role: str = ""
    description: str = ""
    password: str = ""


PEOPLE = (
    DemoSignIn(
        "ana", OrganizationRole.ADMIN, description="administrator: sees and edits all"
    ),
    DemoSignIn(
        "finn", OrganizationRole.FINANCE, description="finance: reads every team"
    ),
    DemoSignIn("luis", OrganizationRole.NONE, "vision", TeamRole.LEAD, "leads Vision"),
    DemoSignIn("mia", OrganizationRole.NONE, "search", TeamRole.VIEWER, "views Search"),
)


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """The address of the simulated Kubernetes API, and the home of its tokens."""

    port: int
    home: Path

    @property
    def settings(self) -> dict[str, dict[str, str]]:
        """Its part of the setup file."""
        server = f"http://{HOST}:{self.port}"
        return {
            role: {"server": server, "token_file": str(self.home.resolve() / file)}
            for role, file in (("reader", READER_TOKEN), ("pusher", PUSHER_TOKEN))
        }

    def write_tokens(self, secret: str) -> None:
        """Write the tokens, derived from this installation's secret, readable by the owner only."""
        for file in (READER_TOKEN, PUSHER_TOKEN):
            token = hmac.digest(secret.encode(), f"demo {file}".encode(), "sha256")
            path = self.home / file
            path.touch(mode=0o600)
            path.write_text(token.hex())


def configuration(story: Story, port: int, api: ApiAddress | None = None) -> str:
    """The setup file as YAML, for a simulated cluster on a port."""
    base = f"http://{HOST}:{port}"
    exporters: dict[bool, list[str]] = {False: [], True: []}
    for pool, place in places(story):
        exporters[pool.model.is_amd].append(f"{base}/nodes/{place}/metrics")
    change = datetime.fromtimestamp(story.change_s, UTC)
    return Template(FILE.read_text()).substitute(
        CLUSTER=CLUSTER,
        KUBERNETES=json.dumps(api.settings if api else {}),
        EXPORTERS=json.dumps(exporters[False]),
        AMD_EXPORTERS=json.dumps(exporters[True]),
        KUEUE=json.dumps([f"{base}{QUEUE_PATH}"]),
        KUBE_STATE=json.dumps([f"{base}{KUBE_PATH}"]),
        CHANGE=change.isoformat(),
        SINCE=datetime.fromtimestamp(story.start_s, UTC).isoformat(),
    )


def set_up(
    story: Story, port: int, secret: str, api: ApiAddress | None = None
) -> list[DemoSignIn]:
    """Configure the portal and its sign-ins; returns them with their passwords.

    A demo that is started again keeps the prices, rules and budgets that people have changed.
    """
    wanted = read_configuration(configuration(story, port, api))
    if Cluster.objects.filter(name=CLUSTER).exists():
        kept = {"prices": None, "bindings": None, "budgets": ()}
        wanted = wanted.model_copy(update=kept)
    apply_configuration(wanted, actor=SYSTEM)
    with act(SYSTEM, "demo"):
        Cluster.objects.filter(name=CLUSTER, is_demo=False).update(is_demo=True)
        first = get_user_model().objects.filter(username=PEOPLE[0].name).first()
        # check once for all: a password check takes a third of a second by design
        is_known = first and first.check_password(password_of(PEOPLE[0].name, secret))
        return [_sign_in(person, secret, is_new=not is_known) for person in PEOPLE]


def _sign_in(person: DemoSignIn, secret: str, *, is_new: bool) -> DemoSignIn:
    password = password_of(person.name, secret)
    user, _ = get_user_model().objects.get_or_create(username=person.name)
    if is_new:
        user.set_password(password)
        user.save(update_fields=["password"])
    Person.objects.update_or_create(user=user, defaults={"role": person.role})
    if person.team:
        team = Team.objects.get(slug=person.team)
        Membership.objects.update_or_create(
            user=user, team=team, defaults={"role": person.team_role}
        )
    return DemoSignIn(
        person.name,
        person.role,
        person.team,
        person.team_role,
        person.description,
        password,
    )


def password_of(name: str, secret: str) -> str:
    """A password derived from this installation's secret.

    So it is random, the same at every start, and stored only as a hash.
    """
    digest = hmac.digest(
        secret.encode(), f"demo sign-in {name}".encode(), hashlib.sha256
    )
    letters = "abcdefghjkmnpqrstuvwxyz23456789"  # without characters that look alike
    word = "".join(letters[byte % len(letters)] for byte in digest[:12])
    return f"{word[:4]}-{word[4:8]}-{word[8:]}"


def table(sign_ins: Sequence[DemoSignIn]) -> str:
    """The sign-ins as lines for a terminal."""
    return "\n".join(f"    {s.name:6} {s.password}   {s.description}" for s in sign_ins)
