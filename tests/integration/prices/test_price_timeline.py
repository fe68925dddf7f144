"""When prices apply, on the prices page: a row of bars for each model."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from accounting.prices.models.price import UnitPrice
from tests.integration.conftest import SignIn
from tests.story import Story

pytestmark = pytest.mark.django_db

MODEL = "NVIDIA-H100-80GB-HBM3"


def price(start: tuple[int, int], end: tuple[int, int] | None, tier: str = "") -> None:
    UnitPrice.objects.create(
        model=MODEL,
        tier=tier,
        currency="EUR",
        rate_per_gpu_hour=Decimal("2.5"),
        valid_from=datetime(2026, *start, tzinfo=UTC),
        valid_to=datetime(2026, *end, tzinfo=UTC) if end else None,
    )


def test_gaps_and_overlaps_of_prices_show(sign_in: SignIn, story: Story) -> None:
    del story
    UnitPrice.objects.all().delete()
    price((9, 1), (10, 1))
    price((10, 11), None)
    price((10, 20), None, tier="spot")
    answer = sign_in("ana").get("/prices")
    timeline = answer.context["timeline"]
    [row] = [row for row in timeline.rows if row.key == MODEL]
    looks = [(bar.look, bar.slot) for bar in row.bars]
    assert looks.count(("held", 1)) == 2
    assert looks.count(("held", 2)) == 1
    special = next(bar for bar in row.bars if bar.slot == 2)
    general = [bar for bar in row.bars if bar.slot == 1][-1]
    assert special.x > general.x, "it begins later"
    assert special.y != general.y, "and stands beside the one that it overlaps"
    assert special.x + special.width == pytest.approx(100, abs=0.01)
    assert "€2.50 for all GPUs, from 1 Sept 2026 to 1 Oct 2026" in row.text
    assert row.text.endswith("€2.50 for spot, from 20 Oct 2026")
    text = " ".join(re.sub("<[^>]+>", "", answer.content.decode()).split())
    assert "When prices apply" in text
    assert "No price: the cost is unknown" in text, "other models have none now"


def test_a_gap_between_prices_is_named_where_gpus_were_there(
    sign_in: SignIn, story: Story
) -> None:
    del story
    client = sign_in("ana")
    seen = client.get("/prices").context["timeline"]
    model = next(row.key for row in seen.rows if row.bars)
    UnitPrice.objects.all().delete()
    UnitPrice.objects.create(
        model=model,
        currency="EUR",
        rate_per_gpu_hour=Decimal(1),
        valid_from=seen.start,
        valid_to=seen.start + (seen.end - seen.start) / 2,
    )
    [row] = [
        row
        for row in client.get("/prices").context["timeline"].rows
        if row.key == model
    ]
    dark = [bar for bar in row.bars if bar.look == "dark"]
    assert dark[-1].x + dark[-1].width == pytest.approx(100, abs=0.01)
    assert "; no price from " in row.text


def test_a_model_with_prices_of_its_lifecycles_only_has_no_gap(
    sign_in: SignIn, story: Story
) -> None:
    """And an end in the far future does not squeeze the present."""
    del story
    client = sign_in("ana")
    UnitPrice.objects.all().delete()
    for lifecycle in ("on-demand", "spot"):
        UnitPrice.objects.create(
            model=MODEL,
            lifecycle=lifecycle,
            currency="EUR",
            rate_per_gpu_hour=Decimal(1),
            valid_from=datetime(1970, 1, 1, tzinfo=UTC),
            valid_to=datetime(2099, 1, 1, tzinfo=UTC),
        )
    timeline = client.get("/prices").context["timeline"]
    [row] = [row for row in timeline.rows if row.key == MODEL]
    assert [(bar.look, bar.slot) for bar in row.bars] == [("held", 2)] * 2
    assert "€1.00 for on-demand, to 1 Jan 2099" in row.text
    assert timeline.end - timeline.start < timedelta(days=2 * 366)


def test_a_viewer_sees_the_prices_but_no_fleet(sign_in: SignIn, story: Story) -> None:
    """Which models are there is for those who see all teams; so no gaps are shown."""
    del story
    timeline = sign_in("mia").get("/prices").context["timeline"]
    assert {bar.look for row in timeline.rows for bar in row.bars} == {"held"}
