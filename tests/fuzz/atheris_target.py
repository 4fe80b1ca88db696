"""One Python target under Atheris: ``python -m tests.fuzz.atheris_target NAME [OPTION]...``.

The options are libFuzzer's; :mod:`tests.fuzz.run` gives them.
"""

import sys

import atheris

with atheris.instrument_imports(include=["inspector"]):
    import inspector.decode._source
    import inspector.kernel._kernel_py  # noqa: F401 - as the line before: else imported too late
    from tests.fuzz.targets import TARGETS

if __name__ == "__main__":
    target = TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
