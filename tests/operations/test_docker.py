"""The Docker files: no engine runs here, so their instructions are carried out in folders that stand for the images."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path
from threading import Timer

import psycopg
import pytest
import yaml
from dockerfile_parse import DockerfileParser
from psycopg.conninfo import conninfo_to_dict
from wire import until

from harel import Event, Execution, PostgresStore, PostgresTransport

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs/examples/docker"
DOCKERFILES = [ROOT / "Dockerfile.pg", EXAMPLE / "Dockerfile"]
BIN = Path(sys.executable).parent
COMPOSE = yaml.safe_load((EXAMPLE / "compose.yaml").read_text())


class Image:
    """A folder that stands for the file system of an image, and the environment in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workdir = "/"
        self.command: list[str] = []
        self.environment = {
            **os.environ, "PATH": f"{folder}/usr/local/bin:/usr/bin:/bin", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }  # fmt: skip
        folder.mkdir()

    def path(self, inside: str) -> Path:
        return self.folder / os.path.join(self.workdir, inside).lstrip("/")

    def python(self) -> None:
        """What the images of Python begin with."""
        home = self.folder / "usr/local"
        venv.create(home, symlinks=True)
        pip = home / "bin/pip"
        pip.write_text(f'#!/bin/sh\nexec {sys.executable} -m pip --python {home}/bin/python "$@"\n')
        pip.chmod(0o755)

    def words(self, command: str) -> str:
        """A command whose absolute paths are those of this folder."""
        return re.sub(
            r"(?<![\w.*/])(/(?:wheels|app|source|run|docker-entrypoint-initdb\.d)\b)", rf"{self.folder}\1", command
        )

    def start(self, command: list[str], **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self.words(word) for word in command],
            cwd=self.path("."),
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def copy(self, sources: list[Path], target: str) -> None:
        into = self.path(target)
        for source in sources:
            if source.is_dir():
                shutil.copytree(source, into, dirs_exist_ok=True)
            else:
                into.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, into)


def build(dockerfile: Path, context: Path, folder: Path) -> Image:
    """Carries out the instructions of a Dockerfile; the image of its last stage."""
    stages: dict[str, Image] = {}
    image = Image(folder / "none")
    # What is read is a copy: the parser may write.
    shutil.copy(dockerfile, folder / "Dockerfile")
    for step in DockerfileParser(str(folder / "Dockerfile")).structure:
        value = step["value"]
        match step["instruction"]:
            case "FROM":
                base, _, name = value.partition(" AS ")
                image = stages[name] = Image(folder / f"stage-{len(stages)}")
                if base.startswith("python:"):
                    image.python()
                else:
                    assert base.startswith("postgres:")
                    image.path("/docker-entrypoint-initdb.d").mkdir()
            case "WORKDIR":
                image.workdir = value
                image.path(".").mkdir(parents=True)
            case "COPY":
                *sources, target = value.split()
                if sources[0].startswith("--from="):
                    image.copy([stages[sources[0][7:]].path(source) for source in sources[1:]], target)
                    continue
                found = [(source, glob.glob(source, root_dir=context)) for source in sources]
                assert all(names for _, names in found), f"nothing to copy: {value}"
                image.copy([context / name for _, names in found for name in names], target)
            case "RUN":
                process = image.start(["sh", "-euc", value])
                output, _ = process.communicate(timeout=600)
                assert process.returncode == 0, output
            case "CMD":
                image.command = json.loads(value)
            case "USER" | "COMMENT":
                pass
            case other:
                pytest.fail(f"this test knows no {other}")
    return image


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.name)
def test_a_linter_finds_nothing(dockerfile: Path) -> None:
    done = subprocess.run([BIN / "hadolint", dockerfile], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_compose_file_keeps_to_the_specification() -> None:
    done = subprocess.run(
        [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", EXAMPLE / "compose.yaml"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_what_the_compose_file_refers_to_is_there() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        context = (EXAMPLE / service["build"]["context"]).resolve()
        assert context == ROOT
        assert (context / service["build"]["dockerfile"]).is_file()
        assert set(service["secrets"]) <= set(COMPOSE["secrets"])
        assert {volume.partition(":")[0] for volume in service.get("volumes", [])} <= set(COMPOSE["volumes"])
        for needed, how in service.get("depends_on", {}).items():
            assert how["condition"] == "service_healthy"
            assert "healthcheck" in services[needed]
    server, worker = services["db"]["environment"], services["worker"]["environment"]
    assert (worker["PGHOST"], worker["PGUSER"], worker["PGDATABASE"]) == (
        "db", server["POSTGRES_USER"], server["POSTGRES_DB"],
    )  # fmt: skip


def test_the_server_image_creates_the_store_at_the_first_start(dsn: str, tmp_path: Path) -> None:
    image = build(ROOT / "Dockerfile.pg", ROOT, tmp_path)
    folder = image.path("/usr/share/postgresql/18/extension")
    (version,) = re.findall(r"^default_version = '(.*)'$", (folder / "harel.control").read_text(), re.MULTILINE)
    assert (folder / f"harel--{version}.sql").read_bytes() == (ROOT / f"extension/harel--{version}.sql").read_bytes()
    with psycopg.connect(dsn) as session:
        session.execute(image.path("/docker-entrypoint-initdb.d/harel.sql").read_bytes())
        assert session.execute("SELECT harel_version()").fetchone() == (version,)


def test_the_worker_image_runs_the_machines_as_compose_starts_it(store_dsn: str, tmp_path: Path) -> None:
    image = build(EXAMPLE / "Dockerfile", ROOT, tmp_path)
    worker = COMPOSE["services"]["worker"]
    # The same as by itself, with the password.
    assert worker["command"][-1].endswith(" ".join(image.command))
    secret = image.path("/run/secrets/password")
    secret.parent.mkdir(parents=True)
    secret.write_text("secret\n")
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
    here = {names[key]: str(value) for key, value in conninfo_to_dict(store_dsn).items() if key in names}
    assert set(worker["environment"]) <= set(here)
    store, queue = PostgresStore.from_dsn(store_dsn), PostgresTransport.from_dsn(store_dsn)
    store.save(Execution(id="order-1", definition_id="order"))
    for kind in ("Place", "Paid", "Delivered"):
        queue.send("order-1", Event(kind=kind))
    # Compose writes a dollar sign twice.
    process = image.start([word.replace("$$", "$") for word in worker["command"]], **{**worker["environment"], **here})
    try:
        until(lambda: process.poll() is not None or store.load("order-1").active_path == "/done")
        assert "PGPASSWORD=secret" in Path(f"/proc/{process.pid}/environ").read_text().split("\0")
    finally:
        # Docker tells the first process alone, and kills all of them when the period is over.
        process.terminate()
        killer = Timer(int(worker["stop_grace_period"].rstrip("s")), os.killpg, [process.pid, signal.SIGKILL])
        killer.start()
        output, _ = process.communicate()
        killer.cancel()
    assert process.returncode == 0, output
    assert "'finished': 3" in output
    store.close()
    queue.close()
