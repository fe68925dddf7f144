"""People who close months in tests."""

from django.contrib.auth.models import User

from accounting.models import OrganisationRole, Person


def person(name: str, role: str = OrganisationRole.FINANCE) -> User:
    """A person with a role."""
    user, _ = User.objects.get_or_create(username=name)
    Person.objects.get_or_create(user=user, defaults={"role": role})
    return user
