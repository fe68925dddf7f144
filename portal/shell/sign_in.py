"""Sign-in, sign-out, and the page behind a link to choose a password."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm, UsernameField
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView, PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.decorators import method_decorator

from accounting.access.models.account import SignInOutcome
from accounting.access.rights import SIGNED_IN
from accounting.access.scope import scope_of
from accounting.kit.audit import act
from accounting.kit.pages.permissions import posted
from accounting.organization.actions.sign_in_attempts import (
    Attempt,
    TooManyAttemptsError,
    begin_attempt,
    end_attempt,
    record,
)
from accounting.organization.actions.sign_outs import password_links
from accounting.organization.actions.tokens import revoke_all
from accounting.organization.forms import NewPasswordForm
from accounting.organization.reads.people import has_accounts
from accounting.organization.reads.tokens import token_rows
from portal.http.client_address import site_of
from portal.shell.device_cookie import devices_of, remember_device

METHODS = ["get", "head", "post"]


@method_decorator(login_not_required, name="dispatch")
class SignInView(LoginView):
    """Django's sign-in with limits that need no password hash."""

    http_method_names = METHODS
    redirect_authenticated_user = True
    attempt: Attempt

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Whether there are any accounts."""
        return super().get_context_data(has_accounts=has_accounts(), **kwargs)

    def get_default_redirect_url(self) -> str:
        """Where a person starts: finance at the months, others at the overview."""
        scope = scope_of(self.request.user)
        if scope.is_finance and not scope.is_admin:
            return reverse("months")
        return super().get_default_redirect_url()

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Count the attempt, then check the password."""
        name = UsernameField().to_python(request.POST.get("username", "")) or ""
        if not name or not request.POST.get("password"):
            # not counted: the form shows the errors
            return super().post(request, *args, **kwargs)
        address = request.META.get("REMOTE_ADDR") or None
        try:
            self.attempt = begin_attempt(
                name,
                address=address,
                site=site_of(address or ""),
                devices=devices_of(request),
            )
        except TooManyAttemptsError as error:
            return self._refused(error)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in, and store this browser."""
        end_attempt(self.attempt, has_succeeded=True)
        answer = super().form_valid(form)
        remember_device(self.request, answer, form.get_user().pk)
        return answer

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Record a wrong password."""
        if hasattr(self, "attempt"):
            end_attempt(self.attempt, has_succeeded=False)
        return super().form_invalid(form)

    def _refused(self, error: TooManyAttemptsError) -> HttpResponse:
        form = AuthenticationForm(self.request)  # unbound: it must not be checked
        form.initial["username"] = self.request.POST.get("username", "")[:150]
        context = self.get_context_data(form=form, wait_minutes=-(-error.wait_s // 60))
        answer = self.render_to_response(context, status=429)
        answer.headers["Retry-After"] = str(error.wait_s)
        return answer


@method_decorator(login_not_required, name="dispatch")
class ChoosePassword(PasswordResetConfirmView):
    """The page of a link from `manage.py person`: choose a password, then signed in."""

    http_method_names = METHODS
    form_class = NewPasswordForm
    token_generator = password_links
    template_name = "registration/choose_password.html"
    success_url = "/"
    post_reset_login = True

    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """An unsupported method is rejected, also if the link has expired."""
        if (request.method or "").lower() not in METHODS:
            return self.http_method_not_allowed(request, *args, **kwargs)
        return super().dispatch(request, *args, **kwargs)

    def get_user(self, uidb64: str) -> User | None:
        """The account; None if it is deactivated."""
        user = super().get_user(uidb64)
        return user if user is not None and user.is_active else None

    def form_valid(self, form: NewPasswordForm) -> HttpResponse:
        """Store the password, revoke tokens, sign in, and store this browser."""
        account = form.user.get_username()
        with act(account, "own password, chosen behind a link"):
            answer: HttpResponse = super().form_valid(form)
            revoke_all(form.user)
        record(
            account,
            SignInOutcome.SIGNED_IN,
            self.request.META.get("REMOTE_ADDR") or None,
        )
        remember_device(self.request, answer, form.user.pk)
        return answer

    def render_to_response(
        self, context: dict[str, Any], **response_kwargs: Any
    ) -> HttpResponse:
        """An expired link is 404; a valid one says which tokens it revokes."""
        if self.validlink:
            context["tokens"] = token_rows(context["form"].user.pk)
        else:
            response_kwargs.setdefault("status", 404)
        return super().render_to_response(context, **response_kwargs)


@posted(SIGNED_IN, belongs_to="overview")
def sign_out(request: HttpRequest) -> HttpResponseBase:
    """End the session; the sign-in page follows."""
    return LogoutView.as_view()(request)
