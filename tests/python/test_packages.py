"""What is given out, built and used as a stranger would: the wheel, the source distribution and the one for PGXN."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pgxnclient
import pytest
from psycopg.conninfo import conninfo_to_dict
from test_install import ROOT, extension_schema, offer_no_extension, query, run

from harel.embedded import EmbeddedServer, programs
from harel.engine.store._install import PREVIOUS, VERSION

RELEASE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
EXTENSION = {
    path.name: path.read_bytes() for path in (ROOT / "extension").glob("harel*") if path.suffix in (".sql", ".control")
}
LIBRARIES = ["psycopg[binary]", "psycopg-pool", "pydantic"]
BIN = Path(sys.executable).parent


class Built(NamedTuple):
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """What `make wheel` makes: the wheel comes out of the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    # The environment is not remade under the tests that run in it.
    run("make", "--old-file=.venv/made", "wheel", f"DIST={folder}", cwd=ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Built(wheel, sdist)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def members(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}


# The wheel and the source distribution


def test_the_wheel_has_the_package_the_extension_and_the_licence_and_nothing_else(built: Built) -> None:
    files = contents(built.wheel)
    information = f"harel-{RELEASE}.dist-info"
    sources = {
        str(path.relative_to(ROOT / "python"))
        for path in (ROOT / "python" / "harel").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"harel/py.typed", "harel/engine/store/install.sql", "harel/engine/store/upgrade.sql"} <= sources
    assert {name for name in files if not name.startswith(information)} == sources | {
        f"harel/extension/{name}" for name in EXTENSION
    }
    assert {name: files[f"harel/extension/{name}"] for name in EXTENSION} == EXTENSION
    assert files[f"{information}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()


def test_the_source_distribution_has_what_the_wheel_is_made_of_but_no_tests_and_no_caches(built: Built) -> None:
    files = members(built.sdist)
    assert {"LICENSE", "README.md", "pyproject.toml", "extension/harel.control", "python/harel/py.typed"} <= files
    assert {name.split("/")[0] for name in files} == {
        "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "extension", "pyproject.toml", "python", ".gitignore",
    }  # fmt: skip
    assert [name for name in files if "__pycache__" in name or name.endswith((".pyc", ".egg-info"))] == []


def test_the_source_distribution_makes_the_wheel_that_the_checkout_makes(built: Built, tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT)
    (direct,) = tmp_path.glob("*.whl")
    assert contents(direct) == contents(built.wheel)


def test_both_are_fit_for_an_index(built: Built) -> None:
    run(BIN / "twine", "check", "--strict", *built)


def test_the_wheel_needs_three_libraries_and_their_own(built: Built) -> None:
    metadata = HeaderParser().parsestr(contents(built.wheel)[f"harel-{RELEASE}.dist-info/METADATA"].decode())
    needed = [need for need in metadata.get_all("Requires-Dist") or () if "extra ==" not in need]
    assert sorted(re.split("[<>=!~; ]", need)[0] for need in needed) == sorted(LIBRARIES)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with nothing in it, not even pip."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    return folder / "bin" / "python"


def pip(python: Path, *arguments: Any) -> str:
    return run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", python, *arguments)


def brought(python: Path, *what: Any) -> set[str]:
    """The names of what would be installed."""
    report = json.loads(pip(python, "install", "--dry-run", "--ignore-installed", "--report=-", *what))
    return {item["metadata"]["name"] for item in report["install"]}


def test_a_plain_install_is_enough_for_a_store_and_says_what_the_command_line_lacks(
    dsn: str, built: Built, empty: Path, tmp_path: Path
) -> None:
    assert brought(empty, built.wheel) == {"harel", *brought(empty, *LIBRARIES)}
    pip(empty, "install", built.wheel)
    program = """
import sys
import harel
store = harel.PostgresStore.from_dsn(sys.argv[1], schema="own", create_schema=True)
exe = harel.Execution(id="one", definition_id="orders", context={"paid": 12.5})
store.save(exe)
assert store.load("one") == exe
store.close()
import harel.worker
print(harel.__file__)
"""
    used = run(empty, "-I", "-W", "error", "-c", program, dsn, cwd=tmp_path)
    assert Path(used.strip()).is_relative_to(empty.parents[1])
    assert query(dsn, "SELECT id, version FROM own.executions") == [("one", 1)]
    for command in (
        [empty.parent / "harel"],
        [empty, "-I", "-m", "harel"],
        [empty.parent / "harel", "worker", "--help"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "harel: the command line is an extra: pip install 'harel[cli]'\n"


def test_an_unpacked_wheel_sets_up_a_database_by_script(dsn: str, built: Built, tmp_path: Path) -> None:
    offer_no_extension(dsn)
    with zipfile.ZipFile(built.wheel) as archive:
        archive.extractall(tmp_path)
    program = """
import sys
import harel
store = harel.PostgresStore.from_dsn(sys.argv[1], schema="own")
exe = harel.Execution(id="one", definition_id="orders")
store.commit(exe, [(None, harel.Event(kind="Told"))], trace={"n": 0})
print(harel.__file__)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    used = run(sys.executable, "-c", program, dsn, env=environment, cwd=tmp_path)
    assert used.strip() == str(tmp_path / "harel" / "__init__.py")
    assert extension_schema(dsn) != "own"
    assert query(dsn, "SELECT id, version FROM own.executions") == [("one", 1)]


# Versions


def test_everything_that_names_the_version_names_the_same() -> None:
    meta = json.loads((ROOT / "META.json").read_text())
    makefile = dict(re.findall(r"^(\w+) := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert f"{VERSION}.0" == RELEASE == meta["version"] == meta["provides"]["harel"]["version"]
    assert (makefile["VERSION"], makefile["PREVIOUS"]) == (VERSION, PREVIOUS)
    assert f"default_version = '{VERSION}'\n" in (ROOT / "extension/harel.control").read_text()
    assert f"RETURN '{VERSION}'" in (ROOT / "extension/sql/89_version.sql").read_text()
    assert meta["provides"]["harel"]["file"] == f"extension/harel--{VERSION}.sql"
    assert set(EXTENSION) >= {f"harel--{VERSION}.sql", f"harel--{PREVIOUS}--{VERSION}.sql", "harel.control"}


@pytest.fixture
def pg_config(monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of the embedded server, whatever other programs are named: it comes with PGXS."""
    monkeypatch.delenv("HAREL_PG_BIN", raising=False)
    return programs() / "pg_config"


# PGXN


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make pgxn` makes."""
    folder = tmp_path_factory.mktemp("pgxn")
    run("make", "pgxn", f"DIST={folder}", cwd=ROOT)
    return folder / f"harel-{RELEASE}.zip"


SCHEMA = Path(__file__).with_name("pgxn_meta_schema.json")


def check_metadata(path: Path) -> int:
    return subprocess.run([BIN / "check-jsonschema", "--schemafile", SCHEMA, path], capture_output=True).returncode


def test_the_metadata_follows_the_specification() -> None:
    assert check_metadata(ROOT / "META.json") == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [("license", "apache"), ("version", "1.1"), ("provides", {}), ("meta-spec", {"version": "2.0.0"}), ("own", 1)],
)
def test_metadata_against_the_specification_are_found(tmp_path: Path, key: str, value: object) -> None:
    wrong = tmp_path / "META.json"
    wrong.write_text(json.dumps({**json.loads((ROOT / "META.json").read_text()), key: value}))
    assert check_metadata(wrong) == 1


def test_the_validator_of_pgxn_takes_the_metadata() -> None:
    validator = shutil.which("validate_pgxn_meta")
    if validator is None:
        pytest.skip("there is no validate_pgxn_meta: it is the CPAN distribution PGXN-Meta-Validator")
    assert run(validator, "META.json", cwd=ROOT) == "META.json is OK\n"


def test_what_the_metadata_names_is_in_the_distribution(distribution: Path) -> None:
    files = contents(distribution)
    top = f"harel-{RELEASE}/"
    assert all(name.startswith(top) for name in files)
    meta = json.loads(files[f"{top}META.json"])
    assert {f"{top}{meta['provides']['harel'][kind]}" for kind in ("file", "docfile")} <= set(files)


def test_the_client_of_pgxn_installs_the_distribution_and_takes_it_away(
    distribution: Path, pg_config: Path, tmp_path: Path
) -> None:
    def pgxn(command: str) -> None:
        # The command itself begins these by a path of the environment in which pip has built its wheel.
        script = Path(pgxnclient.__file__).parent / "libexec" / f"pgxn-{command}"
        settings = {**os.environ, "DESTDIR": str(tmp_path)}
        run(sys.executable, script, "--pg_config", pg_config, distribution, env=settings)

    folder = Path(f"{tmp_path}{run(pg_config, '--sharedir').strip()}/extension")
    pgxn("install")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == EXTENSION
    pgxn("uninstall")
    assert list(folder.iterdir()) == []


@pytest.fixture
def server_settings(dsn: str) -> Iterator[dict[str, str]]:
    """The environment by which libpq comes to the test server."""
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
    return {**os.environ, **{names[key]: str(value) for key, value in conninfo_to_dict(dsn).items() if key in names}}


def installcheck(
    pg_config: Path, environment: dict[str, str], tmp_path: Path, *arguments: str
) -> "subprocess.CompletedProcess[str]":
    # In a copy: it leaves its files in the folder.
    copy = tmp_path / f"copy-{uuid4().hex}"
    shutil.copytree(ROOT / "extension", copy / "extension")
    shutil.copy(ROOT / "Makefile", copy)
    command = ["make", "installcheck", f"PG_CONFIG={pg_config}", *arguments]
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)


def test_installcheck_leaves_a_database_that_is_named_as_it_was(
    dsn: str, pg_config: Path, server_settings: dict[str, str], tmp_path: Path
) -> None:
    name = server_settings["PGDATABASE"]
    query(dsn, "CREATE TABLE public.mine (id integer)")
    done = installcheck(pg_config, server_settings, tmp_path, f"CONTRIB_TESTDB={name}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert query(dsn, "SELECT to_regclass('public.mine') IS NOT NULL") == [(True,)]
    assert extension_schema(dsn) is None
    query(dsn, "CREATE EXTENSION harel")
    again = installcheck(pg_config, server_settings, tmp_path, f"CONTRIB_TESTDB={name}")
    assert again.returncode != 0
    assert '+ERROR:  extension "harel" already exists' in again.stdout
    assert query(dsn, "SELECT to_regclass('public.mine') IS NOT NULL") == [(True,)]


# Installed below another root


def make(target: str, root: Path, pg_config: Path) -> None:
    run("make", target, f"DESTDIR={root}", f"PG_CONFIG={pg_config}", cwd=ROOT)


def test_make_install_puts_the_files_below_another_root_and_a_server_loads_from_there(
    pg_config: Path, tmp_path: Path
) -> None:
    make("install", tmp_path, pg_config)
    share = Path(f"{tmp_path}{run(pg_config, '--sharedir').strip()}")
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert {str(path.relative_to(share)): path.read_bytes() for path in files} == {
        f"extension/{name}": text for name, text in EXTENSION.items()
    }
    assert {path.stat().st_mode & 0o777 for path in files} == {0o644}
    # Where it takes the extension from is what is under test: its comment tells.
    control = (share / "extension/harel.control").read_text()
    with EmbeddedServer(settings={"fsync": "off"}) as server:
        offered = server.folder / "installed"
        shutil.copytree(share, offered)
        (offered / "extension/harel.control").write_text(control.replace("comment = '", "comment = 'this one: "))
        query(server.dsn, f"ALTER SYSTEM SET extension_control_path = '{offered}:$system'")
        query(server.dsn, "SELECT pg_reload_conf()")
        query(server.dsn, "CREATE EXTENSION harel")
        assert query(
            server.dsn, "SELECT harel_version(), comment FROM pg_available_extensions WHERE name = 'harel'"
        ) == [(VERSION, control.split("'")[1].join(["this one: ", ""]))]
    make("uninstall", tmp_path, pg_config)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_pg_config_that_leads_nowhere_is_said_to() -> None:
    done = subprocess.run(["make", "install", "PG_CONFIG=/no/pg_config"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert "/no/pg_config leads to no PGXS" in done.stderr


def test_a_root_that_is_no_absolute_path_is_one_below_the_checkout(pg_config: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "extension", tmp_path / "extension")
    shutil.copy(ROOT / "Makefile", tmp_path)
    run("make", "install", "DESTDIR=root", f"PG_CONFIG={pg_config}", cwd=tmp_path)
    assert Path(f"{tmp_path}/root{run(pg_config, '--sharedir').strip()}/extension/harel.control").exists()


@pytest.mark.page("docs/how-to/install.md", "sh")
def test_the_commands_of_the_documentation_make_a_debian_package(pg_config: Path, tmp_path: Path) -> None:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("there is no dpkg-deb: this is no Debian")
    (commands,) = re.findall(
        r"```sh\n(make install DESTDIR=.*?)```", (ROOT / "docs/how-to/install.md").read_text(), re.DOTALL
    )
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "extension", copy / "extension")
    shutil.copy(ROOT / "Makefile", copy)
    named = re.sub(r"/usr/lib/postgresql/\d+/bin", str(pg_config.parent), commands)
    run("bash", "-euxc", named, cwd=copy)
    (package,) = copy.rglob("*.deb")
    assert run("dpkg-deb", "--field", package, "Package", "Version") == (
        f"Package: postgresql-17-harel\nVersion: {RELEASE}\n"
    )
    listing = [line.split() for line in run("dpkg-deb", "--contents", package).splitlines()]
    assert {Path(line[-1]).name: line[:2] for line in listing if not line[-1].endswith("/")} == {
        name: ["-rw-r--r--", "root/root"] for name in EXTENSION
    }
