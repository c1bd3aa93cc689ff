"""The benchmarks, by name in the order in which they run."""

from collections.abc import Callable

from ..harness import Bench
from . import claims, clients, commits, costs, growth, listing, nodes, queues, retention, sweeps, workers

BENCHMARKS: dict[str, Callable[[Bench], None]] = {
    "commit-cas": commits.commit_cas,
    "commit": commits.commit,
    "batch": commits.batch,
    "save": clients.save,
    "peer-store": clients.peer_store,
    "peer-snapshots": clients.peer_snapshots,
    "peer-queue": queues.peer_queue,
    "wake": queues.wake,
    "worker": workers.worker,
    "claim-groups": claims.claim_groups,
    "claim-snapshot": claims.claim_snapshot,
    "listing": listing.listing,
    "walk": listing.walk,
    "sweep": sweeps.sweep,
    "purge": retention.purge,
    "prefix": retention.prefix,
    "hot": growth.hot,
    "cost": costs.cost,
    "nodes": nodes.nodes,
}
