"""Forms of pages: shown before they are saved, checked, audited."""

from datetime import timedelta

import pghistory.models
import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from accounting.access.models.people import Person
from accounting.access.models.teams import Binding
from accounting.access.models.tokens import ApiToken
from accounting.kit.tags.units import gpu_hours
from accounting.metering.models.ledger import DirtyHour
from accounting.metering.models.pod import Namespace, NamespaceLabels
from accounting.prices.models.price import UnitPrice
from tests.integration.conftest import SignIn
from tests.integration.prices.previewed_price import previewed, save_price
from tests.page_html import html_of
from tests.story import ZONE, Story

REASON = "Agreed in the finance round of November"
PRICE = {
    "model": "NVIDIA-A10",
    "profile": "",
    "rate_per_gpu_hour": "0.85",
    "cost_per_gpu_hour": "",
    "lifecycle": "",
    "tier": "",
    "cluster": "",
    "source_note": "",
    "reason": REASON,
}
RULE = {
    "kind": "namespace",
    "label": "",
    "glob": "scratch",
    "team": "sandbox",
    "reason": REASON,
}


def test_a_price_is_shown_before_it_is_saved(sign_in: SignIn, story: Story) -> None:
    client = sign_in("ana")
    values = PRICE | {"valid_from": f"{story.since:%Y-%m-%d}"}
    before = UnitPrice.objects.count()
    shown = client.post("/prices/new", values)
    assert shown.status_code == 200
    effect = shown.context["effect"]
    assert effect.days > 30
    assert {one.name for one in effect.teams} == {"Fraud", "Platform", "Sandbox"}
    assert effect.total == sum(one.difference for one in effect.teams)
    assert effect.newly_priced_ms > 0
    assert UnitPrice.objects.count() == before

    saved = save_price(client, values, follow=True)
    assert "is saved" in html_of(saved)
    price = UnitPrice.objects.get(model="NVIDIA-A10")
    assert str(price.rate_per_gpu_hour) == "0.850000"
    assert DirtyHour.objects.exists()
    event = pghistory.models.Events.objects.tracks(price).get()
    assert event.pgh_context["reason"] == REASON
    assert event.pgh_context["actor"] == "ana"


def test_what_is_saved_is_the_price_that_was_previewed(
    sign_in: SignIn, story: Story
) -> None:
    """Another rate could be typed after the preview, and a second click saved once more."""
    client = sign_in("ana")
    values = PRICE | {"valid_from": f"{story.until + timedelta(days=2):%Y-%m-%d}"}
    sent = previewed(client, values)
    for wrong in ({"rate_per_gpu_hour": "8.5"}, {"preview": ""}, {"seen": ""}):
        refused = client.post("/prices/new", sent | wrong)
        assert refused.status_code == 422
        assert "has changed since the preview" in html_of(refused)
        assert refused.context["effect"] is not None
    assert not UnitPrice.objects.filter(model="NVIDIA-A10").exists()
    for _ in range(2):  # a double click
        assert client.post("/prices/new", sent).status_code == 302
    price = UnitPrice.objects.get(model="NVIDIA-A10")
    assert pghistory.models.Events.objects.tracks(price).count() == 1
    stale = previewed(client, values | {"rate_per_gpu_hour": "0.9"})
    save_price(client, values | {"rate_per_gpu_hour": "0.95"})
    assert client.post("/prices/new", stale).status_code == 422
    found = UnitPrice.objects.get(model="NVIDIA-A10")
    assert str(found.rate_per_gpu_hour) == "0.950000"


def test_a_price_far_from_the_one_before_it_has_to_be_confirmed(
    sign_in: SignIn, story: Story
) -> None:
    client = sign_in("ana")
    day = f"{story.until + timedelta(days=2):%Y-%m-%d}"
    values = PRICE | {"model": "NVIDIA-L40S", "rate_per_gpu_hour": "98"}
    values |= {"valid_from": day, "cost_per_gpu_hour": "0"}
    shown = html_of(client.post("/prices/new", values))
    assert "Rate: The price is more than 10 times the price before it" in shown
    assert "Cost: The price is 0" in shown
    refused = client.post("/prices/new", values | {"confirm": "yes"})
    assert refused.status_code == 422
    assert "Confirm the price, or correct it." in html_of(refused)
    assert not UnitPrice.objects.filter(rate_per_gpu_hour=98).exists()
    save_price(client, values | {"is_sure": "on"})
    assert UnitPrice.objects.filter(rate_per_gpu_hour=98).exists()


def test_a_price_from_tomorrow_changes_nothing_that_is_shown(
    sign_in: SignIn, story: Story
) -> None:
    later = story.until + timedelta(days=2)
    values = PRICE | {"valid_from": f"{later:%Y-%m-%d}"}
    page = html_of(sign_in("ana").post("/prices/new", values))
    assert "No computed hour changes" in page


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("reason", "short", "at least 10 characters"),
        ("rate_per_gpu_hour", "-1", "greater than or equal to 0"),
        ("rate_per_gpu_hour", "much", "Enter a number"),
        ("valid_from", "soon", "Enter a valid date"),
        ("model", "", "This field is required"),
        ("profile", "half", "is not a valid MIG profile. Examples: 1g.10gb"),
        ("profile", "9g.10gb", "9g.10gb is more than one NVIDIA-A10."),
        ("cluster", "nowhere", "not one of the available choices"),
    ],
)
def test_a_wrong_price_is_refused_with_words(
    sign_in: SignIn, field: str, value: str, words: str
) -> None:
    values = PRICE | {"valid_from": "2026-11-01", field: value, "confirm": "yes"}
    answer = sign_in("ana").post("/prices/new", values)
    assert answer.status_code == 422
    assert words in html_of(answer)
    assert not UnitPrice.objects.filter(model="NVIDIA-A10").exists()


def test_a_profile_that_the_model_has_not_is_refused(sign_in: SignIn) -> None:
    values = PRICE | {"model": "NVIDIA A30", "profile": "1g.10gb", "confirm": "yes"}
    values["valid_from"] = "2026-11-01"
    answer = sign_in("ana").post("/prices/new", values)
    assert answer.status_code == 422
    assert (
        "NVIDIA-A30 has no profile 1g.10gb; it has 1g.6gb, 2g.12gb, 4g.24gb."
        in html_of(answer)
    )


def test_a_price_is_changed_with_all_that_it_matches(
    sign_in: SignIn, story: Story
) -> None:
    """The form begins with the row, so a saved change is another rate of the same things."""
    client = sign_in("ana")
    matched = {
        "model": "NVIDIA-A100-SXM4-80GB",
        "profile": "1g.10gb",
        "lifecycle": "spot",
        "cluster": story.cluster.name,
        "tier": "urgent",
    }
    rates = {"rate_per_gpu_hour": "1.25"}
    tomorrow = f"{story.until + timedelta(days=2):%Y-%m-%d}"
    values = PRICE | matched | rates | {"source_note": "List 7"}
    save_price(client, values | {"valid_from": tomorrow, "profile": "1G.10GB"})
    price = UnitPrice.objects.get(tier="urgent")
    assert (price.profile, price.cluster) == ("1g.10gb", story.cluster)

    page = html_of(client.get("/prices"))
    row = page[: page.index(f'href="/prices/new?price={price.pk}"')].rpartition("<tr>")
    words = [story.cluster.name, "1g.10gb", "spot", "urgent"]
    badges = " ".join(f'<span class="badge mute">{word}</span>' for word in words)
    assert badges in row[2]
    assert "Everything" not in row[2]

    form = client.get(f"/prices/new?price={price.pk}").context["form"]
    start = {name: form[name].initial for name in [*matched, *rates, "source_note"]}
    assert {k: str(v) for k, v in start.items()} == matched | {
        "rate_per_gpu_hour": "1.250000",
        "source_note": "List 7",
    }
    again = {"valid_from": tomorrow, "rate_per_gpu_hour": "1.5"}
    save_price(client, values | again)
    changed = UnitPrice.objects.get(tier="urgent")
    assert (str(changed.rate_per_gpu_hour), changed.profile) == ("1.500000", "1g.10gb")


@pytest.mark.parametrize("number", ["0", "999999", "x", "'"])
def test_a_price_that_is_not_there_cannot_be_changed(
    sign_in: SignIn, number: str
) -> None:
    answer = sign_in("ana").get("/prices/new", {"price": number})
    assert answer.status_code == 404


def test_a_rule_is_tried_before_it_is_saved(sign_in: SignIn, story: Story) -> None:
    client = sign_in("ana")
    values = RULE | {"valid_from": f"{story.since:%Y-%m-%d}"}
    tried = client.post("/attribution/new", values)
    trial = tried.context["trial"]
    assert [one.namespace for one in trial.moves] == ["scratch"]
    assert not Binding.objects.filter(glob="scratch").exists()
    client.post("/attribution/new", values | {"confirm": "yes"})
    rule = Binding.objects.get(glob="scratch")
    assert rule.team.slug == "sandbox"
    assert rule.position > Binding.objects.exclude(pk=rule.pk).count() - 1


def test_a_trial_tells_what_saving_moves_from_the_last_days(
    sign_in: SignIn, story: Story
) -> None:
    """A rule from today moves little of the week; one from long ago more than a week."""
    client = sign_in("ana")
    long_ago = client.post(
        "/attribution/new", RULE | {"valid_from": f"{story.since:%Y-%m-%d}"}
    )
    (whole,) = long_ago.context["trial"].moves
    assert whole.recent is not None
    assert whole.since is not None
    assert whole.since.allocated_ms > 4 * whole.recent.allocated_ms
    words = f"Saving the rule moves {gpu_hours(whole.since.allocated_ms)} GPU-h"
    assert words in html_of(long_ago)
    day = f"{story.until + timedelta(days=1):%Y-%m-%d}"
    later = client.post("/attribution/new", RULE | {"valid_from": day})
    (none,) = later.context["trial"].moves
    assert none.recent == whole.recent
    assert none.since is None
    assert "changes nothing that is already computed" in html_of(later)


def test_a_rule_says_what_is_known_of_its_namespace(sign_in: SignIn) -> None:
    space = Namespace.objects.get(name="scratch")
    NamespaceLabels.objects.create(
        namespace=space, valid_from="2026-11-01T00:00Z", labels={"label_owner": "mara"}
    )
    page = html_of(sign_in("ana").get("/attribution/new?namespace=scratch"))
    assert "About scratch" in page
    assert "Deployment old-experiment" in page
    assert "<code>owner=mara</code>" in page
    other = html_of(sign_in("ana").get("/attribution/new?namespace=nowhere"))
    assert "Namespace labels:" not in other


def test_a_first_price_begins_with_its_model(sign_in: SignIn, story: Story) -> None:
    client = sign_in("ana")
    bare = client.get("/prices/new?model=NVIDIA-A10").context["form"]
    first = story.since.astimezone(ZONE).date()
    assert bare["valid_from"].initial == first
    priced = client.get("/prices/new?model=NVIDIA-L40S").context["form"]
    assert priced["valid_from"].initial > story.until.date()
    late = client.post("/prices/new", PRICE | {"valid_from": "2026-11-10"})
    assert late.context["doubts"].unpriced_ms > 0
    assert "GPU-h of this model before that day have no price" in (html_of(late))
    whole = client.post("/prices/new", PRICE | {"valid_from": f"{first}"})
    assert whole.context["doubts"].unpriced_ms == 0


def test_a_price_of_something_never_seen_is_doubted(sign_in: SignIn) -> None:
    odd = PRICE | {"model": "NVIDIA-A01", "tier": "gld", "valid_from": "2026-11-01"}
    page = html_of(sign_in("ana").post("/prices/new", odd))
    assert "No GPU of the model NVIDIA-A01 has been seen" in page
    assert "No pod of the tier gld held a GPU" in page
    known = PRICE | {"valid_from": "2026-11-01"}
    assert "has been seen" not in html_of(sign_in("ana").post("/prices/new", known))


def test_a_rule_offers_what_is_there_and_chooses_no_team(sign_in: SignIn) -> None:
    """The first team in the alphabet gets nothing by a slip."""
    client = sign_in("ana")
    form = client.get("/attribution/new")
    assert [row.key["namespace"] for row in form.context["unmapped"]] == ["scratch"]
    assert '<option value="" selected>Select a team</option>' in html_of(form)
    refused = client.post("/attribution/new", RULE | {"team": ""})
    assert refused.status_code == 422
    assert "Select the team that receives the usage." in html_of(refused)


def test_a_price_offers_the_tiers_that_held_gpus(sign_in: SignIn) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE usage_hour SET tier = 'gold' WHERE namespace_id <> 0")
        cursor.execute("UPDATE usage_day SET tier = 'gold' WHERE namespace_id <> 0")
    form = sign_in("ana").get("/prices/new")
    assert form.context["tiers"] == ["gold"]
    assert '<option value="gold"></option>' in html_of(form)


def test_a_rule_that_comes_too_late_says_who_decides(sign_in: SignIn) -> None:
    values = RULE | {"glob": "vision-*", "valid_from": "2026-11-01"}
    trial = sign_in("ana").post("/attribution/new", values).context["trial"]
    assert trial.moves == ()
    assert {row.key["team"] for row in trial.stays} == {"vision"}


def test_a_rule_ends_on_a_day_after_it_began(sign_in: SignIn, story: Story) -> None:
    client = sign_in("ana")
    rule = Binding.objects.get(team__slug="vision")
    path = f"/attribution/{rule.pk}/end"
    early = client.post(path, {"valid_to": "2020-01-01", "reason": REASON})
    assert early.status_code == 422
    done = client.post(path, {"valid_to": f"{story.until:%Y-%m-%d}", "reason": REASON})
    assert done.status_code == 302
    rule.refresh_from_db()
    assert rule.valid_to is not None


def test_preferences_are_kept_and_checked(sign_in: SignIn) -> None:
    client = sign_in("mia")
    person = Person.objects.get(user__username="mia")
    assert client.post("/account/preferences", {"theme": "dark"}).status_code == 204
    assert client.post("/account/preferences", {"theme": "pink"}).status_code == 400
    assert client.post("/account/preferences", {"role": "admin"}).status_code == 204
    person.refresh_from_db()
    assert (person.theme, person.density, person.role) == (
        "dark",
        "comfortable",
        "none",
    )
    zone = client.post("/account/preferences", {"timezone": "Mars/Base"}, follow=True)
    assert "Mars/Base is not a valid time zone" in html_of(zone)
    client.post("/account/preferences", {"timezone": "Asia/Tokyo"})
    assert "Asia/Tokyo" in html_of(client.get("/account"))


def test_a_token_is_shown_once_and_belongs_to_its_owner(sign_in: SignIn) -> None:
    client = sign_in("luis")
    values = {"name": "sheet", "days": "30", "scopes": ["read:usage"]}
    answer = client.post("/account/tokens", values)
    assert answer.headers["Location"] == "/account"
    secret = client.get("/account").context["secret"]
    assert secret not in html_of(client.get("/account"))
    api = Client(headers={"Authorization": f"Bearer {secret}"})
    assert api.get("/api/v1/usage?by=team").status_code == 200
    assert api.get("/api/v1/holds").status_code == 403
    token = ApiToken.objects.get(name="sheet")
    sign_in("ana").post("/account/tokens/revoke", {"token": token.token_key})
    assert ApiToken.objects.filter(pk=token.pk).exists()
    client.post("/account/tokens/revoke", {"token": token.token_key})
    assert not ApiToken.objects.filter(pk=token.pk).exists()


def test_a_form_without_its_token_is_refused(sign_in: SignIn) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(get_user_model().objects.get(username="ana"))
    answer = strict.post("/account/preferences", {"theme": "dark"})
    assert answer.status_code == 403
    assert "The form has expired" in html_of(answer)


def test_the_setup_counts_the_gpus_as_the_page_of_gpus_does(sign_in: SignIn) -> None:
    """It showed all that were ever sampled, without saying so."""
    client = sign_in("ana")
    shown = client.get("/gpus").context["fleet"].gpus
    steps = client.get("/setup").context["steps"]
    [found] = [step.found for step in steps if step.name == "GPU metrics are scraped"]
    assert found.startswith(f"{shown} GPUs are present now, ")
    assert "were sampled in total" in found


def test_the_setup_steps_see_what_is_there(sign_in: SignIn) -> None:
    answer = sign_in("ana").get("/setup", headers={"HX-Request": "true"})
    states = {step.name: step.state for step in answer.context["steps"]}
    assert states["A metrics source responds"] == "done"
    assert states["GPU metrics are scraped"] == "done"
    assert states["kube-state-metrics is scraped"] == "todo"
    assert states["Prices are set"] == "todo"
    assert states["The first hour is computed"] == "done"
    assert "NVIDIA-A10" in html_of(answer)
    assert "The newest hour begins at <time " in html_of(answer)
    assert "<html" not in html_of(answer)
