"""Every block of code in the documentation is run by a test, or says why it cannot be."""

import re

import pytest
from pages import ROOT, RUNNABLE, Block, blocks, claims, sources

ALL = [block for path in sources() for block in blocks(path)]


def _place(block: Block) -> str:
    return f"{block.page}:{block.line}"


@pytest.mark.parametrize("block", [block for block in ALL if block.language in RUNNABLE], ids=_place)
def test_a_block_that_can_run_is_run_by_a_test_or_says_why_not(block: Block) -> None:
    run = (block.page, block.language) in claims()
    assert run or block.reason, (
        f"{_place(block)}: no test runs {block.language} of this page. Mark one with "
        f'@pytest.mark.page("{block.page}", "{block.language}"), or write <!-- not run: why --> above the block'
    )


def test_each_mark_of_a_test_names_blocks_that_there_are() -> None:
    there = {(block.page, block.language) for block in ALL if not block.reason}
    assert claims() - there == set()


def test_each_reason_stands_above_a_block() -> None:
    for path in sources():
        reasons = [block for block in blocks(path) if block.reason]
        written = re.findall(r"^ *<!-- not run:", (ROOT / path).read_text(), re.MULTILINE)
        assert len(written) == len(reasons), path


def test_each_block_says_what_language_it_is_in() -> None:
    assert [_place(block) for block in ALL if not block.language] == []
