"""What a team could give back: a card of its page that loads by itself."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse

from accounting.core.money import minor_places
from accounting.kit.cards import LateCard
from accounting.kit.pages.fragments import card_answer
from accounting.kit.pages.permissions import signed_in
from accounting.teams.pages.team_cards import opened_card
from scheduler_view.savings.reads.bridge import Bridge, bridges
from scheduler_view.savings.reads.rows import waste_report
from scheduler_view.savings.rules.wording import rule_text

SHOWN = 5  # rows

GIVE_BACK = LateCard(
    route="team-give-back",
    title="What to give back",
    id="give-back",
    template="savings/_give_back.html",
    page="team",
    label="Team",
    css="s12",
    rows=7,  # 5 of two lines
    args=("slug",),
)


@signed_in
def give_back(request: HttpRequest, slug: str) -> HttpResponse:
    """The largest findings of a team, for everyone who may see the team."""
    state, team, context = opened_card(request, GIVE_BACK, slug)
    scope, places = state.visitor.scope, minor_places(state.currency)
    report = waste_report(
        scope,
        state.days,
        places,
        clusters=[state.cluster] if state.cluster else (),
        read_team=team.id,
    )
    rows = [row for row in report.rows if row.is_in_totals]
    found: Sequence[Bridge] = ()
    if report.days:
        selection = state.unfiltered(team=team.slug)
        found = bridges(selection, state.days, report.days, places)
    context |= {
        "report": report,
        "bridges": found,
        "lines": [{"row": row, "text": rule_text(row.rule)} for row in rows[:SHOWN]],
        "leads": scope.sees_all or team.id in scope.lead_of,
    }
    return card_answer(request, GIVE_BACK, context)
