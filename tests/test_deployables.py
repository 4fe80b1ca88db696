"""Deployables beside the package: Grafana dashboard, Docker image, systemd unit, manifest."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import subprocess
import sys
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
    assert {label for text in expressions() for label in re.findall(r"{(\w+)=", text)} == {
        "checkpoint"
    }
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
    assert all(panel["title"] and panel["datasource"]["uid"] == "${source}" for panel in panels)


def test_dockerfile_is_pinned_and_unprivileged() -> None:
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


def unit_lines() -> list[tuple[str, str, str]]:
    """Section, name and value of each line of the unit for systemd."""
    section, lines = "", []
    for line in str(docs.data("inspector-serve.service")).splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, sign, value = line.partition("=")
            assert sign
            lines.append((section, name, value))
    return lines


DIRECTIVES = {
    "Unit": {"Description", "Wants", "After"},
    "Service": {
        *("User", "ExecStart", "StateDirectory", "CacheDirectory", "UMask", "KillMode"),
        *("Restart", "RestartSec", "MemoryMax", "NoNewPrivileges", "PrivateTmp", "ProtectHome"),
        *("ProtectSystem", "Type"),
    },
    "Install": {"WantedBy"},
}
"""Directives of the manual pages systemd.unit, .service, .exec and .resource-control."""


def test_systemd_unit_directives_and_command() -> None:
    lines = unit_lines()
    assert list(dict.fromkeys(section for section, _, _ in lines)) == list(DIRECTIVES)
    for section, name, value in lines:
        assert name in DIRECTIVES[section]
        assert value
    values = {name: value for _, name, value in lines}
    program, *words = shlex.split(values["ExecStart"])
    assert program.startswith("/")
    options = serve_options(words)
    assert (options["every"], options["recursive"]) == ("15m", True)
    for name, folder in (("token_file", "%S"), ("history", "%S"), ("cache", "%C")):
        assert options[name].startswith(f"{folder}/{values['StateDirectory']}/")
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


def test_kubernetes_manifest_fits_schema() -> None:
    objects = manifest()
    assert set(objects) == set(KINDS)
    for item in objects.values():
        assert faults(item) == []


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
