"""``python -m turngap``."""

from __future__ import annotations

from turngap.cli.main import run

if __name__ == "__main__":
    run()
