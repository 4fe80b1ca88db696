"""``python -m inspector``."""

from inspector.cli.main import run

if __name__ == "__main__":
    run()
