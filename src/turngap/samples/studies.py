"""The studies that come with turngap: the files of ``experiments/``, found by name wherever turngap is installed.

In a wheel they lie inside the package; in a checkout, whose package is used as it stands, beside its sources. What such
a file says is `turngap.study.plan`'s business.
"""

from __future__ import annotations

from pathlib import Path

from turngap.errors import UsageError


def folder() -> Path:
    """Where they lie, with the domains and phrases that they name."""
    package = Path(__file__).resolve().parents[1]
    packed = package / "experiments"
    return packed if packed.is_dir() else package.parents[1] / "experiments"


def names() -> tuple[str, ...]:
    """What there is, in alphabetical order; ``NAME.phrases.toml`` is no study."""
    return tuple(sorted(path.stem for path in folder().glob("*.toml") if "." not in path.stem))


def find(wanted: str) -> Path:
    """The file of a study, from a path or a name; a file that exists wins.

    Raises:
        UsageError: neither; the message lists the names.
    """
    given = Path(wanted)
    if given.exists() and not given.is_dir():
        return given
    if wanted not in names():
        known = ", ".join(names()) or "none"
        raise UsageError(f"study {wanted!r}: no such file, and none of those that come with turngap: {known}")
    found = folder() / f"{wanted}.toml"
    # In a checkout, what a person would have typed: the stages of a study are named by the paths of what went in.
    return found.relative_to(Path.cwd()) if folder().parent == Path.cwd() else found
