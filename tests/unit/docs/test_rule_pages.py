"""Numbered rules: every citation resolves, and every rule names code and tests that exist.

Not here: what the rules say (the tests that they name), and other names of files in docs
(`tests/unit/test_pages_of_docs.py`).
"""

import re

import pytest

from tests import citations, shared_data

pytestmark = pytest.mark.timeout(60)  # the first test reads every file of the project

OTHERS = {  # pages of other projects
    "docs/config.md": "HAMi",
    "docs/configuration/metricslist.md": "AMD's device-metrics-exporter",
    "kueue_metrics_names.md": "a recorded file of the shared data",
}
ITSELF = "tests/unit/docs/test_rule_pages.py"  # names what must not be named
SHARED = re.compile(r"\.\./shared|/work/|GPU_LEDGER_SHARED|parents\[\d\] / \"shared\"")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Every text of ours but this one, by its path."""
    found = citations.texts()
    return {path: text for path, text in found.items() if path != ITSELF}


def test_every_number_that_is_cited_is_a_rule(texts: dict[str, str]) -> None:
    known = citations.known()
    unknown = {
        path: sorted(wrong)
        for path, text in texts.items()
        if (wrong := citations.cited(text) - known)
    }
    assert unknown == {}


def test_every_page_that_is_named_is_in_the_project(texts: dict[str, str]) -> None:
    pages = [f"/{path}" for path in texts if path.endswith(".md")]
    missing = {
        (path, page)
        for path, text in texts.items()
        for page in citations.pages_named(text) - OTHERS.keys()
        if not any(known.endswith(f"/{page}") for known in pages)
    }
    assert missing == set()


def test_every_decision_that_is_named_is_on_record(texts: dict[str, str]) -> None:
    records = (citations.ROOT / "docs" / "decisions").glob("0*.md")
    numbers = {int(path.name[:4]) for path in records}
    missing = {
        (path, number)
        for path, text in texts.items()
        for number in citations.decisions_named(text) - numbers
    }
    assert missing == set()


def test_nothing_but_one_helper_knows_of_the_shared_data(
    texts: dict[str, str],
) -> None:
    helper = "tests/shared_data.py"
    assert SHARED.search(texts[helper])
    assert shared_data.DATA.name == "data"
    assert {p for p, text in texts.items() if SHARED.search(text)} == {helper}


@pytest.mark.parametrize(
    ("letter", "last"),
    [("N", 42), ("T", 42), ("I", 19), ("S", 38), ("R", 19)],
    ids=["rules", "traps", "invariants", "scheduling", "alerts"],
)
def test_rules_are_numbered_without_a_gap(letter: str, last: int) -> None:
    names = [rule.name for rule in citations.rules()[citations.PAGES[letter]]]
    numbers = [name for name in names if re.fullmatch(rf"{letter}\d+", name)]
    assert numbers == [f"{letter}{number}" for number in range(1, last + 1)]


@pytest.mark.parametrize("page", sorted({*citations.PAGES.values()}))
def test_a_rule_names_code_and_tests_that_exist(page: str) -> None:
    wrong = []
    for rule in citations.rules()[page]:
        wrong += faults(rule)
        if rule.is_built and not (
            rule.code if page.endswith("performance.md") else rule.tests
        ):
            wrong.append(f"{rule.name} names nothing that shows it")
    assert wrong == []


def faults(rule: citations.Rule) -> list[str]:
    """The paths and tests of a rule that do not exist."""
    wrong = [
        f"{rule.name}: {path} does not exist"
        for path in rule.code
        if not (citations.ROOT / path).is_file()
    ]
    for test in rule.tests:
        path, _, name = test.partition("::")
        if name not in citations.names_of_tests(path):
            wrong.append(f"{rule.name}: {test} is not a test")
    return wrong


# --- the checks can fail ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("the end of a hold (rules.md N99)", {"N99"}),
        ("traps T6 and T99; T2b", {"T99"}),
        ("invariant I13, I20", {"I20"}),
        ("rules N40-N44", {"N43", "N44"}),
        ("P9 to P11", {"P11"}),
        ("N13/N99, N1.", {"N99"}),
        ("M99 is no rule, and S99 neither", {"M99", "S99"}),
        ('rules.md "MIG" and rules.md "Colors"', {"colors"}),
        ("a Tesla P40, an NVIDIA-M60, K8s, N818, 2026-11-22T31:00, p95", set()),
    ],
)
def test_a_citation_of_no_rule_is_found(text: str, unknown: set[str]) -> None:
    assert citations.cited(text) - citations.known() == unknown


def test_every_number_of_a_range_is_cited() -> None:
    assert citations.cited("N4-N6, T3 to T5") == {"N4", "N5", "N6", "T3", "T4", "T5"}


def test_pages_and_decisions_are_found_in_a_text() -> None:
    text = "see design.md, docs/rules.md#n12; docs/decisions/0099 and decision 98"
    assert citations.pages_named(text) == {"design.md", "docs/rules.md"}
    assert citations.decisions_named(text) == {98, 99}


def test_a_rule_with_wrong_names_is_found() -> None:
    page = f"# Rules\n\n### N1\n\n- Code: `no/code.py`\n- Test: `{ITSELF}::test_that_is_not`\n"
    (rule,) = citations.rules_of(page)
    assert faults(rule) == [
        "N1: no/code.py does not exist",
        f"N1: {ITSELF}::test_that_is_not is not a test",
    ]
    good = page.replace("no/code.py", ITSELF).replace(
        "test_that_is_not", "test_a_rule_with_wrong_names_is_found"
    )
    (rule,) = citations.rules_of(good)
    assert rule.is_built
    assert faults(rule) == []


def test_a_rule_says_that_it_is_not_built() -> None:
    (rule,) = citations.rules_of("### I7\n\nClosed.\n\n- Not built: later.\n")
    assert (rule.is_built, rule.tests) == (False, ())
