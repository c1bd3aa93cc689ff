"""The contract kit of the PyPI package `harel`, another project with the same contract, on our stores and transports.

Its import name is ours, so it lives in an environment of its own, and kit_bridge.py runs it there.
HAREL_CONTRACT_KIT names the interpreter of an environment that has it already.
"""

import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from bench.peer import EnvironmentFailed, environment

ROOT = Path(__file__).parents[2]
BRIDGE = Path(__file__).with_name("kit_bridge.py")
PACKAGE = "harel==0.9.0"

# Each check of the kit, and a method that it must find broken where it only claims success.
CHECKS = {
    "assert_listing_contract": "save",
    "assert_outbox_contract": "ack_outbox",
    "assert_purge_contract": "purge",
    "assert_transport_contract": "ack",
    "assert_async_listing_contract": "save",
    "assert_async_outbox_contract": "ack_outbox",
    "assert_async_purge_contract": "purge",
    "assert_async_transport_contract": "ack",
}


@pytest.fixture(scope="session")
def kit() -> str:
    """The interpreter of an environment with the kit, and with what our package needs."""
    if given := os.environ.get("HAREL_CONTRACT_KIT"):
        return given
    requirements = [PACKAGE, *tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]]
    try:
        return str(environment("contract-kit", requirements))
    except EnvironmentFailed as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"the contract kit cannot be installed:\n{error}")
        pytest.skip(f"the contract kit cannot be installed: {str(error).splitlines()[-1]}")


def run(kit: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    # Isolated, so that no PYTHONPATH puts our package before the kit's and nothing turns its assertions off.
    command = [kit, "-I", str(BRIDGE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("check", CHECKS)
def test_the_contract_is_met(kit: str, store_dsn: str, check: str) -> None:
    done = run(kit, check, store_dsn)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("check", "method"), CHECKS.items())
def test_a_method_that_does_nothing_is_found(kit: str, store_dsn: str, check: str, method: str) -> None:
    done = run(kit, check, store_dsn, method)
    lines = done.stderr.splitlines()
    assert done.returncode == 1, done.stderr
    assert lines[-1].startswith("AssertionError"), done.stderr
    assert any("/harel/testing/" in line for line in lines), done.stderr
