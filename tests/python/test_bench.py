"""Each benchmark runs, and says what it compared; what is fast is not tested here."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.suite import BENCHMARKS

TESTS = Path(__file__).parents[1]
# Blocks of milliseconds and data in small.
SMALL = ["--rounds", "1", "--seconds", "0.01", "--scale", "0.001"]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments], cwd=TESTS, capture_output=True, text=True, timeout=600
    )


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs(name: str, tmp_path: Path) -> None:
    done = run(name, *SMALL, "--write", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    if "this server has no Citus" in done.stdout:
        pytest.skip("the server does not offer the extension citus")
    compared = [line for line in done.stdout.splitlines() if re.match(rf"{name}: .+ / .+: [\d.]+ \(", line)]
    assert compared, done.stdout
    results = (tmp_path / "RESULTS.md").read_text()
    assert "PostgreSQL" in results
    assert f"ONLY={name}" in results
    assert {path.suffix for path in (tmp_path / "plots").iterdir()} == {".png", ".svg"}


def test_an_unknown_benchmark_is_refused() -> None:
    done = run("nothing")
    assert done.returncode == 2
    assert "no benchmark nothing" in re.sub(r"[│\s]+", " ", done.stderr)
