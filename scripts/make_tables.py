"""Make fixtures/rocksdb_tables.zip: tables that RocksDB wrote, and what it says they hold.

    python scripts/make_tables.py [--only REGEX] [--out FILE]

Needs a Java and PySpark, in whose jars lie RocksDB with its native library and a Scala compiler.
What is written is told in scripts/fixtures/tables/RocksTables.scala.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pyspark

from inspector.engines.session import provide_java

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "scripts" / "fixtures" / "tables" / "RocksTables.scala"
FIXTURE = ROOT / "fixtures" / "rocksdb_tables.zip"
JARS = Path(pyspark.__file__).parent / "jars"
_WHEN = (2024, 1, 1, 0, 0, 0)  # of every member: the same input gives the same names and order


def write_tables(only: str, folder: Path) -> None:
    """Compile the program and run it; one folder for each case."""
    classes = folder.parent / "classes"
    classes.mkdir()
    provide_java()
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    scalac = [java, "-Xss8m", "-cp", f"{JARS}/*", "scala.tools.nsc.Main", "-nowarn", "-usejavacp"]
    subprocess.run([*scalac, "-d", str(classes), str(PROGRAM)], check=True)
    program = [java, "-cp", f"{classes}:{JARS}/*", "fixtures.tables.RocksTables"]
    subprocess.run([*program, str(folder), only], check=True)


def pack(folder: Path, target: Path) -> None:
    """Put all files of all cases into one archive."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _WHEN)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())


def main() -> None:
    """Run the program as the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--out", type=Path, default=FIXTURE)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        write_tables(options.only, Path(work) / "tables")
        pack(Path(work) / "tables", options.out)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
