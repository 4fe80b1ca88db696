"""Write all fixtures as folders: ``python scripts/unpack_fixtures.py FOLDER``.

Most fixtures are stored in one archive for each Spark release. The last line of the output is the
folder that has ``<Spark release>/<case>/checkpoint``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fixtures.archives import unpack


def main() -> None:
    """Unpack the fixtures below the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a folder for them, which may exist")
    print(unpack(parser.parse_args().folder))


if __name__ == "__main__":
    main()
