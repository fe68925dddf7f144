"""A CSV file of quotas: what spreadsheets write, templates, and every fault with its line."""

import pytest

from scheduler_view.changes.rules.quota_file import (
    MOST_FAULTS,
    QuotaFileError,
    read_quota_file,
)

TEAMS = ["search", "speech", "vision"]
HEAD = "team,resource,tier,gpus\n"
GPU = "nvidia.com/gpu"


def numbers(text: str) -> dict[str, int | None]:
    """GPUs by team."""
    return {row.team: row.gpus for row in read_quota_file(text, TEAMS)}


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_spreadsheets_write_is_read(mark: str, end: str) -> None:
    lines = (["Team", "resource", "tier", "gpus"], ["vision", GPU, "", "8"])
    text = "".join(mark.join(line) + end for line in lines)
    assert numbers(text) == {"vision": 8}


def test_columns_may_have_another_order_and_more_of_them() -> None:
    assert numbers(f"note,gpus,resource,team\nagreed,8,{GPU},vision\n") == {"vision": 8}


def test_a_line_without_a_number_changes_nothing() -> None:
    assert numbers(f"{HEAD}vision,{GPU},,\n\n,,,\nsearch,{GPU},,none\n") == {
        "search": None
    }


def test_a_template_counts_where_a_team_has_no_line() -> None:
    text = (
        f"{HEAD}*,{GPU},,2\nvision,{GPU},,8\nspeech,{GPU},batch,1\n*,amd.com/gpu,,1\n"
    )
    found = {row.key: row.gpus for row in read_quota_file(text, TEAMS)}
    assert found == {
        ("search", GPU, ""): 2,
        ("speech", GPU, ""): 2,
        ("vision", GPU, ""): 8,
        ("speech", GPU, "batch"): 1,
        **{(team, "amd.com/gpu", ""): 1 for team in TEAMS},
    }


def test_every_fault_is_named_with_its_line() -> None:
    lines = (f"vison,{GPU},,8", "vision,,,4", f"search,{GPU},,half")
    same = (f"speech,{GPU},,1", f"speech,{GPU},,2", f"*,{GPU},,1", f"*,{GPU},,2")
    text = HEAD + "\n".join((*lines, *same))
    with pytest.raises(QuotaFileError) as caught:
        read_quota_file(text, TEAMS)
    assert [fault.partition(":")[0] for fault in caught.value.faults] == [
        *("line 2", "line 3", "line 4", "line 6", "line 8")
    ]
    assert "no team has the short name 'vison'" in caught.value.faults[0]
    assert "the same quota is in line 5" in caught.value.faults[3]
    assert "the same quota is in line 7" in caught.value.faults[4]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column team, resource, gpus"),
        ("team,gpus\nvision,8\n", "no column resource"),
        (f'{HEAD}"vision,{GPU},,8\n', "not valid CSV"),
        (f"{HEAD}*,{GPU},,x\n", "line 2: 'x' is not a whole number"),
        (f"{HEAD}vision,{GPU},,1,000\n", "line 2: more cells than columns"),
        (f"{HEAD}vision,{GPU},,=1+1\n", "line 2: '=1\\+1' is not a whole number"),
        (HEAD.encode("utf-16").decode("latin-1"), "line 1: no column"),
    ],
)
def test_a_file_that_is_none(text: str, words: str) -> None:
    with pytest.raises(QuotaFileError, match=words):
        read_quota_file(text, TEAMS)


def test_a_wrong_column_does_not_fill_the_page() -> None:
    text = HEAD + "nobody,x,,1\n" * 500
    with pytest.raises(QuotaFileError) as caught:
        read_quota_file(text, TEAMS)
    assert len(caught.value.faults) == MOST_FAULTS


def test_a_template_for_many_teams_ends_at_the_most_quotas() -> None:
    teams = [f"team-{number}" for number in range(1_000)]
    text = HEAD + "".join(f"*,nvidia.com/mig-{number},,1\n" for number in range(50_000))
    with pytest.raises(QuotaFileError, match="more than 5,000 quotas"):
        read_quota_file(text, teams)
