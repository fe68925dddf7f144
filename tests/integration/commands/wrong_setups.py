"""Set-up files with one fault each: where it is, and what is said of it."""

GOOD = """\
billing:
  currency: EUR
  timezone: Europe/Berlin
clusters:
  - name: north
teams:
  - slug: vision
    name: Vision
bindings:
  - namespace: vision
    team: vision
prices:
  - model: NVIDIA-L40S
    rate_per_gpu_hour: "2.10"
labels:
  workload_type: example.com/type
"""
TWICE = "duplicate"
Place = tuple[str, int]  # a file, and the line of its fault


def at(line: int, *texts: str, fault: int | None = None) -> Place:
    """The good file with other text in one of its lines; the last of it is at fault."""
    lines = GOOD.splitlines()
    lines[line - 1 : line] = texts
    last = line + len(texts) - 1
    return "\n".join(lines) + "\n", fault or last


def access(text: str) -> Place:
    """A fault in a cluster's access."""
    return at(5, "  - name: north", "    kubernetes:", f"      {text}")


def resource(text: str) -> Place:
    """A fault in the line after `resources:`."""
    return at(15, "resources:", f"  {text}", "labels:", fault=16)


def team(text: str) -> Place:
    """A fault in the line after a team's slug."""
    return at(8, f"    {text}")


def rule(*texts: str, fault: int | None = None) -> Place:
    """A fault in lines after a rule's team."""
    return at(11, "    team: vision", *(f"    {text}" for text in texts), fault=fault)


def price(text: str) -> Place:
    """A fault in the line after a price's rate."""
    return at(14, "    rate_per_gpu_hour: 2", f"    {text}")


def budget(*texts: str, fault: int = 16) -> Place:
    """A fault in the lines of a budget."""
    return at(15, "budgets:", *texts, "labels:", fault=fault)


def rate(text: str) -> Place:
    """A rate that is wrong."""
    return at(14, f"    rate_per_gpu_hour: {text}")


def since(text: str) -> Place:
    """A date that is wrong."""
    return rule(f"valid_from: {text}")


RULE = ("  - namespace: vision",)
RATE = ("    rate_per_gpu_hour: 2",)
SINCE = ("    team: vision", "    valid_from: 2026-10-01")  # midnight in Berlin
OTHERWISE = ("    team: vision", "    valid_from: 2026-09-30T22:00:00Z")

WRONG: dict[str, tuple[Place, str]] = {
    # keys
    "unknown section": (at(4, "cluster:"), "unknown key 'cluster'; use one of:"),
    "unknown key of billing": (at(2, "  money: EUR"), "use one of: currency, timezone"),
    "unknown key of a cluster": (at(5, "  - nmae: north"), "unknown key 'nmae'"),
    "access that is none": (
        access("reader: {token: x}"),
        "use one of: in_cluster, kubeconfig",
    ),
    "access by two ways": (
        access("pusher: {in_cluster: true, server: 'https://a'}"),
        "kubernetes.pusher: not a valid access: write",
    ),
    "access to nowhere": (access("reader: {context: a}"), "names no server"),
    "access by half": (
        access("reader: {in_cluster: false}"),
        "reader.in_cluster: must be True",
    ),
    "access that waits for ever": (access("timeout_s: 600"), "at most 60"),
    "unknown key of access": (access("writer: {}"), "unknown key 'writer'"),
    "unknown key of a team": (team("nmae: Vision"), "unknown key 'nmae'"),
    "unknown key of a rule": (rule("form: 2026-10-01"), "unknown key 'form'"),
    "unknown key of a price": (price("rate: 2"), "unknown key 'rate'"),
    "a price from within a window": (
        price('valid_from: "2026-10-01T10:03:00Z"'),
        "must align to a five-minute boundary",
    ),
    "unknown purpose of a label": (at(16, "  kind: a"), "unknown key 'kind'"),
    "a key twice": (team("slug: video"), TWICE),
    "a section twice": ((GOOD + "teams: []\n", 17), TWICE),
    "a key that is a list": (("[a]: 1\n", 1), "a key must be text"),
    # billing
    "no such currency": (at(2, "  currency: XYZ"), "ISO 4217 currency, like EUR"),
    "no such time zone": (at(3, "  timezone: Berlin"), "like Europe/Berlin"),
    "a number for a time zone": (at(3, "  timezone: 1"), "IANA time zone"),
    "billing that is a list": (("billing: [EUR]\n", 1), "must be a mapping"),
    # clusters and teams
    "two clusters of one name": (at(5, *["  - name: north"] * 2), TWICE),
    "two teams of one slug": (
        at(8, "  - slug: vision"),
        f"slug: {TWICE} team 'vision'",
    ),
    "a team without a slug": (at(7, "  - department: x"), "slug: missing"),
    "an empty slug": (at(7, '  - slug: ""'), "slug: '' is empty"),
    "a slug with a blank": (at(7, "  - slug: a b"), "is not a valid slug: letters"),
    "a slug of other letters": (at(7, "  - slug: größe"), "letters a to z"),
    "a slug that is a word of YAML": (at(7, "  - slug: no"), "put it in quotes"),
    "a slug that is taken": (at(7, "  - slug: unmapped"), "without a team"),
    "a name that is too long": (team(f"name: {'x' * 201}"), "longer than 200"),
    "a name with a NUL": (team('name: "a\\0b"'), "control character"),
    "a name that is a list": (team("name: [a]"), "name: must be text"),
    "leads that are no list": (team("leads: ana"), "leads: must be a list"),
    "a lead that is no user name": (
        team("leads: ['a b']"),
        "is not a valid username: letters, digits",
    ),
    "teams that are no list": (("teams: {}\n", 1), "teams: must be a list"),
    "a team that is a text": (("teams:\n  - vision\n", 2), "teams: must be a mapping"),
    # rules
    "no such team": (at(11, "    team: video"), "no team is called 'video'; add it"),
    "a rule without a team": (
        at(11, "    valid_from: 2026-10-01", fault=10),
        "team: missing",
    ),
    "a rule without a kind": (at(10, "  - glob: x", fault=11), "exactly one of"),
    "a rule of two kinds": (rule("pod_label: b", fault=11), "give exactly one of"),
    "a glob beside a namespace": (rule("glob: b"), "'glob' is for labels"),
    "an empty glob": (at(10, '  - namespace: ""'), "namespace: '' is empty"),
    "too long a glob": (at(10, f"  - namespace: {'x' * 254}"), "longer than 253"),
    "one rule twice": (
        at(11, "    team: vision", *RULE, "    team: vision", fault=12),
        TWICE,
    ),
    "one rule twice from one instant": (
        at(11, *SINCE, *RULE, *OTHERWISE, fault=13),
        TWICE,
    ),
    "no rules": (("bindings:\n", 1), "write [] to have none, or leave it out"),
    # dates
    "a date that is none": (since("2026-13-01"), "not a value"),
    "a word for a date": (since("soon"), "write 2026-10-01"),
    "a number for a date": (
        since("20261001"),
        "is not a valid time or date; write 2026-10-01",
    ),
    "a time without offset": (
        since("2026-10-01 10:00:00"),
        "the time has no offset; add Z",
    ),
    "a date before 1970": (since("1969-12-30"), "between 1970 and 9998"),
    "a date before all": (
        since("0001-01-01T00:00:00+14:00"),
        "valid_from: '0001-01-01 00:00:00+14:00' is not a valid time",
    ),
    "a date after all": (since("9999-12-31T23:59:59-14:00"), "is not a valid time"),
    # prices
    "no rate": (
        at(14, "    tier: low", fault=13),
        "model: give a rate, a cost or both",
    ),
    "no model": (at(13, "  - tier: low"), "model: missing"),
    "a rate below zero": (rate("-0.01"), "must be at least 0"),
    "a word for a rate": (rate("two"), "rate_per_gpu_hour: 'two' is not a number"),
    "a rate that is NaN": (rate("NaN"), "must be a finite number"),
    "a rate that is .nan": (rate(".nan"), "is not a number"),
    "a rate without end": (rate("Infinity"), "must be a finite number"),
    "a rate of seven places": (rate("2.1000001"), "must have at most 6 decimal places"),
    "too large a rate": (rate("1000000"), "must be below 1000000"),
    "a rate of huge digits": (rate("1e999999"), "must be below 1000000"),
    "a rate with a comma": (rate("'2,10'"), "is not a number"),
    "a rate in minutes": (rate("2:10"), "is not a number"),
    "a rate that is a list": (rate("[2]"), "is not a number"),
    "a cost of seven places": (
        price("cost_per_gpu_hour: 1e-7"),
        "must have at most 6 decimal places",
    ),
    "no such lifecycle": (price("lifecycle: sopt"), "use spot, on-demand, reserved"),
    "a price for unknown": (price("lifecycle: unknown"), "use spot, on-demand"),
    "no such cluster": (
        price("cluster: south"),
        "no cluster is called 'south'; add it",
    ),
    "not a MIG profile": (price("profile: half"), "is not a valid MIG profile"),
    "too large a profile": (price("profile: 8g.80gb"), "8g.80gb is more than one"),
    "too long a profile": (price(f"profile: {'x' * 65}"), "longer than 64"),
    "one price twice": (
        at(14, *RATE, "  - model: NVIDIA L40S", *RATE, fault=15),
        "model: duplicate price of 'NVIDIA-L40S' from that time",
    ),
    # budgets
    "a budget of nobody": (budget("  - amount: 5"), "exactly one of team, department"),
    "a budget of two": (
        budget("  - {team: vision, department: Research, amount: 5}"),
        "no department is called 'Research'; known: none",
    ),
    "a budget of no such team": (
        budget("  - {team: video, amount: 5}"),
        "no team is called 'video'",
    ),
    "a budget without an amount": (
        budget("  - team: vision"),
        "exactly one of amount, gpu_hours",
    ),
    "a budget of two amounts": (
        budget("  - {team: vision, amount: 5, gpu_hours: 5}"),
        "exactly one of amount, gpu_hours",
    ),
    "a budget of nothing": (
        budget("  - {team: vision, amount: 0}"),
        "amount: must be above 0",
    ),
    "a budget of a week": (
        budget("  - {team: vision, amount: 5, per: week}"),
        "per: must be 'month', 'quarter' or 'year'",
    ),
    "one budget twice": (
        budget(
            "  - {team: vision, amount: 5}",
            *["  - {team: vision, amount: 6}"],
            fault=17,
        ),
        TWICE,
    ),
    # labels
    "a label twice": (at(16, "  workload_type: [a, a]"), TWICE),
    "a number for a label": (
        at(16, "  workload_type: 5"),
        "labels.workload_type: must be a list",
    ),
    "an empty label": (
        at(16, "  workload_type: ['']"),
        "labels.workload_type: '' is empty",
    ),
    # resources
    "a list of resources": (at(15, "resources: []", "labels:", fault=15), "mapping"),
    "a share above one": (
        resource("example.com/x: 2"),
        "not a share of one GPU above 0 to 1",
    ),
    "a share of nothing": (
        resource("example.com/x: 0"),
        "not a share of one GPU above 0 to 1",
    ),
    "a share by nought": (
        resource("example.com/x: 1/0"),
        "not a share of one GPU above 0 to 1",
    ),
    "a word for a share": (
        resource("example.com/x: half"),
        "not a share of one GPU above 0 to 1",
    ),
    "no share": (resource("example.com/x:"), "resources.example.com/x: missing"),
    "a share that is yes": (resource("example.com/x: yes"), "put it in quotes"),
    "no name of a resource": (
        resource("half: 1/2"),
        "is not a resource name, like example.com/gpu",
    ),
    "a known resource": (resource("nvidia.com/gpu: 1/2"), "is known already"),
    # not YAML, or too much of it
    "an open bracket": (at(7, "  - slug: [vision", fault=8), "not YAML"),
    "a tab": (at(7, "\t- slug: vision"), "not YAML"),
    "two documents": ((GOOD + "---\nteams: []\n", 17), "not YAML"),
    "no such anchor": (at(7, "  - slug: *vision"), "not YAML"),
    "a Python object": (team("name: !!python/name:os.system x"), "not a value"),
    "a Python call": (
        team("name: !!python/object/apply:os.getcwd []"),
        "name: must be text",
    ),
    "binary in YAML": (team("name: !!binary aGVsbG8="), "binary values"),
    "only a text": (("configure\n", 1), "must be a mapping of sections"),
    "a list": (("- teams\n", 1), "must be a mapping of sections"),
    "an empty file": (("", 1), "must be a mapping of sections"),
    "only a comment": (("# nothing yet\n", 1), "must be a mapping of sections"),
    "a web page": (("<!doctype html>\n<p>x</p>\n", 1), "must be a mapping"),
    "a NUL byte": (("teams: []\nx\0y: 1\n", 2), "is not text"),
    "a deep nest": (("teams: " + "[" * 20_000, 1), "nested too deeply"),
    "an alias of itself": (("teams: &a\n  - *a\n", 1), "nested too deeply"),
}
