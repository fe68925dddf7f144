"""Teams as administrators keep them: the list, a new team, another name or department."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounting.access.models.people import Membership
from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import admin_form, admins
from accounting.organization.actions.teams import save_team
from accounting.organization.pages.people_forms import TeamChangeForm, TeamForm
from accounting.organization.reads.directory import team_rows


@admins
def team_directory(request: HttpRequest) -> HttpResponse:
    """Every team with its leads, people, department and cost center."""
    people: dict[int, int] = {}
    for team in Membership.objects.values_list("team_id", flat=True):
        people[team] = people.get(team, 0) + 1
    lines = [(row, people.get(row.id, 0)) for row in team_rows(EVERYTHING)]
    context = {"page": paged(lines, request.GET.dict())}
    return render(request, "organization/team_directory.html", context)


@admin_form
def team_add(request: HttpRequest) -> HttpResponse:
    """Add a team; which usage is its own, rules say."""
    return _answered(request, TeamForm(request.POST or None), None)


@admin_form
def team_change(request: HttpRequest, slug: str) -> HttpResponse:
    """Rename a team, or change its department or cost center."""
    team = Team.objects.filter(slug=slug).first()
    if team is None:
        raise Http404("no such team")
    start = {name: getattr(team, name) for name in TeamChangeForm.base_fields}
    return _answered(request, TeamChangeForm(request.POST or None, initial=start), team)


def _answered(
    request: HttpRequest, form: TeamChangeForm, known: Team | None
) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        values = {"slug": known.slug if known else "", **form.cleaned_data}
        if known is None and Team.objects.filter(slug=values["slug"]).exists():
            form.add_error("slug", f"{values['slug']} is the short name of a team.")
        else:
            try:
                who = cast("User", request.user)
                team = save_team(**values, is_new=known is None, actor=who)
            except ValidationError as error:
                for name, texts in error.message_dict.items():
                    form.add_error(name if name in form.fields else None, texts)
            else:
                messages.success(request, f"The team {team.name} is saved.")
                return redirect("team-directory")
    status = 422 if request.method == "POST" else 200
    context = {
        "form": form,
        "known": known,
        "title": f"Change {known.name}" if known else "Add a team",
        "submit": "Save this team",
        "back": reverse("team-directory"),
    }
    return render(request, "organization/team_form.html", context, status=status)
