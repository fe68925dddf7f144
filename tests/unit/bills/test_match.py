"""Which node or cluster a row of a bill is of (M42)."""

from datetime import date

from accounting.bills.rules.match import (
    Directory,
    MachineSpan,
    Match,
    last_part,
    provider_key,
    resource_key,
)
from accounting.bills.rules.words import MATCHED, UNMATCHED

FIRST, LATER = date(2026, 10, 1), date(2026, 10, 5)
AZURE = "azure:///subscriptions/Sub/resourceGroups/rg/providers/vm/GPU-1"
SPANS = (
    MachineSpan(1, 10, "aws:///eu-central-1a/i-0AB", FIRST, LATER),
    MachineSpan(2, 10, AZURE, FIRST, LATER),
    MachineSpan(3, 20, "gce://project/zone-a/node-3", FIRST, FIRST),
    MachineSpan(4, 20, "gce://project/zone-b/node-3", FIRST, LATER),
    MachineSpan(5, 20, "aws:///eu-central-1a/i-0cpu", FIRST, LATER),
)
GPU_DAYS = {
    (node, 10 if node < 3 else 20, day)
    for node in range(1, 5)
    for day in (FIRST, LATER)
}
ACCOUNTS = {"all-of-20": 20, "sub": 10}


def match(resource: str, day: date = FIRST, sub: str = "", account: str = "a") -> Match:
    found = Directory(SPANS, GPU_DAYS, ACCOUNTS).match(day, resource, sub, account)
    assert found.word in (MATCHED if found.cluster_id else UNMATCHED)
    return found


def test_keys_are_without_scheme_slashes_and_case() -> None:
    """The examples of M42."""
    assert provider_key("aws:///eu-central-1a/i-0AB") == "eu-central-1a/i-0ab"
    assert provider_key("i-0AB") == "i-0ab"
    assert resource_key("/Subscriptions/Sub") == "subscriptions/sub"
    assert last_part("arn:aws:ec2:eu:1:instance/i-0ab") == "i-0ab"
    assert last_part("instance:i-0ab") == "i-0ab"


def test_a_whole_id_is_the_node() -> None:
    assert match(AZURE.removeprefix("azure://").upper()) == Match("node", 2, 10)
    assert match("project/zone-b/node-3") == Match("node", 4, 20)


def test_the_last_part_is_enough_for_one_node_of_the_day() -> None:
    assert match("arn:aws:ec2:eu:1:instance/i-0ab") == Match("last_part", 1, 10)
    assert match("//compute/instances/node-3").word == "ambiguous"
    assert match("//compute/instances/node-3", LATER) == Match("last_part", 4, 20)


def test_what_is_of_no_node_says_why() -> None:
    assert match("").word == "no_resource"
    assert match("vol-1").word == "unknown"
    assert match("bucket/").word == "unknown"
    assert match("i-0cpu").word == "no_gpu"
    assert match("i-0ab", date(2026, 10, 3)).word == "no_gpu"
    assert match("i-0ab", date(2026, 11, 1)).word == "unknown"


def test_an_account_takes_what_names_no_node() -> None:
    assert match("vol-1", account="all-of-20") == Match("account", None, 20)
    assert match("", sub="sub", account="all-of-20") == Match("account", None, 10)
    assert match("i-0ab", account="all-of-20") == Match("last_part", 1, 10)
    assert match("i-0cpu", account="all-of-20") == Match("account", None, 20)
    assert match("vol-1", date(2026, 11, 1), account="all-of-20").word == "no_gpu"


def test_a_row_without_a_sub_account_is_of_no_cluster_without_an_account() -> None:
    nodes = Directory(SPANS, GPU_DAYS, {"": 20})
    assert nodes.match(FIRST, "vol-1", "", "a").word == "unknown"
