"""Addresses of accounting's pages."""

from django.urls import path

from accounting.bills.pages import bills
from accounting.budgets.pages import anomalies, budgets
from accounting.explain import pages as explain
from accounting.explore.pages import explore, saved_views
from accounting.exports.pages import exports
from accounting.fleet.pages import fleet, gpu
from accounting.metering.pages import clusters, kube_state_jobs
from accounting.months.pages import (
    charges,
    contests,
    entries,
    methods,
    months,
    statements,
)
from accounting.notifications.pages import mailbox
from accounting.organization.pages import account, audit, people, team_directory
from accounting.prices.pages import (
    conversions,
    price_drafts,
    price_form,
    price_import,
    price_lists,
    prices,
)
from accounting.teams.pages import (
    attribution,
    families,
    team_cards,
    teams,
    workloads,
)

urlpatterns = [
    path("teams", teams.team_list, name="teams"),
    path("teams/<slug:slug>", teams.team, name="team"),
    path("teams/<slug:slug>/workloads", workloads.workloads, name="team-workloads"),
    path(
        "teams/<slug:slug>/families/<str:namespace>/<path:family>",
        families.family,
        name="team-family",
    ),
    path("teams/<slug:slug>/idle", team_cards.team_idle, name="team-idle"),
    path("teams/<slug:slug>/week", team_cards.team_week, name="team-week"),
    path("teams/<slug:slug>/rules", teams.team_rules, name="team-rules"),
    path("gpus", fleet.fleet, name="gpus"),
    path("gpus/table", fleet.gpu_table, name="gpu-table"),
    path("gpus/<path:uuid>", gpu.gpu, name="gpu"),
    path("explore", explore.explore, name="explore"),
    path("explore/views", saved_views.view_list, name="explore-views"),
    path("explore/views/new", saved_views.view_add, name="explore-view-add"),
    path(
        "explore/views/<int:number>/rename",
        saved_views.view_rename,
        name="explore-view-rename",
    ),
    path(
        "explore/views/<int:number>/delete",
        saved_views.view_delete,
        name="explore-view-delete",
    ),
    path("explain", explain.explanation, name="explain"),
    path("prices", prices.price_list, name="prices"),
    path("prices/import", price_import.price_import, name="price-import"),
    path("prices/drafts/<int:number>", price_drafts.price_draft, name="price-draft"),
    path("prices/lists/new", price_lists.price_list_add, name="price-list-add"),
    path(
        "prices/lists/<int:number>",
        price_lists.price_list_change,
        name="price-list-change",
    ),
    path("prices/new", price_form.price_add, name="price-add"),
    path("conversion-rates", conversions.rates, name="conversion-rates"),
    path("conversion-rates/new", conversions.rate_add, name="conversion-rates-add"),
    path("months", months.month_list, name="months"),
    path("months/<slug:period>", months.month, name="month"),
    path("months/<slug:period>/book", months.month_book, name="month-book"),
    path("months/<slug:period>/close", months.month_close, name="month-close"),
    path("months/<slug:period>/override", months.month_override, name="month-override"),
    path("months/<slug:period>/confirm", months.month_confirm, name="month-confirm"),
    path("months/<slug:period>/reopen", months.month_reopen, name="month-reopen"),
    path("months/<slug:period>/method", months.month_method, name="month-method"),
    path(
        "months/<slug:period>/files/<slug:what>",
        charges.period_file,
        name="period-file",
    ),
    path("exports", exports.export_list, name="exports"),
    path("exports/<int:number>/file", exports.export_file, name="export-file"),
    path("exports/<int:number>/cancel", exports.export_cancel, name="export-cancel"),
    path("exports/<int:number>/repeat", exports.export_repeat, name="export-repeat"),
    path("months/<slug:period>/methods", methods.method_list, name="methods"),
    path("entries/new", entries.entry_add, name="entry-add"),
    path("charges", charges.charge_list, name="charges"),
    path(
        "statements/<slug:team>/<slug:period>", statements.statement, name="statement"
    ),
    path(
        "statements/<slug:team>/<slug:period>/contest",
        contests.contest_add,
        name="contest-add",
    ),
    path("contests", contests.contest_list, name="contests"),
    path("contests/<int:number>", contests.contest, name="contest"),
    path(
        "contests/<int:number>/answer", contests.contest_answer, name="contest-answer"
    ),
    path(
        "contests/<int:number>/accept", contests.contest_accept, name="contest-accept"
    ),
    path(
        "contests/<int:number>/reopen", contests.contest_reopen, name="contest-reopen"
    ),
    path(
        "contests/<int:number>/withdraw",
        contests.contest_withdraw,
        name="contest-withdraw",
    ),
    path("bills", bills.bill_list, name="bills"),
    path("bills/new", bills.bill_import, name="bill-import"),
    path("bills/months/<slug:period>", bills.bill_month, name="bill-month"),
    path("bills/<int:number>", bills.bill, name="bill"),
    path("bills/<int:number>/match", bills.bill_match, name="bill-match"),
    path("bills/<int:number>/final", bills.bill_final, name="bill-final"),
    path("budgets", budgets.budget_list, name="budgets"),
    path("budgets/new", budgets.budget_add, name="budget-add"),
    path("budgets/<int:number>", budgets.budget, name="budget"),
    path("budgets/<int:number>/change", budgets.budget_change, name="budget-change"),
    path("budgets/<int:number>/end", budgets.budget_end, name="budget-end"),
    path("anomalies", anomalies.anomaly_list, name="anomalies"),
    path("clusters/retire", clusters.cluster_retire, name="cluster-retire"),
    path("attribution", attribution.attribution, name="attribution"),
    path("attribution/new", attribution.binding_add, name="binding-add"),
    path(
        "attribution/<int:binding_id>/end", attribution.binding_end, name="binding-end"
    ),
    path("audit", audit.audit, name="audit"),
    path(
        "data-health/kube-state-job",
        kube_state_jobs.kube_state_job,
        name="kube-state-job",
    ),
    path("people", people.people, name="people"),
    path("people/new", people.person_add, name="person-add"),
    path("people/teams", team_directory.team_directory, name="team-directory"),
    path("people/teams/new", team_directory.team_add, name="team-add"),
    path("people/teams/<slug:slug>", team_directory.team_change, name="team-change"),
    path("people/<int:number>", people.person, name="person"),
    path("people/<int:number>/role", people.person_role, name="person-role"),
    path("people/<int:number>/team", people.person_team, name="person-team"),
    path("people/<int:number>/active", people.person_active, name="person-active"),
    path("people/<int:number>/link", people.person_link, name="person-link"),
    path(
        "people/<int:number>/sign-out", people.person_sign_out, name="person-sign-out"
    ),
    path("people/<int:number>/token", people.person_token, name="person-token"),
    path("account", account.account, name="account"),
    path("account/preferences", account.preferences, name="preferences"),
    path("account/password", account.password_change, name="password-change"),
    path("account/notifications", mailbox.notifications, name="notifications"),
    path(
        "account/notifications/choices",
        mailbox.notification_choices,
        name="notification-choices",
    ),
    path(
        "account/notifications/<int:number>", mailbox.notification, name="notification"
    ),
    path(
        "account/notifications/<int:number>/mail",
        mailbox.notification_mail,
        name="notification-mail",
    ),
    path(
        "account/notifications/<int:number>/send",
        mailbox.notification_send,
        name="notification-send",
    ),
    path("account/tokens", account.token_create, name="token-create"),
    path("account/tokens/revoke", account.token_revoke, name="token-revoke"),
]
