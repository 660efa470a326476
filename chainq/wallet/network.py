"""Checks the network of a service, by the network number in its blocks."""

from chainq.errors import UsageError
from chainq.fetching.service import Service
from chainq.rows import fields

NETWORKS = {"mainnet": (0,), "testnet": (1, 3)}
"""What `--network` takes, and the numbers that blocks of that network carry; 3 was that of an early testnet."""


def check_network(service: Service, name: str) -> None:
    """Raise UsageError for a service on a network that is not in `NETWORKS`."""
    (latest,) = service.blocks.fetch_latest()
    number = fields.integer_of(fields.Picker(["network"])(latest.rows[0])[0])
    if number not in NETWORKS[name]:
        its = next((other for other, numbers in NETWORKS.items() if number in numbers), "another network")
        raise UsageError(f"--network {name}: the service is on {its} (network ID {number})")
