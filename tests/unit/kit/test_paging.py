"""One page of a long list."""

from accounting.kit.pages.paging import paged


def test_only_the_lines_of_the_page_are_drawn() -> None:
    """Charges by workload drew 4,500 lines for a page of 50."""
    drawn = []

    def draw(line: int) -> str:
        drawn.append(line)
        return str(line)

    page = paged(range(4_500), {"page": "3", "rows": "25"}).drawn(draw)
    assert drawn == list(range(50, 75))
    assert page.lines == tuple(str(line) for line in drawn)
    assert (page.first, page.last, page.count, page.pages) == (51, 75, 4_500, 180)
