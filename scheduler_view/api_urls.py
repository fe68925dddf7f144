"""Addresses of the API of quotas, tiers and change sets."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path

from accounting.kit.api.declared import views_of
from accounting.kit.api.index import name_of
from scheduler_view.changes.api import change_verbs, changes
from scheduler_view.inbox.api import InboxView
from scheduler_view.resources import RESOURCES
from scheduler_view.savings import api as waste
from scheduler_view.what_if.api import what_ifs

# The API has its own rejection (401); the redirect of pages to the sign-in is not for programs.
urlpatterns = [
    path(address, login_not_required(view), name=f"api-{name}")
    for name, address, view in (
        ("inbox", "inbox", InboxView.as_view()),
        ("waste", "waste", waste.WasteView.as_view()),
        ("waste-bridge", "waste-bridge", waste.WasteBridgeView.as_view()),
        (
            "recommendations",
            "recommendations",
            waste.RecommendationsView.as_view(),
        ),
        ("what-ifs", "what-ifs", what_ifs.WhatIfsView.as_view()),
        ("what-if", "what-ifs/<int:number>", what_ifs.WhatIfView.as_view()),
        (
            "what-if-cancel",
            "what-ifs/<int:number>/cancel",
            what_ifs.WhatIfCancelView.as_view(),
        ),
        ("change-sets", "change-sets", changes.ChangesView.as_view()),
        ("change-set", "change-sets/<int:number>", changes.ChangeView.as_view()),
        ("plan", "change-sets/<int:number>/plan", change_verbs.PlanView.as_view()),
        (
            "leave-out",
            "change-sets/<int:number>/leave-out",
            change_verbs.LeaveOutView.as_view(),
        ),
        (
            "approve",
            "change-sets/<int:number>/approve",
            change_verbs.ApproveView.as_view(),
        ),
        ("apply", "change-sets/<int:number>/apply", change_verbs.ApplyView.as_view()),
        ("undo", "change-sets/<int:number>/undo", change_verbs.UndoView.as_view()),
        (
            "discard",
            "change-sets/<int:number>/discard",
            change_verbs.DiscardView.as_view(),
        ),
        (
            "decline",
            "change-sets/<int:number>/decline",
            change_verbs.DeclineView.as_view(),
        ),
    )
]
urlpatterns += [
    path(address, login_not_required(view.as_view()), name=name_of(address))
    for resource in RESOURCES
    for address, view in views_of(resource)
]
