"""Deployables beside the package: Grafana dashboard, Docker image, systemd unit, manifest."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

from inspector import api, docs
from inspector.cli.serve import serve
from inspector.findings.metrics import METRICS
from inspector.serve.application import HEALTH
from tests.attributes import attributes
from tests.cli.support import checkpoint_of
from tests.reports import cell_values
from tests.toml_files import ROOT, read_pyproject

DOCKERFILE = str(docs.data("Dockerfile"))


def dashboard() -> Any:
    return json.loads(str(docs.data("grafana.json")))


def expressions() -> list[str]:
    targets = chain.from_iterable(cell_values(dashboard()["panels"], "targets"))
    variables = dashboard()["templating"]["list"]
    return [*cell_values(targets, "expr"), *cell_values(variables, "query")]


def test_dashboard_metrics_exist_in_audit() -> None:
    report = api.audit(str(checkpoint_of("fmgws_event_ignore")))
    written = set(
        re.findall(r"^(spark_state_\w+)", "".join(api.render(report, "prometheus")), re.M)
    )
    questions = set(re.findall(r"spark_state_\w+", " ".join(expressions())))
    assert questions <= written
    assert len(questions) >= 10
    assert set(re.findall(r"{(\w+)=", " ".join(expressions()))) == {"checkpoint"}
    assert len(METRICS) > 0


def test_dashboard_panels_do_not_overlap() -> None:
    panels = dashboard()["panels"]
    assert len(set(cell_values(panels, "id"))) == len(panels)
    grid = np.zeros((200, 24), np.int64)
    for x, y, width, height in cell_values(cell_values(panels, "gridPos"), "x", "y", "w", "h"):
        assert x + width <= 24
        grid[y : y + height, x : x + width] += 1
    assert grid.max() == 1
    assert "" not in cell_values(panels, "title")
    assert set(cell_values(cell_values(panels, "datasource"), "uid")) == {"${source}"}


def test_dockerfile_is_pinned_and_unprivileged() -> None:
    text = re.sub(r"\s*\\\n\s*", " ", DOCKERFILE)
    steps = re.findall("^([A-Z]+) (.*)$", text, re.M)
    assert re.findall("^([A-Z]+) ", text, re.M) == [
        *("FROM", "RUN", "COPY", "RUN"),
        *("FROM", "RUN", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"),
    ]
    image = r"^FROM python:3\.\d+-slim( AS build)?$"
    assert re.findall(image, text, re.M) == [" AS build", ""]
    assert steps[7:] == [
        ("USER", "inspector"),
        ("WORKDIR", "/home/inspector"),
        ("ENTRYPOINT", '["inspector"]'),
        ("CMD", '["--help"]'),
    ]
    assert re.fullmatch(
        "apt-get update && apt-get install -y --no-install-recommends [a-z0-9 -]+ "
        r"&& rm -rf /var/lib/apt/lists/\*",
        steps[1][1],
    )


def test_extras_of_dockerfile_are_declared() -> None:
    extras = set(re.findall(r"\[([\w,]+)\]'", DOCKERFILE))
    assert extras == {"s3,gcs,azure,serve"}
    declared = read_pyproject()["project"]
    assert {"s3", "gcs", "azure", "serve"} <= set(declared["optional-dependencies"])


@pytest.mark.full
def test_docker_image_builds() -> None:
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


# --- inspector serve as a service ------------------------------------------------------------


def serve_options(words: list[str]) -> dict[str, Any]:
    """The options of a command line of ``inspector serve``, as the command reads them."""
    assert words[0] == "serve"
    options: dict[str, Any] = serve.make_context("serve", words[1:]).params
    return options


def unit() -> ConfigParser:
    """Return the sections and values of the unit for systemd."""
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(str(docs.data("inspector-serve.service")))
    return parser


def test_systemd_unit_has_known_directives() -> None:
    """All are in the manual pages systemd.unit, .service, .exec and .resource-control."""
    content = unit()
    assert content.sections() == ["Unit", "Service", "Install"]
    assert list(content["Unit"]) == ["Description", "Wants", "After"]
    assert list(content["Service"]) == [
        *("User", "ExecStart", "StateDirectory", "CacheDirectory", "UMask", "KillMode", "Restart"),
        *("RestartSec", "MemoryMax", "NoNewPrivileges", "PrivateTmp", "ProtectHome"),
        "ProtectSystem",
    ]
    assert list(content["Install"]) == ["WantedBy"]


def test_systemd_unit_starts_serve() -> None:
    service = unit()["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert program.startswith("/")
    options = serve_options(words)
    assert (options["every"], options["recursive"]) == ("15m", True)
    assert service["StateDirectory"] == service["CacheDirectory"] == "spark-state-inspector"
    assert options["token_file"] == "%S/spark-state-inspector/token"
    assert options["history"] == "%S/spark-state-inspector/history"
    assert options["cache"] == "%C/spark-state-inspector/reports"
    assert options["host"] == "127.0.0.1"


def test_systemd_verifies_unit(tmp_path: Path) -> None:
    """Beside the test before, which runs everywhere."""
    program = shutil.which("systemd-analyze")
    if program is None:
        return
    text = str(docs.data("inspector-serve.service"))
    text = re.sub("ExecStart=[^ ]+", f"ExecStart={sys.executable}", text)  # one that is there
    unit = tmp_path / "inspector-serve.service"
    unit.write_text(text)
    done = subprocess.run([program, "verify", unit], capture_output=True, text=True, check=False)
    assert unit.name not in done.stderr


SCHEMA = ROOT / "tests" / "golden" / "kubernetes.schema.json.gz"
KINDS = {
    "Deployment": "io.k8s.api.apps.v1.Deployment",
    "Service": "io.k8s.api.core.v1.Service",
    "PersistentVolumeClaim": "io.k8s.api.core.v1.PersistentVolumeClaim",
}


def manifest() -> dict[str, Any]:
    """The objects of the manifest for Kubernetes, by kind."""
    objects = list(yaml.safe_load_all(str(docs.data("inspector-serve.yaml"))))
    return dict(zip(cell_values(objects, "kind"), objects, strict=True))


def faults(item: Any) -> list[str]:
    """Faults of an object by the recorded schema of Kubernetes, which knows no other fields."""
    schema = json.loads(gzip.decompress(SCHEMA.read_bytes()))
    schema |= {"$ref": f"#/$defs/{KINDS[item['kind']]}"}
    return attributes(jsonschema.Draft202012Validator(schema).iter_errors(item), "message")


def test_kubernetes_manifest_has_each_kind() -> None:
    assert set(manifest()) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_kubernetes_manifest_fits_schema(kind: str) -> None:
    assert faults(manifest()[kind]) == []


def test_kubernetes_schema_finds_misspelt_fields() -> None:
    deployment = manifest()["Deployment"]
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    container["livenessProbes"] = container.pop("livenessProbe")
    container["ports"][0]["containerPort"] = "8765"
    assert len(faults(deployment)) == 2


def test_kubernetes_manifest_parts_agree() -> None:
    objects = manifest()
    pod = objects["Deployment"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    options = serve_options(container["args"])
    assert options["allow_host"] == (objects["Service"]["metadata"]["name"],)
    assert options["host"] == "0.0.0.0"
    assert container["ports"][0]["containerPort"] == options["port"]
    assert container["livenessProbe"]["httpGet"]["path"] == HEALTH
    assert container["readinessProbe"]["httpGet"]["path"] == HEALTH
    assert pod["metadata"]["labels"] == objects["Service"]["spec"]["selector"]
    assert cell_values(container["volumeMounts"], "name", "mountPath") == [
        ("data", "/data"),
        ("scratch", "/tmp"),
        ("token", "/token"),
    ]
    assert cell_values(pod["spec"]["volumes"], "name") == ["data", "scratch", "token"]
    assert options["cache"] == "/data/cache"
    assert options["history"] == "/data/history"
    assert options["token_file"] == "/token/token"
