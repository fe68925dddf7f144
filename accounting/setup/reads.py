"""The steps of a setup, checked from stored data only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from accounting.access.reads.reserved import reserved_teams
from accounting.metering.reads.ledger_ends import newest
from accounting.metering.sql.states_sql import held, wall

_QUERY = """
    SELECT
      (SELECT count(*) FROM accounting_source WHERE is_active),
      (SELECT count(*) FROM accounting_source
       WHERE is_active AND last_error = '' AND last_read_at IS NOT NULL),
      (SELECT string_agg(name || ': ' || left(last_error, 300), E'\\n' ORDER BY name)
       FROM accounting_source WHERE is_active AND last_error <> ''),
      (SELECT count(*) FROM accounting_gpu WHERE NOT is_placeholder),
      (SELECT count(*) FROM accounting_gpu WHERE is_placeholder),
      (SELECT count(DISTINCT gpu_id) FROM accounting_gpupresence WHERE end_ms IS NULL),
      (SELECT count(*) FROM accounting_scraper WHERE is_kube_state),
      (SELECT count(*) FROM accounting_podhold),
      (SELECT count(*) FROM accounting_team),
      (SELECT max(hour_start) FROM usage_hour_total)
"""
_ADMINISTRATORS = """
    SELECT string_agg(u.username, ', ' ORDER BY u.username)
    FROM accounting_person p JOIN auth_user u ON u.id = p.user_id
    WHERE p.role = 'admin' AND u.is_active AND u.password NOT LIKE '!%'
"""
# The last seven days, one by one: each is looked up by the key of cluster and day.
_WEEK = f"""
    WITH last AS MATERIALIZED (SELECT {newest("usage_family_day", "billing_on")} AS day)
    SELECT coalesce(sum(held), 0), coalesce(sum(held) FILTER (WHERE team_id = 0), 0),
           coalesce(sum(everything), 0),
           coalesce(sum(everything) FILTER (WHERE price_id = 0), 0),
           string_agg(DISTINCT CASE WHEN price_id = 0 THEN model END, ', ')
    FROM (
        SELECT team_id, price_id, model,
               CASE WHEN namespace_id <> 0 THEN {held()} ELSE 0 END AS held,
               {wall()} AS everything
        FROM last CROSS JOIN unnest(ARRAY[0, 1, 2, 3, 4, 5, 6]) ago
        CROSS JOIN accounting_cluster c
        JOIN usage_family_day u ON u.cluster_id = c.id AND u.billing_on = last.day - ago
    ) week
"""


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One step: done, not done yet, or wrong.

    Attributes:
        state: `done`, `todo` or `bad`.
        found: the current state, one sentence.
        found_at: a time that ends the sentence, in UTC; None without one.
        looked_for: what was checked, and where.
        query: to try manually; "" if none.
        advice: what to do next; "" if done.
    """

    name: str
    state: str
    found: str
    looked_for: str
    query: str = ""
    advice: str = ""
    route: str = ""  # a page for this step
    found_at: datetime | None = None


def setup_steps() -> list[SetupStep]:
    """All steps, in their order; four queries."""
    with connection.cursor() as cursor:
        cursor.execute(_ADMINISTRATORS)
        names = cursor.fetchone()[0]
        cursor.execute(_QUERY)
        counts = cursor.fetchone()
        cursor.execute(_WEEK)
        week = cursor.fetchone()
    return [
        *_reserved(),
        _administrator(names),
        _source(counts[:3]),
        _gpu_metrics(*counts[3:6]),
        _kube_state(*counts[6:8]),
        _mapped(counts[8], week),
        _priced(week),
        _computed(counts[9]),
    ]


def is_complete(steps: Sequence[SetupStep]) -> bool:
    """True if all steps are done."""
    return all(step.state == "done" for step in steps)


def _administrator(names: str | None) -> SetupStep:
    looked_for = "At least one active account with the role admin and a password."
    if not names:
        return SetupStep(
            "An administrator can sign in",
            "todo",
            "No administrator has chosen a password yet.",
            looked_for,
            "manage.py person NAME --role admin",
            "Run the command on the server and open the link that it prints.",
        )
    return SetupStep(
        "An administrator can sign in", "done", f"Administrators: {names}.", looked_for
    )


def _reserved() -> list[SetupStep]:
    """A step only where a database of an earlier version has such a team."""
    return [
        SetupStep(
            "No team has the name of another party of the ledger",
            "bad",
            f"{team.text}.",
            "Teams with the slug or name of the platform, of unmapped usage or of a page.",
            advice=team.advice,
            route="teams",
        )
        for team in reserved_teams()
    ]


def _source(found: tuple[int, int, str | None]) -> SetupStep:
    active, answering, errors = found
    looked_for = "At least one source was read without an error."
    if not active:
        return SetupStep(
            "A metrics source responds",
            "todo",
            "No source is configured.",
            looked_for,
            "manage.py configure gpu-ledger.yaml",
            "Add a Prometheus server, exporters or a metrics file under clusters: sources.",
        )
    if errors or answering < active:
        return SetupStep(
            "A metrics source responds",
            "bad" if errors else "todo",
            errors or f"{answering} of {active} sources have been read.",
            looked_for,
            "up",
            "Check the address, the token and the network connection.",
        )
    return SetupStep(
        "A metrics source responds",
        "done",
        f"{answering} of {active} sources respond.",
        looked_for,
    )


def _gpu_metrics(gpus: int, placeholders: int, present: int) -> SetupStep:
    looked_for = (
        "Samples with a GPU UUID: DCGM_FI_PROF_GR_ENGINE_ACTIVE, else "
        "DCGM_FI_DEV_GPU_UTIL."
    )
    query = 'count by (modelName) ({__name__=~"DCGM_FI_(PROF_GR_ENGINE_ACTIVE|DEV_GPU_UTIL)"})'
    if gpus:
        more = f"; {placeholders:,} are reported by nodes only" if placeholders else ""
        return SetupStep(
            "GPU metrics are scraped",
            "done",
            f"{present:,} GPUs are present now, {gpus:,} were sampled in total{more}.",
            looked_for,
            query,
        )
    state = "bad" if placeholders else "todo"
    found = f"{placeholders:,} GPUs are reported by nodes, none by an exporter."
    return SetupStep(
        "GPU metrics are scraped",
        state,
        found if placeholders else "No GPU has been sampled.",
        looked_for,
        query,
        "Run dcgm-exporter on the GPU nodes and configure Prometheus to scrape it.",
    )


def _kube_state(scrapers: int, holds: int) -> SetupStep:
    looked_for = "Scrapes of kube-state-metrics that show pods and their requests."
    query = 'kube_pod_container_resource_requests{resource=~"nvidia_com_.*|amd_com_.*"}'
    if scrapers:
        return SetupStep(
            "kube-state-metrics is scraped",
            "done",
            f"{holds:,} GPU allocations of pods are known.",
            looked_for,
            query,
        )
    return SetupStep(
        "kube-state-metrics is scraped",
        "todo",
        "No samples of kube-state-metrics. Pods that hold GPUs are not known, so GPU time counts "
        "as dark.",
        looked_for,
        query,
        "Install kube-state-metrics and let the same Prometheus scrape it.",
    )


def _mapped(teams: int, week: tuple[int, int, int, int, str | None]) -> SetupStep:
    held, unmapped = week[0], week[1]
    looked_for = (
        "The share of held GPU time in the last seven days that a rule maps to a team."
    )
    if not teams:
        return SetupStep(
            "Namespaces are mapped to teams",
            "todo",
            "No teams yet.",
            looked_for,
            "manage.py configure gpu-ledger.yaml",
            "List teams and bindings in the setup file.",
            "attribution",
        )
    if not held:
        return SetupStep(
            "Namespaces are mapped to teams",
            "todo",
            f"{teams} teams; no GPU time was held yet.",
            looked_for,
            route="attribution",
        )
    share = 1 - float(unmapped / held)
    if unmapped:
        return SetupStep(
            "Namespaces are mapped to teams",
            "bad" if share < 0.5 else "todo",
            f"{share:.1%} of held GPU time is mapped to a team.",
            looked_for,
            advice="Map the remaining namespaces.",
            route="attribution",
        )
    return SetupStep(
        "Namespaces are mapped to teams",
        "done",
        f"All held GPU time is mapped to {teams} teams.",
        looked_for,
        route="attribution",
    )


def _priced(week: tuple[int, int, int, int, str | None]) -> SetupStep:
    everything, unpriced, models = week[2], week[3], week[4]
    looked_for = "A price for each GPU model of the last seven days of data."
    if everything and not unpriced:
        return SetupStep("Prices are set", "done", "Every GPU has a price.", looked_for)
    found = f"No price for {models}." if unpriced else "No usage to price yet."
    return SetupStep(
        "Prices are set",
        "todo",
        found,
        looked_for,
        advice="Add a price. Hours are recomputed; metrics are not read again."
        if unpriced
        else "",
        route="prices",
    )


def _computed(newest: datetime | None) -> SetupStep:
    looked_for = "At least one hour of rolled-up usage."
    if newest is None:
        return SetupStep(
            "The first hour is computed",
            "todo",
            "No hour yet. The first hour is computed within minutes of the first samples.",
            looked_for,
        )
    return SetupStep(
        "The first hour is computed",
        "done",
        "The newest hour begins at",
        looked_for,
        found_at=newest,
    )
