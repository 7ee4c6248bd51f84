"""The code that a domain is made of, by digest: so that no run mixes trials of two versions of it unnoticed.

Looked at are the files of the modules in which the domain's functions and its state stand, and the modules below the
folder of each that they import, and so on. Installed packages, Python's own modules and turngap are not, wherever they
lie: their versions belong to the environment. What a module makes up at run time, or reads from other files, is not
seen either; the database has a digest of its own.

A digest is of the text, so a comment counts as much as a line of code.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_LENGTH = 16  # hex digits of a digest
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_PYTHON = Path(ast.__file__).resolve().parent
_TURNGAP = Path(__file__).resolve().parents[1]


def sources(modules: Iterable[str]) -> dict[str, str]:
    """The files that these modules are made of, as they are on disk now.

    Args:
        modules: names of loaded modules. One without a file is passed over.

    Returns:
        Path below the folder of a module -> digest of the text, 16 hex digits; sorted by path.
    """
    found: dict[Path, str] = {}
    for name in dict.fromkeys(modules):
        file = _file(name)
        if file is not None:
            _collect(file, getattr(sys.modules[name], "__package__", None) or "", file.parent, found)
    texts: dict[str, str] = {}
    for file, where in found.items():
        # Files of one name in two folders are told apart by the folders' names.
        texts[f"{file.parent.name}/{where}" if where in texts else where] = _digest(file)
    return dict(sorted(texts.items()))


def _file(module: str) -> Path | None:
    path = getattr(sys.modules.get(module), "__file__", None)
    return Path(path).resolve() if path and Path(path).is_file() else None


def _collect(file: Path, package: str, root: Path, found: dict[Path, str]) -> None:
    if file in found:
        return
    found[file] = file.relative_to(root).as_posix()
    for name in _imported(file, package):
        near = _near(name, root)
        if near is not None:
            inner = getattr(sys.modules.get(name), "__package__", None)
            _collect(near, package if inner is None else inner, root, found)


def _near(name: str, root: Path) -> Path | None:
    """The file of a module, where it lies below `root` and is not an installed one."""
    file = _file(name)
    if file is None:
        # Not loaded yet: imported inside a function, say.
        stem = root.joinpath(*name.split("."))
        file = next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)
    if file is None or file.suffix != ".py" or not file.is_relative_to(root):
        return None
    # A domain may lie above all of these, in a home directory say; one of turngap's own lies inside.
    foreign = any(file.is_relative_to(place) and not root.is_relative_to(place) for place in (_PYTHON, _TURNGAP))
    return None if foreign or _INSTALLED & set(file.relative_to(root).parts) else file


def _imported(file: Path, package: str) -> Iterator[str]:
    """Full names of what a file imports; of ``from a import b`` both ``a`` and ``a.b``: either may be a module."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                yield from (".".join(parts[: end + 1]) for end in range(len(parts)))
        elif isinstance(node, ast.ImportFrom):
            try:
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package or None)
            except ImportError:
                continue
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")


def _digest(file: Path) -> str:
    try:
        text = file.read_bytes().replace(b"\r\n", b"\n")
    except OSError:
        return "unreadable"
    return hashlib.sha256(text).hexdigest()[:_LENGTH]
