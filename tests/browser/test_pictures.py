"""The picture of a chart stands without its page: title, period, unit, legend, name."""

import struct
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.conftest import SignIn

KEEP = """() => {
  const save = Plotly.downloadImage;
  Plotly.downloadImage = (figure, options) => {
    window.saved = figure;
    return save(figure, options);
  };
}"""


def saved(page: Page, name: str, folder: Path) -> tuple[str, bytes]:
    """The name of a picture's file, and what is in it."""
    with page.expect_download() as waiting:
        page.locator(f'[data-png="{name}"]').click()
    file = folder / "picture.png"
    waiting.value.save_as(file)
    return waiting.value.suggested_filename, file.read_bytes()


def test_a_picture_has_title_period_unit_and_legend(
    sign_in: SignIn, tmp_path: Path
) -> None:
    visit = sign_in("ana")
    page = visit.open("/teams/vision?range=last-7-days")
    page.evaluate(KEEP)
    name, data = saved(page, "spend", tmp_path)
    assert name.startswith("gpu-ledger-vision-hourly-spend-by-workload-family-20")
    assert name.endswith(".png")
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (2400, 1200)
    layout = page.evaluate("window.saved.layout")
    assert layout["title"]["text"] == "Vision: hourly spend by workload family"
    assert "Europe/Berlin" in layout["title"]["subtitle"]["text"]
    assert layout["yaxis"]["title"]["text"] == "EUR per hour"
    assert layout["showlegend"]
    shown = page.evaluate(
        "window.saved.data.filter((one) => one.showlegend).map((one) => one.name)"
    )
    legend = page.locator("#spend ~ .legend li").all_inner_texts()
    assert shown == [text.strip() for text in legend]
    assert (
        page.locator("#spend .plot .gtitle").count() == 0
    )  # the page's chart has none
    assert visit.complaints == []
