"""From what a person types to a domain."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from boatdomain import domain

from turngap.data import ToolCall
from turngap.domains import REGISTRY, DomainSpec, LiveDomain, build
from turngap.domains.loading import load, parse
from turngap.errors import UsageError
from turngap.registry import Registry

_FILE = '''
from __future__ import annotations
from turngap.domains.api import Domain, Record, State, Table, read

class Boat(Record):
    name: str

class Harbour(State):
    boats: Table[Boat]

@read
def list_boats(harbour: Harbour) -> list[str]:
    """List the boats."""
    return [boat.name for boat in harbour.boats.values()]

DOMAIN = Domain(name="harbour", policy="Be kind.", state=Harbour, tools=[list_boats],
                database={"boats": {"B-1": {"name": "Ada"}}})

def build(spec):
    spec.only("name")
    boats = {"B-1": {"name": spec.options.get("name", "Bo")}}
    return Domain(name="harbour", policy="", state=Harbour, tools=[list_boats], database={"boats": boats})
'''


def _boats(domain: LiveDomain) -> object:
    from turngap.data import ToolCall  # noqa: PLC0415 - used here only

    return json.loads(domain.world().call(ToolCall(name="list_boats", arguments={})).content)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A domain file."""
    path = tmp_path / "harbour.py"
    path.write_text(_FILE, encoding="utf-8")
    return path


def made_here(spec: DomainSpec) -> LiveDomain:
    """A factory, for a dotted path."""
    return domain(name=f"boats {spec.argument} {sorted(spec.options.items())}")


HERE = domain()
NOTHING = 5
_REGISTRY = Registry("domains", {"boats": f"{__name__}:made_here"})


@pytest.fixture(autouse=True)
def importable() -> None:
    """Make this module findable by its name, as an installed package's would be."""
    sys.modules.setdefault(__name__, sys.modules[made_here.__module__])


def test_specs_are_taken_apart() -> None:
    """Name, argument and options, whatever is there."""
    assert parse("boats", _REGISTRY) == DomainSpec(text="boats", name="boats")
    assert parse("boats:north?seed=3&db=a=b.json", _REGISTRY) == DomainSpec(
        text="boats:north?seed=3&db=a=b.json", name="boats", argument="north", options={"seed": "3", "db": "a=b.json"}
    )
    assert parse("package.module:DOMAIN", _REGISTRY).name == "package.module:DOMAIN"


def test_a_file_holds_a_domain(file: Path) -> None:
    """`FILE.py` is its DOMAIN; `FILE.py:NAME` another, which may be a function that takes options."""
    assert _boats(build(str(file))) == ["Ada"]
    assert _boats(build(f"{file}:build?name=Cleo")) == ["Cleo"]
    assert build(str(file)) is build(str(file))


def test_names_and_dotted_paths_load_domains() -> None:
    """A short name calls its factory with what was typed; a path may lead to a domain or to a factory."""
    assert load("boats:north?seed=3", _REGISTRY).name == "boats north [('seed', '3')]"
    assert load(f"{__name__}:HERE", _REGISTRY) is HERE
    assert load(f"{__name__}:made_here", _REGISTRY).name == "boats  []"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("", "no domain is named; known: boats"),
        ("?seed=3", "no domain is named"),
        ("boots", "unknown domain 'boots'; known: boats"),
        ("boats?seed", "option 'seed' should be one key=value"),
        ("boats?seed=1&seed=2", "option 'seed=2' should be one key=value"),
        ("none.py", "there is no domain file none.py"),
        (f"{__name__}:HERE?seed=1", "unknown option 'seed'; it takes none"),
        (f"{__name__}:NOTHING", "int is no domain; make one with Domain"),
        ("nowhere.at.all:X", "cannot import 'nowhere.at.all'"),
    ],
)
def test_what_cannot_be_found_is_said_in_one_line(spec: str, problem: str) -> None:
    """The text says what is wrong and what would do."""
    with pytest.raises(UsageError, match=problem) as caught:
        load(spec, _REGISTRY)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1", "has no DOMAIN; it should end with DOMAIN = Domain"),
        ("DOMAIN = 5", "int is no domain"),
        ("\n\nimport nowhere_at_all", r"failed at harbour.py:3: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("x = 1\nDOMAIN = (", r"failed at harbour.py:2: SyntaxError: '\(' was never closed$"),
        ("raise GeneratorExit", "failed at harbour.py:1: GeneratorExit$"),
        ("raise SystemExit(3)", "failed at harbour.py:1: SystemExit: 3"),
        (_FILE.replace("name: str", "name: strr"), "Harbour.boats: its type cannot be used: name 'strr'"),
        (
            _FILE.replace('"""List the boats."""', '"""List.\n\n    Args:\n        x: y\n    """'),
            "'x', which is no parameter",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_explained(file: Path, text: str, problem: str) -> None:
    """A missing DOMAIN, an error on import and a wrong declaration name file and line, and leave nothing behind."""
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Exception, match=problem) as caught:
        build(str(file)).world()
    assert "\n" not in str(caught.value)


def test_files_of_one_name_are_two_domains(tmp_path: Path) -> None:
    """Two files of the same name in two folders stay apart, types included."""
    made = []
    for place, name in (("east", "Ada"), ("west", "Bo")):
        folder = tmp_path / place
        folder.mkdir()
        (folder / "harbour.py").write_text(_FILE.replace("Ada", name), encoding="utf-8")
        made.append(build(str(folder / "harbour.py")))
    east, west = (one.world() for one in made)
    assert [one.call(ToolCall(name="list_boats", arguments={})).content for one in (east, west)] == [
        '["Ada"]',
        '["Bo"]',
    ]
    assert type(east.snapshot()) is not type(west.snapshot())


def test_a_module_that_cannot_be_imported_is_explained(tmp_path: Path) -> None:
    """A dotted name is loaded as carefully as a file."""
    (tmp_path / "sunken_harbour.py").write_text("\nraise ValueError('two\\nlines')\n", encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(UsageError, match=r"failed at sunken_harbour\.py:2: ValueError: two lines"):
            build("sunken_harbour:DOMAIN")
    finally:
        sys.path.remove(str(tmp_path))


def test_a_file_without_its_ending_is_pointed_out(file: Path) -> None:
    """Where the name is that of a file that lies there, the error says what to type; else that a file would do."""
    stem = str(file).removesuffix(".py")
    with pytest.raises(UsageError, match=rf"unknown domain '{stem}'; .*for the domain in it give {stem}\.py$"):
        load(stem, REGISTRY)
    with pytest.raises(UsageError, match=rf"cannot import .* give {stem}\.py:DOMAIN$"):
        load(f"{stem}:DOMAIN", REGISTRY)
    with pytest.raises(UsageError, match=r"known: retail, tau2; or module:attribute; or FILE\.py$"):
        load("no_such_boats", REGISTRY)


def test_unknown_options_are_refused(file: Path) -> None:
    """An option that nobody reads is a typing error, and said to be one."""
    with pytest.raises(UsageError, match="unknown option 'nane'; known: name"):
        build(f"{file}:build?nane=Cleo")


def test_the_built_in_names() -> None:
    """The domains that come with the product are known by name."""
    assert {"retail", "tau2"} <= set(REGISTRY.names())
