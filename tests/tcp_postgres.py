"""A Postgres that is reached over the network, as in a company; the embedded one is not."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

from portal.embedded import launch
from portal.embedded.paths import DATABASE, POSTGRES_PORT, SUPERUSER, places_of
from portal.embedded.postgres import Postgres


@dataclass(slots=True)
class Reachable(Postgres):
    """An embedded server that also listens on an address; whoever reaches it is trusted."""

    address: str = ""
    mask: int = 32

    def _create(self) -> None:
        Postgres._create(self)  # a class with slots is made twice: no `super()`
        path = self.places.postgres / "pg_hba.conf"
        network = ip_network(f"{self.address}/{self.mask}", strict=False)
        path.write_text(f"host all all {network} trust\n{path.read_text()}")

    def _command(self, sockets: int) -> list[str]:
        return [
            *Postgres._command(self, sockets),
            "-c",
            f"listen_addresses={self.address}",
        ]


@contextmanager
def postgres_at(address: str, mask: int, folder: Path) -> Iterator[str]:
    """The address of its database; nothing is synced to disk.

    Args:
        address: of this machine.
        mask: bits of the network from which it is reached.
        folder: for its data and its log.
    """
    places = places_of(folder)
    launch.private_directory(places.log("postgres").parent)
    server = Reachable(places, is_temporary=True, address=address, mask=mask)
    try:
        server.start()
        yield f"postgres://{SUPERUSER}@{address}:{POSTGRES_PORT}/{DATABASE}"
    finally:
        server.stop()
