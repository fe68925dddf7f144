"""The address of a family's page, for pages and tags."""

from django.urls import NoReverseMatch, reverse


def family_url(team: str, namespace: str, family: str) -> str:
    """The page of a family of a team; "" for a name that no address can contain."""
    dots = {namespace, *family.split("/")} & {".", ".."}
    if dots or "/" in namespace or not (namespace and family):
        return ""  # browsers resolve dots; Kubernetes has no such namespace
    try:
        return reverse("team-family", args=[team, namespace, family])
    except NoReverseMatch:  # a line break
        return ""
