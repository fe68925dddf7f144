"""The message about a recommendation, to the owner of its work or to a lead of its team."""

from collections.abc import Sequence

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounting.access.models.people import Membership, TeamRole
from accounting.access.rights import WASTE
from accounting.core.money import minor_places
from accounting.kit.family_address import family_url
from accounting.kit.forms import AccessibleForm
from accounting.kit.outcomes import Refused
from accounting.kit.pages.permissions import FORM, page, visitor_of
from accounting.kit.tags.units import money
from accounting.notifications.rules import Delivery
from scheduler_view.clusters.rules.wording import counted
from scheduler_view.idle.pages import mail_link
from scheduler_view.idle.reads import owner_of_work
from scheduler_view.savings.actions import ask_owner, may_decide
from scheduler_view.savings.pages.recommendation_lines import FamilyLine, family_lines
from scheduler_view.savings.pages.recommendations import list_of
from scheduler_view.savings.reads.recommendation_row import RecommendationRow
from scheduler_view.savings.reads.recommendations import recommendation_rows


class AskOwnerForm(AccessibleForm):
    """To whom, and what."""

    to = forms.CharField(
        max_length=254,
        label="To",
        help_text="A person with an account, or a mail address.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    text = forms.CharField(
        min_length=10,
        max_length=2000,
        label="Message",
        widget=forms.Textarea(attrs={"rows": 9}),
        help_text="The recommendation counts as accepted then, with a note of who was asked.",
    )


@page(WASTE, FORM)
def recommendation_ask(request: HttpRequest) -> HttpResponse:
    """Ask the owner of a family's work to carry out what is recommended."""
    visitor = visitor_of(request)
    token, places = request.GET.get("about", ""), minor_places(visitor.billing.currency)
    lines = family_lines(recommendation_rows(visitor.scope, places), places)
    line = next((one for one in lines if token in one.tokens), None)
    if line is None or not _may_ask(line, request):
        raise Http404("no such recommendation about work")
    form = AskOwnerForm(
        request.POST if request.method == "POST" else None,
        initial={"to": _asked_first(line.rows), "text": message(line)},
    )
    if request.method == "POST" and form.is_valid():
        to, text = form.cleaned_data["to"], form.cleaned_data["text"]
        subject = f"{line.name}: {line.rule}"
        try:
            delivery = ask_owner(
                line.rows,
                to,
                subject,
                text,
                actor=request.user,  # type: ignore[arg-type]  # signed in
                at=visitor.now,
            )
        except Refused as error:
            form.add_error(None, str(error))
        else:
            told = _told(delivery, to, subject, text)
            messages.success(request, told)
            return redirect(list_of(request))
    context = {
        "form": form,
        "title": f"Ask about {line.name}",
        "submit": "Send",
        "back": list_of(request),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "components/form.html", context, status=status)


def _may_ask(line: FamilyLine, request: HttpRequest) -> bool:
    scope = visitor_of(request).scope
    return bool(line.one.row.workload) and all(may_decide(scope, r) for r in line.rows)


def _asked_first(rows: Sequence[RecommendationRow]) -> str:
    """The owner of the newest of the work, else a lead of its team."""
    subjects = [row.subject for row in rows]
    owner = owner_of_work(subject[3] for subject in subjects)
    if owner:
        return owner
    leads = Membership.objects.filter(team=subjects[0][2], role=TeamRole.LEAD)
    found = leads.order_by("user__username").values_list("user__username", flat=True)
    return found.filter(user__is_active=True).first() or ""


def message(line: FamilyLine) -> str:
    """What is recommended, about which work, and what it would save."""
    row, saves = line.one.row, ""
    if line.low is not None and line.high is not None and line.saving.is_steady:
        low, high = (money(one, row.currency) for one in (line.low, line.high))
        saves = f" That would save {low} to {high} a month."
    runs = f" ({counted(len(line.rows), 'run')})" if len(line.rows) > 1 else ""
    link = family_url(row.team, row.namespace, row.family)
    return (
        f"{line.name} in {row.namespace} on {row.cluster}{runs}: {line.rule}, in"
        f" {line.saving.found} of the last {counted(line.saving.measured, 'week')}.\n\n"
        f"{line.one.advice}{saves}\n"
        + (f"\nThe figures: {settings.PUBLIC_URL}{link}\n" if link else "")
    )


def _told(delivery: Delivery, to: str, subject: str, text: str) -> SafeString | str:
    told = delivery.format(to=to)
    if delivery == Delivery.MAILED:
        return told
    link = '{} <a href="{}">Open it in your mail program</a>.'
    return format_html(link, told, mail_link(subject, text, to))
