"""Limits of time, and clusters of Ray on this machine."""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

# Read when Ray is imported. The token is of this run: nobody else on this machine can reach its clusters.
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid4().hex}
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"  # Ray warns that this will be the default
SECONDS = 120  # for each test, the start of its cluster included
# a machine that is gone is noticed in 2 seconds
HEALTH = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 500, "health_check_failure_threshold": 4}


@pytest.fixture(autouse=True)
def limited_time() -> Iterator[None]:
    def stop(*args: object) -> None:
        raise TimeoutError(f"the test took more than {SECONDS} seconds")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    faulthandler.dump_traceback_later(SECONDS + 30, exit=True)  # where compiled code holds the exception back
    yield
    faulthandler.cancel_dump_traceback_later()
    signal.alarm(0)


@pytest.fixture(scope="module")
def one_node() -> Iterator[None]:
    import ray

    options: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
    ray.init("local", num_cpus=2, object_store_memory=200 << 20, **options)
    yield
    ray.shutdown()


@pytest.fixture
def three_nodes() -> Iterator[Any]:
    """A head without CPUs and two nodes with one each; with 127.0.0.1 Ray changes the address and hangs."""
    import ray
    from ray.cluster_utils import Cluster

    ray.shutdown()  # of the tests before
    store = {"object_store_memory": 100 << 20}
    head = {"num_cpus": 0, "node_ip_address": "127.0.0.2", "_system_config": HEALTH} | store
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for address in ("127.0.0.3", "127.0.0.4"):
            cluster.add_node(num_cpus=1, node_ip_address=address, **store)
        ray.init(cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        cluster.wait_for_nodes()
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
