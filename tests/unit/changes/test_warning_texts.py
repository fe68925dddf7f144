"""Warnings as a change's page lists them: what holds for many namespaces is one line."""

from scheduler_view.changes.pages.changes import warning_texts


def warning(text: str, about: str) -> dict[str, str]:
    return {"code": "uncovered_key", "text": text, "about": about}


def test_the_same_of_many_namespaces_is_one_line() -> None:
    same = "nvidia.com/mig-1g.10gb is not limited in {}: a quota does not count it."
    found = warning_texts(
        [
            warning(same.format("a"), "a"),
            warning("Git keeps gpu-ledger in a.", "gpu-ledger"),
            warning(same.format("b"), "b"),
            warning(same.format("b"), "b"),
            warning("other is not limited in a: it is odd.", "a"),
        ]
    )
    assert found == [
        same.format("a, b"),
        "Git keeps gpu-ledger in a.",
        "other is not limited in a: it is odd.",
    ]
