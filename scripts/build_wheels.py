"""Build wheels with the compiled kernel for the usual platforms, on whatever machine this is.

    python scripts/build_wheels.py [--only REGEX] DIST

One wheel for each of Linux (glibc 2.17 and later: manylinux2014) and macOS on x86-64 and ARM, for
every Python from 3.11 on: the kernel keeps to the stable ABI. For Python 3.10, whose
ABI has no buffers, run it by that.

Zig's C compiler, a wheel itself (extra ``wheels``), has the headers and stubs of each platform, so
that one machine without Docker builds for all. The headers of Python are those of the Python that
runs this: all of these platforms have the same sizes of C's types.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import ziglang

ROOT = Path(__file__).resolve().parents[1]
ZIG = Path(ziglang.__file__).with_name("zig")
STABLE = sys.version_info >= (3, 11)
NOT_NEEDED = "fixtures", "tests", "build", "dist", "__pycache__", ".*", "*.so"
"""What no wheel has: it is large, or a run of the tests makes and removes files in it meanwhile."""


class Platform(NamedTuple):
    """A platform: its tag in a wheel's name, how Zig calls it, and what its linker needs.

    Attributes:
        begins: the first bytes of its shared libraries: format, and kind of processor.
    """

    tag: str
    target: str
    linker: str
    begins: bytes


_ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00"
_MACH = b"\xcf\xfa\xed\xfe"
# An extension module finds Python's functions in the process that loads it.
_LATER = "-Wl,-undefined,dynamic_lookup"
PLATFORMS = (
    Platform("manylinux_2_17_x86_64", "x86_64-linux-gnu.2.17", "", _ELF + b"\x3e\x00"),
    Platform("manylinux_2_17_aarch64", "aarch64-linux-gnu.2.17", "", _ELF + b"\xb7\x00"),
    Platform("macosx_11_0_x86_64", "x86_64-macos.11.0", _LATER, _MACH + b"\x07\x00\x00\x01"),
    Platform("macosx_11_0_arm64", "aarch64-macos.11.0", _LATER, _MACH + b"\x0c\x00\x00\x01"),
)


def build(platform: Platform, into: Path) -> Path:
    """Build the wheel of one platform, and look whether its kernel is of that platform."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source"), Path(folder, "made")
        # A copy for each: setuptools would take the objects of another platform for its own.
        shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*NOT_NEEDED))
        compiler = f"{ZIG} cc -target {platform.target}"
        environment = os.environ | {
            "CC": compiler,
            "LDSHARED": f"{compiler} -shared {platform.linker}",
            "CFLAGS": "-g0 -fno-sanitize=undefined -Wall -Wextra -Werror",
        }
        options = [f"--plat-name={platform.tag}", *(["--py-limited-api=cp311"] * STABLE)]
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(target)]
        command += [f"--config-settings=--build-option={option}" for option in options]
        subprocess.run([*command, str(source)], check=True, env=environment)
        (wheel,) = target.glob("*.whl")
        _check(wheel, platform)
        into.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, into))


def _check(wheel: Path, platform: Platform) -> None:
    """A build without a kernel ends well too, and such a wheel is of no use here."""
    with zipfile.ZipFile(wheel) as members:
        kernels = [name for name in members.namelist() if name.endswith(".so")]
        if len(kernels) != 1:
            sys.exit(f"{wheel.name} has {kernels or 'no kernel'}: did the compiler fail?")
        if not members.read(kernels[0]).startswith(platform.begins):
            sys.exit(f"{wheel.name}: its kernel is not one for {platform.target}")


def main() -> None:
    """Build each, and say where it lies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dist", type=Path, help="folder for the wheels")
    parser.add_argument("--only", default="", help="platforms whose tag has this in it")
    args = parser.parse_args()
    for platform in PLATFORMS:
        if re.search(args.only, platform.tag):
            print(build(platform, args.dist))


if __name__ == "__main__":
    main()
