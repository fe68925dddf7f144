"""Addresses of scheduler_view's pages."""

from django.urls import path

from scheduler_view.alerts import pages as alerts
from scheduler_view.before_after.pages import before_after
from scheduler_view.changes.pages import changes, settle, verbs
from scheduler_view.idle import pages as idle
from scheduler_view.inbox import pages as inbox
from scheduler_view.queues.pages import pools
from scheduler_view.queues.pages import waiting as queues
from scheduler_view.quotas.pages import limits, quota_file, quotas, team_quota, tiers
from scheduler_view.savings.pages import ask_owner, give_back, recommendations, waste
from scheduler_view.what_if.pages import what_if
from scheduler_view.workloads.pages import run

urlpatterns = [
    path("quotas", quotas.quota_list, name="quotas"),
    path("quotas/pending", quotas.pending, name="quota-pending"),
    path("quotas/yaml", quotas.quota_yaml, name="quota-yaml"),
    path("quotas/file", quota_file.quota_file, name="quota-file"),
    path("quotas/change", quotas.propose, name="quota-propose"),
    path("quotas/settle", settle.resolve, name="quota-settle"),
    path("quotas/limits", limits.limits, name="limits"),
    path("quotas/limits/adopt", limits.adopt, name="limit-adopt"),
    path("quotas/settle-queue", settle.resolve_queue, name="queue-settle"),
    path("gpus/pools", pools.pool_page, name="pools"),
    path("queues", queues.queue_page, name="queues"),
    path("queues/<int:number>", queues.queue_unit, name="queue-unit"),
    path("queues/<int:number>/draft", queues.queue_draft, name="queue-draft"),
    path("queues/<int:number>/quota", queues.quota_draft, name="queue-quota"),
    path("changes", changes.change_list, name="changes"),
    path("changes/<int:number>", changes.change, name="change"),
    path("changes/<int:number>/<slug:verb>", verbs.act_on, name="change-act"),
    path("waste", waste.waste, name="waste"),
    path("waste/apart", waste.waste_apart, name="waste-apart"),
    path("recommendations", recommendations.recommendations, name="recommendations"),
    path(
        "recommendations/decide", recommendations.decide, name="recommendation-decide"
    ),
    path(
        "recommendations/ask", ask_owner.recommendation_ask, name="recommendation-ask"
    ),
    path("recommendations/draft", recommendations.draft, name="recommendation-draft"),
    path("before-after", before_after.before_after, name="before-after"),
    path("inbox", inbox.inbox, name="inbox"),
    path("alerts", alerts.alert_list, name="alerts"),
    path("alerts/archived", alerts.archived, name="alerts-archived"),
    path("alerts/resolved", alerts.resolved, name="alerts-resolved"),
    path("alerts/rules", alerts.rule_list, name="alert-rules"),
    path("alerts/rules/<slug:name>", alerts.rule_form, name="alert-rule"),
    path("alerts/<int:number>/archive", alerts.archive, name="alert-archive"),
    path("alerts/<int:number>/restore", alerts.restore, name="alert-restore"),
    path("idle", idle.idle_list, name="idle-holders"),
    path("idle/<int:number>/ask", idle.ask, name="idle-ask"),
    path("idle/<int:number>/ignore", idle.ignore, name="idle-ignore"),
    path("tiers", tiers.tier_list, name="tiers"),
    path("tiers/change", tiers.propose, name="tier-propose"),
    path("what-if", what_if.what_if_list, name="what-if"),
    path("what-if/<int:number>/cancel", what_if.what_if_cancel, name="what-if-cancel"),
    path("teams/<slug:slug>/give-back", give_back.give_back, name="team-give-back"),
    path(
        "teams/<slug:slug>/runs/<str:namespace>/<str:kind>/<path:name>",
        run.run_page,
        name="team-run",
    ),
    path("teams/<slug:slug>/quota", team_quota.team_quota, name="team-quota"),
]
