"""People that commands name."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from accounting.kit.commands.arguments import WrongUse


def user_named(name: str) -> AbstractBaseUser:
    """The active person with a user name.

    Raises:
        WrongUse: there is none.
    """
    found = get_user_model().objects.filter(username=name, is_active=True).first()
    if found is None:
        raise WrongUse(
            f"{name!r} is not an active person; `manage.py person` lists them"
        )
    return found


def two_people(first: str, second: str) -> tuple[AbstractBaseUser, AbstractBaseUser]:
    """The person who requests and the one who confirms.

    Raises:
        WrongUse: one does not exist, or both are the same.
    """
    if first == second:
        raise WrongUse("--by and --confirm must be two people")
    return user_named(first), user_named(second)
