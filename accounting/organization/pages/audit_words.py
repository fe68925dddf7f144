"""What the audit log calls kinds of objects, and what was done to them."""

from collections.abc import Mapping

KINDS: Mapping[str, tuple[str, str]] = {  # singular, plural
    "account": ("account", "accounts"),
    "addedresource": ("GPU resource", "GPU resources"),
    "alertnote": ("note on an alert", "notes on alerts"),
    "alertthreshold": ("threshold of alerts", "thresholds of alerts"),
    "apitoken": ("API token", "API tokens"),
    "bill": ("bill of a provider", "bills of providers"),
    "billing": ("billing setting", "billing settings"),
    "billingperiod": ("billing period", "billing periods"),
    "binding": ("attribution rule", "attribution rules"),
    "budget": ("budget", "budgets"),
    "budgetversion": ("amount of a budget", "amounts of budgets"),
    "changeset": ("quota change", "quota changes"),
    "changestep": ("step of a quota change", "steps of quota changes"),
    "closeoverride": ("override of a check", "overrides of checks"),
    "closerequest": ("request to close a period", "requests to close periods"),
    "cluster": ("cluster", "clusters"),
    "pricedraft": ("prepared price list", "prepared price lists"),
    "contest": ("contest of a statement", "contests of statements"),
    "conteststep": ("step of a contest", "steps of contests"),
    "conversionrate": ("conversion", "conversions"),
    "entry": ("credit or adjustment", "credits and adjustments"),
    "exportjob": ("export", "exports"),
    "idlenote": ("note on an idle holder", "notes on idle holders"),
    "journalsettings": ("column map of journals", "column maps of journals"),
    "labelspelling": ("label setting", "label settings"),
    "membership": ("team membership", "team memberships"),
    "notification": ("message", "messages"),
    "periodrevision": ("booking of a period", "bookings of periods"),
    "person": ("role", "roles"),
    "pricelist": ("price list", "price lists"),
    "queuetarget": ("value of a queue", "values of queues"),
    "quotatarget": ("quota", "quotas"),
    "recommendationdecision": (
        "decision on a recommendation",
        "decisions on recommendations",
    ),
    "reopenrequest": ("request to reopen a period", "requests to reopen periods"),
    "savedview": ("saved view", "saved views"),
    "sharepolicy": ("rule for shared GPUs", "rules for shared GPUs"),
    "signinrecord": ("sign-in", "sign-ins"),
    "source": ("metrics source", "metrics sources"),
    "team": ("team", "teams"),
    "tier": ("priority tier", "priority tiers"),
    "unitprice": ("price", "prices"),
    "whatifrun": ("what-if", "what-ifs"),
}
ACTIONS = {
    "insert": "added",
    "update": "changed",
    "delete": "removed",
    "password": "got a new password",
    "again": "sent again",
}
OUTCOMES = {
    "signed-in": "succeeded",
    "failed": "failed",
    "link": "allowed by a password link",
}
STEPS = {  # of a contest, by `act`
    "contested": "opened",
    "answered": "answered",
    "accepted": "closed: the team accepted the answer",
    "reopened": "opened again",
    "withdrawn": "withdrawn",
}


def kind_label(kind: str, number: int = 1) -> str:
    """`attribution rule`, `attribution rules`: the name of one or several objects."""
    one, several = KINDS.get(kind, (kind, kind))
    return one if number == 1 else several
