"""README.md and the pages that it leads to: what is printed, commands, links."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from turngap.cli.main import VERBS, load

_DOCS = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))


@pytest.mark.slow
def test_the_table_of_the_example_is_printed(shared: Path, tmp_path: Path) -> None:
    """The command above it, on the recordings that it names, prints it line by line."""
    source = shared / "tau-bench"
    shutil.copy(source / "gpt-4o-airline-tasks-00-24.json", tmp_path / "gpt-4o-airline.json")
    shutil.copy(source / "airline-tools.json", tmp_path)
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    command, table = (
        block.partition("```")[0].strip("\n")
        for block in readme.partition("This is what it prints")[2].split("```\n")[1:4:2]
    )
    done = subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip("\n").splitlines() == table.splitlines()


def test_every_command_that_it_shows_is_one() -> None:
    """Verbs and options of the fenced commands are known, and so are the targets of make."""
    root = Path(__file__).parents[2]
    readme = (root / "README.md").read_text(encoding="utf-8")
    lines = [line.partition("#")[0].split() for block in readme.split("```")[1::2] for line in block.splitlines()]
    shown = [words for words in lines if words[:1] == ["turngap"]]
    assert {words[1] for words in shown} >= {"eval", "inspect", "examples", "train"}
    for _, verb, *rest in shown:
        known = {name for parameter in load(verb).params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert {word for word in rest if word.startswith("-")} <= known, (verb, rest)
    assert set(re.findall(r"`turngap (\w+)", readme)) <= set(VERBS)
    targets = set(re.findall(r"^([\w-]+):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {words[1] for words in lines if words[:1] == ["make"]} <= targets


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", *(f"docs/{one.name}" for one in _DOCS)])
def test_every_link_leads_somewhere(page: str) -> None:
    """To a file of the project, and to a heading that is there."""
    root = Path(__file__).parents[2]
    for target in re.findall(r"\]\(([^)\s]+)\)", (root / page).read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        file = (root / page).parent / name if name else root / page
        assert file.exists(), target
        assert not heading or heading in _headings(file), target


def _headings(page: Path) -> set[str]:
    """As links name them: lower case, without marks, with hyphens."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in found}
