"""What stands for a file or a model in the name of a stage: what it holds, not where it lies.

So a study may be moved, and another model under the same name is another model.
"""

from __future__ import annotations

from pathlib import Path

from turngap.errors import DataError
from turngap.models.fingerprint import fingerprint, of_folder


def content(path: str | None) -> str | None:
    """The text of a file; None without one.

    Raises:
        DataError: it cannot be read.
    """
    try:
        return None if path is None else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    except UnicodeDecodeError:
        raise DataError("not UTF-8", file=str(path)) from None


def model(spec: str, directory: Path) -> str:
    """A model: one of the study's own by its stage, one of another file or folder by what that holds, else its name.

    Args:
        spec: as it is asked for, or as a base is named.
        directory: of the study.

    Raises:
        DataError: its files cannot be read.
    """
    before, inside, behind = spec.partition(f"{directory}/")
    if inside:
        return f"{before}{behind}"
    path = Path(spec.removeprefix("hf/").removeprefix("local/").partition("?")[0]).expanduser()
    try:
        if path.is_file():
            return fingerprint([path])
        return of_folder(path) if (path / "config.json").is_file() else spec
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
