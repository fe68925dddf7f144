"""The accounting app: who used which GPU, for how long, at what price."""

from django.apps import AppConfig


class AccountingConfig(AppConfig):
    name = "accounting"
