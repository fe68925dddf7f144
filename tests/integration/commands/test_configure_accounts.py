"""`billing_account` of clusters in the setup file (money.md M42)."""

from accounting.metering.models.cluster import Cluster
from tests.integration.commands.conftest import Configure

FILE = """\
clusters:
  - {name: north, billing_account: "123456789012"}
  - {name: south}
"""


def accounts() -> dict[str, str]:
    return dict(Cluster.objects.values_list("name", "billing_account"))


def test_an_account_is_set_kept_and_removed(configure: Configure) -> None:
    assert "cluster north" in configure(FILE).out
    assert accounts() == {"north": "123456789012", "south": ""}
    configure("clusters: [{name: north}]")
    assert accounts()["north"] == "123456789012"
    ended = configure("clusters: [{name: south, billing_account: '123456789012'}]")
    assert ended.code == 2
    assert "billing_account 123456789012 belongs to north" in ended.err
    configure("clusters: [{name: north, billing_account: null}]")
    assert accounts() == {"north": "", "south": ""}
