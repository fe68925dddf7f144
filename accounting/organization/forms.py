"""Forms of the account page and of sign-in. They only validate and convert input."""

from django import forms
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm

from accounting.core.billing_calendar import time_zones
from accounting.kit.forms import AccessibleForm
from accounting.organization.actions.tokens import SCOPES

THEMES = (("system", "Same as system"), ("light", "Light"), ("dark", "Dark"))


DENSITIES = (("comfortable", "Comfortable"), ("compact", "Compact"))


LIFETIMES = ((30, "30 days"), (90, "90 days"), (180, "180 days"), (365, "One year"))


CHOOSING = (
    "At least 8 characters. Not a common password, not only digits, "
    "and not similar to your name."
)


class PreferencesForm(AccessibleForm):
    """One or more preferences of a person; missing fields do not change."""

    theme = forms.ChoiceField(choices=THEMES, required=False)
    density = forms.ChoiceField(choices=DENSITIES, required=False)
    timezone = forms.CharField(
        required=False,
        label="Time zone of labels",
        help_text="An IANA name such as Europe/Berlin. If empty, the billing time zone is used.",
    )

    def clean_timezone(self) -> str:
        """An existing time zone, or empty."""
        name: str = self.cleaned_data["timezone"]
        if name and name not in time_zones():
            raise forms.ValidationError(f"{name} is not a valid time zone.")
        return name


class NewPasswordForm(AccessibleForm, SetPasswordForm):  # type: ignore[type-arg]  # generic in the stubs only
    """A password for an account without one, or whose password is lost."""

    new_password1, new_password2 = SetPasswordForm.create_password_fields(
        label1="New password", label2="New password again"
    )
    new_password1.help_text = CHOOSING
    new_password2.help_text = ""


class PasswordForm(NewPasswordForm, PasswordChangeForm):
    """A new password for the current person; requires the current password."""

    old_password = forms.CharField(
        label="Current password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    revokes_tokens = forms.BooleanField(
        required=False,
        label="Also revoke my API tokens",
        help_text="If another person may know your password, they may have created one.",
    )


class TokenForm(AccessibleForm):
    """A new API token."""

    name = forms.CharField(
        max_length=100, help_text="What uses the token, for example: monthly sheet."
    )
    days = forms.TypedChoiceField(
        choices=LIFETIMES, coerce=int, initial=90, label="Expires after"
    )
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES],
        widget=forms.CheckboxSelectMultiple,
        initial=["read:usage"],
        label="Can",
        help_text="A token never has more permissions than you have.",
    )
