"""btree_gist, for the constraints that forbid overlapping prices and bindings."""

from django.contrib.postgres.operations import BtreeGistExtension
from django.db import migrations


class Migration(migrations.Migration):
    dependencies: list[tuple[str, str]] = []
    operations = [BtreeGistExtension()]
