"""Each page in both themes: drawn, nothing complained about, clean for axe, whole at 320 px."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.urls import resolve
from playwright.sync_api import Browser
from pytest_django import DjangoDbBlocker

from accounting.access.models.teams import Team
from accounting.budgets.actions.budgets import SetBudget, create_budget, fire_alerts
from accounting.core.interval import HOUR_MS, to_ms
from accounting.explore.models import SavedView
from accounting.kit.audit import SYSTEM
from accounting.metering.models.evidence import KubeJob, KubeJobRun
from accounting.months.actions.contests import open_contest
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from accounting.notifications.actions import enqueue
from accounting.notifications.models import Notification, NotificationKind
from accounting.prices.models.price import PriceList
from accounting.prices.models.price_draft import PriceDraft
from tests.browser.bills import forget_bills, import_two
from tests.browser.conftest import SignIn, turn_dark, wrong_in_both_themes
from tests.browser.forget import forget_budgets, forget_contests, forget_months
from tests.browser.waits.stored_waits import forget_waits, store_waits
from tests.integration.access.routes import FOUND, find_routes
from tests.integration.access.routes import PAGES as ROUTES
from tests.story import PASSWORD, Story

FAMILY = "/teams/vision/families/vision-prod/sweep-resnet"
RUN = "/teams/vision/runs/vision-prod/Job/sweep-resnet"
GPU = "GPU-5a1e0001-0000-7c3d"
SECOND_JOB = "kube-state-metrics-2"
PAGES = {
    "/": "Overview",
    "/?range=last-7-days&cmp=off": "Overview",
    "/?from=2020-01-01&to=2020-02-01": "Overview",
    "/?team=vision&model=NVIDIA-H100&lifecycle=on-demand": "Overview",
    "/?model=NVIDIA-NONE": "Overview",
    "/overview/changes": "Biggest changes",
    "/overview/changes?range=last-7-days&team=vision": "Biggest changes",
    "/overview/changes?cmp=off": "Biggest changes",
    "/overview/idle?range=last-7-days": "Largest idle",
    "/overview/idle?model=NVIDIA-NONE": "Largest idle",
    "/explore": "Explore",
    "/explore/views": "Saved views",
    "/explore/views/1000/rename": "Rename Idle cost of tiers",
    "/explore/views/new?by=tier&then=week": "Save this view",
    "/explore?by=family&then=tier&show=busy_share&not_team=vision": "Explore",
    "/teams": "Teams",
    "/teams?group=none&hide=coverage,idle": "Teams",
    "/teams/vision": "Vision",
    "/teams/vision/idle": "Largest idle",
    "/teams/vision/week": "When it is busy",
    "/teams/vision/give-back?range=last-7-days": "What to give back",
    "/teams/vision?range=last-7-days": "Vision",
    "/teams/vision/workloads": "Vision",
    "/teams/vision/workloads?by=run": "Vision",
    FAMILY: "sweep-resnet",
    f"{FAMILY}?range=last-7-days&open=vision-prod/Job/sweep-resnet/": "sweep-resnet",
    RUN: "sweep-resnet\nRunning",
    f"{RUN}?range=last-7-days": "sweep-resnet\nRunning",
    "/teams/vision/workloads?q=nothing-like-it": "Vision",
    "/teams/vision/workloads?show=hard&sort=-energy": "Vision",
    "/teams/robotics/workloads?only=pointless&show=hard": "Robotics",
    "/teams/robotics": "Robotics",
    "/teams/vision/workloads?open=vision-train/Job/sweep-resnet/": "Vision",
    "/teams/vision/rules": "Vision",
    "/gpus": "GPUs and nodes",
    "/gpus/table": "Each GPU",
    "/gpus?view=timeline": "GPUs and nodes",
    "/gpus?view=timeline&over=range&q=gpu-02&sort=-earned": "GPUs and nodes",
    "/gpus?q=nothing-like-it": "GPUs and nodes",
    "/gpus?over=range&from=2026-10-15&to=2026-10-20": "GPUs and nodes",
    f"/gpus/{GPU}": GPU,
    f"/gpus/{GPU}?range=today": GPU,
    "/data-health": "Data health",
    "/data-health/proofs": "Consistency checks",
    f"/data-health/kube-state-job?cluster=north&job={SECOND_JOB}": (
        "Accept a job of kube-state-metrics"
    ),
    "/clusters/retire?cluster=north": "Retire cluster north",
    "/setup": "Setup",
    "/prices": "Prices",
    "/prices/new": "Set a price",
    "/bills": "Bills",
    "/bills/new": "Import a bill",
    "/bills/1": "AWS, November 2026",
    "/bills/months/2026-11": "All bills, November 2026",
    "/bills/2": "AWS, November 2026",
    "/prices/import": "Import prices",
    "/prices/drafts/1000": "Price list of fin",
    "/prices/lists/new": "Add a price list",
    "/prices/lists/1000": "Change a price list",
    "/conversion-rates": "Conversion rates",
    "/conversion-rates/new": "Set a conversion rate",
    "/budgets": "Budgets",
    "/budgets/new": "Set a budget",
    "/budgets/1": "Vision",
    "/budgets/1/change": "Change the amount",
    "/budgets/1/end": "End a budget",
    "/budgets/2": "Research",
    "/inbox": "Waiting for you",
    "/idle": "Idle now",
    "/alerts": "Alerts",
    "/alerts/archived": "Archived alerts",
    "/alerts/resolved": "Resolved alerts",
    "/alerts/rules": "Alert rules",
    "/alerts/rules/idle": "Thresholds of Idle GPUs",
    "/idle?over=480": "Idle now",
    "/waste/apart": "Not counted as savings",
    "/waste": "Waste",
    "/recommendations": "Recommendations",
    "/recommendations?state=dismissed": "Recommendations",
    "/waste?range=last-7-days&team=vision": "Waste",
    "/anomalies": "Unusual days",
    "/anomalies?from=2020-01-01&to=2020-02-01": "Unusual days",
    "/months": "Months",
    "/months/2026-10": "October 2026",
    "/months/2026-11": "November 2026",
    "/months/2026-10/methods": "Methods of October 2026",
    "/months/2026-11/methods?compare=yes": "Methods of November 2026",
    "/charges": "Charges",
    "/charges?period=2026-11&by=workload": "Charges",
    "/statements/vision/2026-10": "Statement of Vision",
    "/statements/platform/2026-11": "Statement of Platform",
    "/contests": "Contests",
    "/contests?state=withdrawn": "Contests",
    "/contests/1": "Contest 1",
    "/exports": "Exports",
    "/exports?content=charges&month=2026-11&format=xlsx": "Exports",
    "/entries/new": "Add a credit or extra charge",
    "/attribution": "Attribution",
    "/attribution/new": "Add a rule",
    "/attribution/1/end": "End a rule",
    "/teams/vision/quota": "Vision",
    "/quotas": "Quotas",
    "/quotas?q=nothing-like-it": "Quotas",
    "/quotas/file": "Quotas from a file",
    "/quotas/pending": "Pending work",
    "/quotas/limits": "Everything that limits GPUs",
    "/quotas/limits?q=nothing-like-it": "Everything that limits GPUs",
    "/quotas/yaml?cluster=north&team=vision": "Quota as YAML",
    "/gpus/pools": "Pools",
    "/gpus/pools?cluster=nowhere&pool=none": "Pools",
    "/queues": "Waiting work",
    "/queues?cluster=nowhere": "Waiting work",
    "/queues?team=vision": "Waiting work",
    "/queues/1": "late-made-here-0",
    "/changes": "Quota changes",
    "/changes?state=undone": "Quota changes",
    "/before-after": "Before and after",
    "/what-if": "What-if",
    "/tiers": "Priority tiers",
    "/tiers/change?cluster=north": "Add a tier",
    "/audit": "Audit log",
    "/audit?what=nonsense&first=tomorrow": "Audit log",
    "/account": "Account",
    "/account/notifications": "Notifications",
    "/account/weekly/vision": "Weekly summary",
    "/account/notifications?of=all": "Notifications",
    "/people": "People",
    "/people?q=nobody-like-it": "People",
    "/people/new": "Add a person",
    "/people/1": "ana",
    "/people/teams": "Teams and cost centers",
    "/people/teams/new": "Add a team",
    "/people/teams/vision": "Change Vision",
    "/find?q=vision": "Search",
    "/explain?what=charge&team=vision": "Where this number comes from",
    "/explain?what=ledger": "Where this number comes from",
}

ELSEWHERE = {
    "sign-in": "below, as nobody",
    "welcome/<uidb64>/<token>": "test_sign_in.py: with a link that is valid",
    "statements/<slug:team>/<slug:period>/contest": "test_contests.py: as a lead",
    "changes/<int:number>": "test_changes.py: beside a cluster that applies it",
    "alerts/<int:number>/archive": "test_alerts.py: of an alert that lasts",
    "alerts/<int:number>/restore": "test_alerts.py: of an archived alert",
    "recommendations/ask": "test_tasks.py: of a recommendation",
    "idle/<int:number>/ask": "test_idle.py: of a holder that is idle",
    "idle/<int:number>/ignore": "test_idle.py: of a holder that is idle",
    "account/notifications/<int:number>": "below, with its mail in a frame",
    "account/notifications/<int:number>/mail": "a document for a frame of a page",
    "account/weekly/<slug:slug>/mail": "a document for a frame of a page",
    "freshness": "a part of every page",
    "months/<slug:period>/files/<slug:what>": "a file",
    "exports/<int:number>/file": "a file",
}
"""Routes of pages that have no address in `PAGES`: where they are looked at."""

PHONE = 320
WIDTH_OF_PAGE = "document.documentElement.scrollWidth"
SHOWN = {
    "/teams/vision/quota": "Pending work",
    "/gpus/pools": "Pools now",
    "/queues": "Why work waits",
    "/queues/1": "It starts if",
}
"""A heading that a page has only if there are rows below it."""
FOLLOWED = """() => [...document.querySelectorAll('.chart:not([hidden])')].every(box =>
    Math.abs(box.querySelector('.main-svg').getBoundingClientRect().width
             - box.clientWidth) <= 1)"""


@pytest.fixture(scope="module")
def second_job(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Two jobs that sent kube-state-metrics of the cluster at the same time."""
    end = to_ms(story.until)
    with django_db_blocker.unblock():
        for hours, job in ((9, "kube-state-metrics"), (6, SECOND_JOB)):
            start = end - hours * HOUR_MS
            row = KubeJob.objects.create(
                cluster=story.cluster, job=job, first_node_ms=start
            )
            KubeJobRun.objects.create(kube_job=row, first_ms=start, last_ms=end)
        yield
        KubeJob.objects.all().delete()
    connection.close()  # this one's own: after the browser there is another


@pytest.fixture(scope="module")
def budgets(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Budgets of a team and of a department, with the alerts that they raise."""
    del story
    why = "Agreed in the last round."
    with django_db_blocker.unblock():
        forget_budgets()  # of earlier modules, whose budgets have other numbers
        team = Team.objects.get(slug="vision")
        money = SetBudget(team=team, amount=Decimal(14_000), reason=why)
        hours = SetBudget(
            department="Research",
            measure="gpu-hours",
            amount=Decimal(90_000),
            reason=why,
        )
        for one in (money, hours):
            create_budget(one, SYSTEM)
        fire_alerts()
        yield
        forget_budgets()
    connection.close()


@pytest.fixture(scope="module")
def bills(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A bill of November and the one that replaced it, with rows that nothing matches."""
    with django_db_blocker.unblock():
        import_two(story)
        yield
        forget_bills()
    connection.close()


@pytest.fixture(scope="module")
def waits(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Work of several teams that waits, of every cause that was recorded."""
    with django_db_blocker.unblock():
        store_waits(story)
        yield
        forget_waits()
    connection.close()


@pytest.fixture(scope="module")
def price_list(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A list without prices, and one that finance prepared, with the numbers of their pages."""
    del story
    lines = (
        "model,per_gpu_hour,valid_from",
        "H100,2.10,2026-11-01",
        'L40S,"0,72",soon',
    )
    with django_db_blocker.unblock():
        made = PriceList.objects.create(
            pk=1000, kind="rate", name="Vendor", currency="USD"
        )
        draft = PriceDraft.objects.create(
            pk=1000,
            text="\r\n".join(lines),
            options={key: [] for key in ("map", "set", "where", "alias")}
            | {"pick": "", "keep_unknown": False, "price_list": None},
            reason="The list of the new contract",
            author=get_user_model().objects.get(username="fin"),
        )
        yield
        draft.delete()
        made.delete()
    connection.close()


@pytest.fixture(scope="module")
def saved_view(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A view of everybody, with the number of its page."""
    del story
    with django_db_blocker.unblock():
        view = SavedView.objects.create(
            pk=1000,
            name="Idle cost of tiers",
            audience="all",
            owner=get_user_model().objects.get(username="ana"),
            query="by=tier&show=idle_cost",
        )
        yield
        view.delete()
    connection.close()


@pytest.fixture(scope="module")
def months(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """October closed, with a contest of vision; November running."""
    del story
    with django_db_blocker.unblock():
        close_period("2026-10")
        book_running("2026-11")
        luis = get_user_model().objects.get(username="luis")
        vision = Team.objects.get(slug="vision")
        open_contest(vision, "2026-10", "gpu-02 was down on 5 October.", luis)
        yield
        forget_contests()
        forget_months()
    connection.close()


def test_no_page_of_the_resolver_is_left_out() -> None:
    pages = {
        route
        for route in find_routes()
        if not route.startswith("api/") and ROUTES[route].get != FOUND
    }
    visited = {resolve(urlsplit(path).path).route for path in PAGES}
    assert visited | ELSEWHERE.keys() == pages | {"sign-in"}
    assert not visited & ELSEWHERE.keys()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.usefixtures(
    "second_job", "budgets", "bills", "months", "price_list", "saved_view", "waits"
)
def test_a_page_is_clean_keeps_the_policy_and_fits_a_small_phone(
    sign_in: SignIn, violations: Callable[..., list[str]], path: str
) -> None:
    visit = sign_in("ana", is_kept=True)
    page = visit.open(path)
    assert page.locator("h1").inner_text().strip() == PAGES[path]
    marked = page.locator(":is(.nav-link, .nav-alerts)[aria-current]").count()
    assert marked == (0 if path.startswith("/find") else 1)
    if path in SHOWN:
        assert page.get_by_role("heading", name=SHOWN[path]).count() == 1
    assert violations(page) == []
    turn_dark(page)
    assert violations(page, only_colors=True) == []
    page.set_viewport_size({"width": PHONE, "height": 800})
    page.wait_for_function(FOLLOWED)
    assert page.evaluate(WIDTH_OF_PAGE) <= PHONE
    assert visit.complaints == []


@pytest.fixture(scope="module")
def message(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The address of a message to ana, whose mail leads to Idle now."""
    del story
    with django_db_blocker.unblock():
        ana = get_user_model().objects.get(username="ana")
        head = "<head><title>Mail</title></head>"
        html = f'<html lang="en">{head}<body><a href="/idle">Idle now</a></body></html>'
        enqueue(ana, NotificationKind.ALERT, "A GPU is hot", "91 °C", html, key="k1")
        yield f"/account/notifications/{Notification.objects.get(key='k1').pk}"
        Notification.objects.all().delete()


def test_a_message_shows_its_mail_in_a_frame(
    sign_in: SignIn, violations: Callable[..., list[str]], message: str
) -> None:
    visit = sign_in("ana", is_kept=True)
    page = visit.open(message)
    assert page.locator("h1").inner_text().strip() == "A GPU is hot"
    assert violations(page) == []
    turn_dark(page)
    assert violations(page, only_colors=True) == []
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert page.evaluate(WIDTH_OF_PAGE) <= PHONE
    assert visit.complaints == []
    page.frame_locator(".mail-frame").get_by_role("link", name="Idle now").click()
    page.wait_for_url("**/idle")
    assert page.locator("h1").inner_text().strip() == "Idle now"


@pytest.mark.parametrize("path", ["/", "/teams/vision", f"/gpus/{GPU}"])
def test_a_chart_that_lags_behind_does_not_widen_the_page(
    sign_in: SignIn, path: str
) -> None:
    visit = sign_in("ana")
    visit.page.add_init_script(
        "addEventListener('resize', (event) => event.stopImmediatePropagation(), true)"
    )
    page = visit.open(path)
    page.set_viewport_size({"width": PHONE, "height": 800})
    page.wait_for_function("width => innerWidth === width", arg=PHONE)
    assert not page.evaluate(FOLLOWED)
    assert page.evaluate(WIDTH_OF_PAGE) <= PHONE


def test_the_sign_in_page_is_clean(
    browser: Browser, address: str, violations: Callable[..., list[str]]
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}/sign-in?next=/teams")
    page.get_by_label("User name").fill("nobody")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    assert "do not match an account" in page.get_by_role("alert").inner_text()
    assert wrong_in_both_themes(page, violations) == []
    page.get_by_label("User name").fill("luis")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/teams")
    context.close()


@pytest.mark.parametrize("path", ["/teams/nobody", "/prices/new"])
def test_refusals_are_clean(
    sign_in: SignIn, violations: Callable[..., list[str]], path: str
) -> None:
    visit = sign_in("luis")
    visit.page.goto(visit.address + path)
    assert violations(visit.page) == []


def test_the_check_finds_a_label_that_lacks_its_text(
    sign_in: SignIn, violations: Callable[..., list[str]]
) -> None:
    """Who says what is written on a link must reach it; axe tries that only when asked."""
    page = sign_in("ana").open("/prices")
    page.evaluate(
        """document.querySelector("main").insertAdjacentHTML(
            "beforeend", '<a href="/" aria-label="Elsewhere">Overview</a>')"""
    )
    [found] = violations(page)
    assert found.startswith("label-content-name-mismatch x1")


def test_the_check_finds_a_text_that_is_too_faint_in_the_dark_theme(
    sign_in: SignIn, violations: Callable[..., list[str]]
) -> None:
    """The theme changes on the open page, and axe looks at the colors that are then in force."""
    page = sign_in("ana").open("/prices")
    page.evaluate(
        "document.querySelector('h1').style.color = 'light-dark(#111111, #222222)'"
    )
    assert violations(page) == []
    turn_dark(page)
    [found] = violations(page, only_colors=True)
    assert found.startswith("color-contrast x1")
