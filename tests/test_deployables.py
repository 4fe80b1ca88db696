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
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from inspector import api, docs
from inspector.cli.serve import serve
from inspector.findings.metrics import METRICS
from inspector.serve.application import HEALTH
from tests.cli.support import checkpoint_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = str(docs.data("Dockerfile"))


def dashboard() -> Any:
    return json.loads(str(docs.data("grafana.json")))


def expressions() -> list[str]:
    texts = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    return [*texts, *(v["query"] for v in dashboard()["templating"]["list"])]


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
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    assert "" not in [panel["title"] for panel in panels]
    assert {panel["datasource"]["uid"] for panel in panels} == {"${source}"}


def test_dockerfile_is_pinned_and_unprivileged() -> None:
    text = re.sub(r"\s*\\\n\s*", " ", DOCKERFILE)
    steps = re.findall("^([A-Z]+) (.*)$", text, re.M)
    assert [name for name, _ in steps] == [
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
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
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
    assert [line for line in done.stderr.splitlines() if unit.name in line] == []


SCHEMA = ROOT / "tests" / "golden" / "kubernetes.schema.json.gz"
KINDS = {
    "Deployment": "io.k8s.api.apps.v1.Deployment",
    "Service": "io.k8s.api.core.v1.Service",
    "PersistentVolumeClaim": "io.k8s.api.core.v1.PersistentVolumeClaim",
}


def manifest() -> dict[str, Any]:
    """The objects of the manifest for Kubernetes, by kind."""
    objects = list(yaml.safe_load_all(str(docs.data("inspector-serve.yaml"))))
    return {item["kind"]: item for item in objects}


def faults(item: Any) -> list[str]:
    """Faults of an object by the recorded schema of Kubernetes, which knows no other fields."""
    schema = json.loads(gzip.decompress(SCHEMA.read_bytes()))
    schema |= {"$ref": f"#/$defs/{KINDS[item['kind']]}"}
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(item)]


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
    assert {p["httpGet"]["path"] for n, p in container.items() if n.endswith("Probe")} == {HEALTH}
    assert pod["metadata"]["labels"] == objects["Service"]["spec"]["selector"]
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    for name in ("cache", "history", "token_file"):
        assert any(options[name].startswith(f"{path}/") for path in mounts)
