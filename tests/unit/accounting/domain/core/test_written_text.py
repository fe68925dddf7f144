"""Text that people write: what of it is refused, and with which words."""

import pytest

from accounting.domain.core.written_text import glob_fault, hidden_fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("vision", ""),
        ("Größe 東京 👍 «a» 1\N{NO-BREAK SPACE}000", ""),
        ("\u202evision", "contains U+202E (right-to-left override): leave it out"),
        ("a\u2066b", "contains U+2066 (left-to-right isolate): leave it out"),
        ("a\u200bb", "contains U+200B (zero width space): leave it out"),
        ("a\ufeff", "contains U+FEFF (zero width no-break space): leave it out"),
        ("a\x1b[31m", "contains U+001B (a control character): leave it out"),
        ("a\nb", "contains U+000A (a control character): leave it out"),
        ("a\u2028b", "contains U+2028 (line separator): leave it out"),
    ],
)
def test_what_cannot_be_seen_is_named(text: str, fault: str) -> None:
    assert hidden_fault(text) == fault


def test_a_text_of_several_lines_may_have_lines_only() -> None:
    assert hidden_fault("a\r\n\tb", has_lines=True) == ""
    assert "U+0000" in hidden_fault("a\n\0", has_lines=True)


@pytest.mark.parametrize(
    ("glob", "is_namespace", "is_fine"),
    [
        ("vision-*", True, True),
        ("team-[a-c]?", True, True),
        ("Vision", True, False),
        ("team_a", True, False),
        ("vision.dev", True, False),
        ("Vision_1.0", False, True),
        ("", False, True),
        ("a b", False, False),
        ("größe", False, False),
        ("\u202evision", True, False),
        ("\u202evision", False, False),
    ],
)
def test_a_glob_matches_names_that_there_can_be(
    glob: str, is_namespace: bool, is_fine: bool
) -> None:
    assert (glob_fault(glob, is_namespace=is_namespace) == "") == is_fine
