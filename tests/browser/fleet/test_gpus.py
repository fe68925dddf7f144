"""GPUs in the browser: grid and timeline, the same as a table, and a charge explained."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignIn

GPU = "GPU-5a1e0001-0000-7c3d"
LONG_NAME = "chat-gateway-of-the-summer-school-6f8d9c7b54-x2k9q"
RENAMED = """(cells, name) => cells.map(cell => {
    cell.firstChild.replaceWith(name);
    return cell.scrollWidth - cell.clientWidth;
})"""
PLACEHOLDER_ROOM = """input => {
    const pen = document.createElement('canvas').getContext('2d');
    const style = getComputedStyle(input);
    pen.font = style.font;
    return input.clientWidth - parseFloat(style.paddingLeft) * 2
        - pen.measureText(input.placeholder).width;
}"""


def test_the_grid_becomes_a_timeline_and_its_table(sign_in: SignIn) -> None:
    page = sign_in("ana").open("/gpus")
    page.get_by_role("link", name="Timeline").click()
    lanes = page.locator("#timeline")
    expect(lanes.locator("li.lane svg[role=img]").first).to_be_visible()
    assert lanes.locator("rect.s-busy").count() > 0
    box = lanes.locator("rect.s-busy").first.bounding_box()
    assert box is not None
    assert box["width"] > 10
    page.get_by_role("button", name="Table").click()
    expect(lanes).to_be_hidden()
    table = page.locator("#timeline-table")
    expect(table).to_contain_text("Language")
    page.get_by_label("Filter by node, GPU, driver, pod, team or error").fill("gpu-02")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="8 of 96 GPUs")).to_be_visible()
    assert "view=timeline" in page.url
    assert page.locator("#timeline li.lane:not(.lane-axis)").count() == 8
    page.get_by_role("link", name="Grid").click()
    expect(page.locator(".fleet .node-cell")).to_have_count(1)


def test_a_stretch_of_a_gpu_is_explained(sign_in: SignIn) -> None:
    page = sign_in("ana").open(f"/gpus/{GPU}?range=today")
    rows = page.get_by_role("region", name="Charge by pod").locator("tbody tr")
    charge = rows.first.locator("a[data-explain]")
    shown = charge.inner_text().split(",")[0].strip("€")
    charge.click()
    drawer = page.locator("#drawer")
    expect(drawer).to_contain_text("allocated milliseconds x rate")
    expect(drawer).to_contain_text(shown)
    expect(drawer).to_contain_text("pretrain-13b-0")
    expect(drawer).to_contain_text(" to ")


def test_small_charts_share_one_time_axis(sign_in: SignIn) -> None:
    page = sign_in("ana", is_kept=True).open(f"/gpus/{GPU}?range=today")
    ranges = page.evaluate(
        "() => ['busy', 'memory', 'power'].map(id =>"
        " document.querySelector(`#${id} .plot`).layout.xaxis.range.join())"
    )
    assert len(set(ranges)) == 1
    heights = page.evaluate(
        "() => [...document.querySelectorAll('.chart.mini')].map(b => b.clientHeight)"
    )
    assert heights
    assert min(heights) >= 160


@pytest.mark.parametrize("cells", [".node-cell h3", ".gpus .holder .name"])
def test_a_long_name_is_not_cut(sign_in: SignIn, cells: str) -> None:
    page = sign_in("ana", is_kept=True).open("/gpus")
    found = page.locator(cells)
    assert found.count() > 0
    assert max(found.evaluate_all(RENAMED, LONG_NAME)) <= 0


def test_the_hint_in_the_filter_fits(sign_in: SignIn) -> None:
    page = sign_in("ana", is_kept=True).open("/gpus")
    assert page.locator("main #q").evaluate(PLACEHOLDER_ROOM) >= 0
