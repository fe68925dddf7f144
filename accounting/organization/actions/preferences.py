"""Appearance of pages for one person. It affects nobody else, so no reason is required."""

from django.contrib.auth.models import AbstractBaseUser

from accounting.access.models.people import Person
from accounting.kit.audit import act

FIELDS = ("theme", "density", "timezone", "muted")


def set_preferences(*, actor: AbstractBaseUser, **wanted: str | list[str]) -> Person:
    """Store some preferences of a person; the others do not change.

    Raises:
        ValueError: a value is not a valid preference.
    """
    unknown = sorted(set(wanted) - set(FIELDS))
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a valid preference")
    with act(actor, "own preferences"):
        person, _ = Person.objects.select_for_update().get_or_create(user_id=actor.pk)
        changed = [
            name for name, value in wanted.items() if getattr(person, name) != value
        ]
        for name in changed:
            setattr(person, name, wanted[name])
        if changed:
            person.save(update_fields=changed)
    return person
