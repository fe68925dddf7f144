"""The setup page: the steps until the first numbers."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.kit.pages.fragments import is_fragment
from accounting.kit.pages.permissions import admins
from accounting.setup.reads import is_complete, setup_steps


@admins
def setup(request: HttpRequest) -> HttpResponse:
    """The steps of a setup, which are checked automatically."""
    steps = setup_steps()
    context = {
        "steps": steps,
        "done": sum(step.state == "done" for step in steps),
        "is_complete": is_complete(steps),
    }
    name = "portal/_steps.html" if is_fragment(request) else "portal/setup.html"
    return render(request, name, context)
