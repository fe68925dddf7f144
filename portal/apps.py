"""The shell: configuration, sign-in, and the pages that join both apps."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    name = "portal"
