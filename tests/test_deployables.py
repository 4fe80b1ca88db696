"""What is deployed beside the package: a dashboard of Grafana and an image of Docker."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from inspector import api, docs
from inspector.findings.metrics import METRICS
from tests.cli.support import checkpoint_of

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = str(docs.data("Dockerfile"))


def dashboard() -> Any:
    return json.loads(str(docs.data("grafana.json")))


def expressions() -> list[str]:
    texts = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    return [*texts, *(v["query"] for v in dashboard()["templating"]["list"])]


def test_the_dashboard_asks_for_metrics_that_an_audit_writes() -> None:
    report = api.audit(str(checkpoint_of("fmgws_event_ignore")))
    written = set(
        re.findall(r"^(spark_state_\w+)", "".join(api.render(report, "prometheus")), re.M)
    )
    questions = set(re.findall(r"spark_state_\w+", " ".join(expressions())))
    assert questions <= written
    assert len(questions) >= 10
    assert {label for text in expressions() for label in re.findall(r"{(\w+)=", text)} == {
        "checkpoint"
    }
    assert len(METRICS) > 0


def test_the_panels_of_the_dashboard_stand_beside_each_other() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    assert all(panel["title"] and panel["datasource"]["uid"] == "${source}" for panel in panels)


def test_the_image_is_small_pinned_and_runs_as_nobody_special() -> None:
    lines = re.sub(r"\\\n\s*", " ", DOCKERFILE).splitlines()
    steps = [line.split(" ", 1) for line in lines if line and not line.startswith("#")]
    assert {name for name, _ in steps} <= {
        *("FROM", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT", "CMD")
    }
    bases = [text.split()[0] for name, text in steps if name == "FROM"]
    assert len(bases) == 2
    assert all(re.fullmatch(r"python:3\.\d+-slim", base) for base in bases)
    last = [name for name, _ in steps][::-1].index("FROM")
    final = steps[-last:]
    user = [name for name, _ in final].index("USER")
    assert final[user][1] not in ("root", "0")
    assert "RUN" not in [name for name, _ in final[user:]], "what is installed belongs to root"
    for name, text in steps:
        if name in ("ENTRYPOINT", "CMD"):
            assert isinstance(json.loads(text), list), "a shell would hide signals"
        if "apt-get install" in text:
            assert "--no-install-recommends" in text
            assert "rm -rf /var/lib/apt/lists/*" in text
    extras = set(re.findall(r"\[([\w,]+)\]'", DOCKERFILE))
    declared = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(f"\n{extra} = [" in declared for names in extras for extra in names.split(","))


@pytest.mark.full
def test_the_image_is_built_where_docker_is() -> None:
    docker = shutil.which("docker")
    if (
        docker is None
        or subprocess.run([docker, "info"], capture_output=True, check=False).returncode
    ):
        return  # the test before this one has read it line by line
    built = subprocess.run(
        [docker, "build", "-q", "-f", "-", "."],
        input=DOCKERFILE,
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    )
    version = subprocess.run(
        [docker, "run", "--rm", built.stdout.strip(), "--version"], capture_output=True, check=True
    )
    assert b"inspector" in version.stdout
