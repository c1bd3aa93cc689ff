"""The metrics, alerts and dashboard of docs/examples/monitoring, each tried by the program that it is for."""

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import psycopg
import pytest
import yaml
from filled import fill
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from wire import until

from cluster import execute as rows

EXAMPLE = Path(__file__).parents[2] / "docs/examples/monitoring"
DASHBOARD = json.loads((EXAMPLE / "dashboard.json").read_text())


def program(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        complain = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        complain(f"there is no {name}: apt-get install {package}")
    return found


@pytest.fixture
def promtool() -> str:
    return program("promtool", "prometheus")


@pytest.fixture
def reader(dsn: str) -> Iterator[str]:
    """The DSN of a role that is a reader of the store in the schema harel, and nothing else."""
    rows(dsn, "CREATE SCHEMA harel")
    rows(dsn, "CREATE EXTENSION harel SCHEMA harel")
    name = f"harel_{uuid4().hex}"
    rows(dsn, f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
    rows(dsn, "SELECT harel.harel_grant(%s, 'reader')", name)
    yield make_conninfo(dsn, user=name, password="secret")
    rows(dsn, f"DROP OWNED BY {name}")
    rows(dsn, f"DROP ROLE {name}")


@pytest.fixture
def exporter(reader: str, tmp_path: Path) -> Iterator[str]:
    """The address of the metrics of an exporter, as docs/how-to/monitor.md starts it."""
    command = program("prometheus-postgres-exporter", "prometheus-postgres-exporter")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "{}:{}".format(*free.getsockname())
    source = {key: value for key, value in conninfo_to_dict(reader).items() if value}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [command, f"--extend.query-path={EXAMPLE / 'queries.yaml'}", f"--web.listen-address={address}"],
            env={"DATA_SOURCE_NAME": make_conninfo(**source, sslmode="disable")},
            stdout=log,
            stderr=log,
        )
        try:

            def listens() -> bool:
                with socket.socket() as probe:
                    host, port = address.split(":")
                    return process.poll() is not None or probe.connect_ex((host, int(port))) == 0

            until(listens)
            assert process.poll() is None, (tmp_path / "log").read_text()
            yield f"http://{address}/metrics"
        finally:
            process.kill()
            process.wait()


def scraped(address: str) -> tuple[str, dict[str, float]]:
    """The lines of our metrics as they came, and the value of each by its name and its labels but the server's."""
    with urlopen(address) as answer:
        lines = [line for line in answer.read().decode().splitlines() if re.match(r"(# \w+ )?harel_", line)]
    values = {}
    for line in lines:
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            name = re.sub(r'server="[^"]*",?', "", name).replace(",}", "}").replace("{}", "")
            values[name] = float(value)
    return "\n".join([*lines, ""]), values


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def alert_expressions() -> list[str]:
    groups = yaml.safe_load((EXAMPLE / "alerts.yaml").read_text())["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


def test_the_exporter_shows_the_figures_of_the_store_to_a_reader(
    dsn: str, reader: str, exporter: str, promtool: str
) -> None:
    fill(dsn, "harel")
    stats: dict[str, Any] = rows(dsn, "SELECT row_to_json(s) FROM harel.harel_stats() s")[0][0]
    assert all(stats.values())
    commits = rows(dsn, "SELECT sum(version) FROM harel.executions")[0][0]

    def complete() -> bool:
        _, values = scraped(exporter)
        on_the_way = values.get("harel_published_total", 0) - values.get("harel_settled_total", 0)
        counted = values.get("harel_commits_total") == commits and on_the_way == stats["queued"]
        return counted and values.get("harel_buried_total", 0) > 0

    # The statistics of each session come in a moment after it has ended.
    until(complete)
    text, values = scraped(exporter)
    statuses = {f'harel_executions_by_status{{status="{name}"}}': n for name, n in stats.pop("executions").items()}
    assert len(statuses) > 3
    assert statuses.items() <= values.items()
    ages = {f"harel_{name}_seconds": stats.pop(name) for name in ("oldest_wait", "oldest_overdue")}
    assert {name: values[name] for name in ages} == pytest.approx(ages, abs=60)
    assert {f"harel_{name}": n for name, n in stats.items()}.items() <= values.items()
    assert values["harel_health_problems"] == rows(reader, "SELECT count(*) FROM harel.harel_health()")[0][0]
    # What the dashboard and the alerts speak of is there.
    used = set(re.findall(r"\bharel_\w+", " ".join([*expressions(), *alert_expressions()])))
    assert len(used) > 10
    assert used <= {name.partition("{")[0] for name in values}
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_store_that_is_empty_has_figures_too(reader: str, exporter: str) -> None:
    _, values = scraped(exporter)
    assert values["harel_oldest_wait_seconds"] == values["harel_oldest_overdue_seconds"] == values["harel_queued"] == 0


def test_the_alerts_fire_when_they_should_and_only_then(promtool: str) -> None:
    for check in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]):
        done = subprocess.run([promtool, *check], cwd=EXAMPLE, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    alerts = re.findall(r"alert: (\w+)", (EXAMPLE / "alerts.yaml").read_text())
    tried = (EXAMPLE / "alerts_test.yaml").read_text()
    for alert in alerts:
        assert re.search(rf"alertname: {alert}\n +exp_alerts:\n +- exp_labels", tried), f"{alert} is never seen to fire"
        assert f"alertname: {alert}}}" in tried, f"{alert} is never seen to be silent"


def test_the_dashboard_asks_in_promql(promtool: str, tmp_path: Path) -> None:
    rules = [
        {"record": f"expression:{n}", "expr": expression.replace("$__rate_interval", "5m")}
        for n, expression in enumerate(expressions())
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run([promtool, "check", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_grafana_knows_every_word_of_the_dashboard() -> None:
    register_default_plugins()
    assert lost(DASHBOARD, json.loads(json.dumps(Dashboard.from_json(DASHBOARD), cls=JSONEncoder))) == []


def lost(given: Any, known: Any, path: str = "") -> list[str]:
    """Where the model of Grafana has not what was given: it drops what it does not know."""
    if isinstance(given, dict):
        if not isinstance(known, dict):
            return [path]
        return [place for key in given for place in lost(given[key], known.get(key), f"{path}/{key}")]
    if isinstance(given, list):
        if not isinstance(known, list) or len(known) != len(given):
            return [path]
        return [place for n, item in enumerate(given) for place in lost(item, known[n], f"{path}/{n}")]
    return [] if given == known else [path]


def test_the_dashboard_goes_with_any_data_source() -> None:
    (variable,) = DASHBOARD["templating"]["list"]
    assert (variable["name"], variable["type"], variable["query"]) == ("datasource", "datasource", "prometheus")
    sources = re.findall(r'"uid": "([^"]*)"', json.dumps(DASHBOARD))
    assert len(sources) > len(DASHBOARD["panels"])
    assert set(sources) == {"${datasource}"}
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert all(x < 24 for x, _ in cells), panel["title"]
        taken |= cells


@pytest.mark.page("docs/how-to/monitor.md", "sql")
def test_the_page_names_every_metric_and_its_statements_let_a_monitor_in(dsn: str) -> None:
    page = (EXAMPLE.parents[1] / "how-to/monitor.md").read_text()
    named = {name for row in re.findall(r"^\| .* \|$", page, re.MULTILINE) for name in re.findall(r"`(harel_\w+)", row)}
    queries = yaml.safe_load((EXAMPLE / "queries.yaml").read_text())
    assert named - {"harel_health"} == {
        f"{prefix}_{name}"
        for prefix, query in queries.items()
        for metric in query["metrics"]
        for name, about in metric.items()
        if about["usage"] != "LABEL"
    }
    (statements,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    with psycopg.connect(dsn) as session:
        session.execute("CREATE SCHEMA harel; CREATE EXTENSION harel SCHEMA harel")
        session.execute(statements)
        session.execute("SET ROLE harel_monitor")
        for query in queries.values():
            session.execute(query["query"])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SELECT harel.harel_commit_cas('one', 'd', '{}', 0)")
        # The role is the server's and not the database's.
        session.rollback()
