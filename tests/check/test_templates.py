"""What templates must keep besides their format: lines that fit a laptop's screen.

`make templates` (in `test_code.py`) checks the format itself.
"""

from pathlib import Path

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
WIDEST = 160
"""Characters. The formatter breaks at 120, but cannot break a Django tag or an attribute."""


def test_no_line_is_wider_than_a_screen() -> None:
    files = sorted(TEMPLATES.rglob("*.html"))
    assert files
    wide = [
        f"{path.relative_to(TEMPLATES)}:{number}: {len(line)} characters"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > WIDEST
    ]
    assert not wide, "\n".join(wide)
