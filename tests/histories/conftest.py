"""The seed of a random test: HAREL_TEST_SEED repeats it, and a failure shows it."""

import os
import random

import pytest


@pytest.fixture
def seed() -> int:
    seed = int(os.environ.get("HAREL_TEST_SEED") or random.randrange(2**32))
    print(f"HAREL_TEST_SEED={seed}")
    return seed
