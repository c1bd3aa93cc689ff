"""pgspot finds nothing in the scripts of the extension by which a stranger's object could stand in for one of ours."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_contract import UNPINNED

EXTENSION = Path(__file__).parents[2] / "extension"
FRESH = EXTENSION / "harel--1.1.sql"
UPGRADE = EXTENSION / "harel--1.0--1.1.sql"
CLEAN = "Errors: 0 Warnings: 0 Unknown: 0"

# An upgrade replaces functions, and adds tables, sequences and indexes where there are none yet. PostgreSQL lets the
# script of an extension replace only what is a member, and nobody but the owner of the schema could have put anything
# else there.
REPLACES = ("PS002", "PS011", "PS012", "PS014")


def without_the_unpinned(script: str) -> str:
    """Without the functions that have no search path of their own: all of their callers pin theirs (test_contract)."""
    for name in UNPINNED:
        script, cut = re.subn(
            rf"^CREATE (OR REPLACE )?FUNCTION @extschema@\.{name}\(.*?^\$\$;$",
            "",
            script,
            flags=re.MULTILINE | re.DOTALL,
        )
        assert cut == 1, name
    return script


def findings(folder: Path, script: str, *ignored: str) -> str:
    """What pgspot prints about a script."""
    file = folder / "script.sql"
    file.write_text(script)
    pgspot = Path(sys.executable).with_name("pgspot")
    options = [option for code in ignored for option in ("--ignore", code)]
    done = subprocess.run([pgspot, *options, file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize(("script", "ignored"), [(FRESH, ()), (UPGRADE, REPLACES)], ids=lambda value: str(value)[-24:])
def test_pgspot_is_content(tmp_path: Path, script: Path, ignored: tuple[str, ...]) -> None:
    assert findings(tmp_path, without_the_unpinned(script.read_text()), *ignored) == CLEAN


def test_pgspot_reads_the_script_to_its_end(tmp_path: Path) -> None:
    """It gives up at the first thing that it does not understand, and says that it has found nothing."""
    last = "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN length('a'); END $$;"
    found = findings(tmp_path, without_the_unpinned(FRESH.read_text()) + last)
    assert "PS005: Function without explicit search_path: f()" in found
