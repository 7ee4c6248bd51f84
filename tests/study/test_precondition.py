"""What a study needs is looked for before its first stage, and nothing is made where something is missing."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest

from turngap.engines.base import Quiet
from turngap.errors import ConfigError
from turngap.study.laboratory import Laboratory
from turngap.study.plan import read

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("torch", "transformers", "peft")), reason="training needs the extra train"
)

_STUDY = """\
base = "new:qwen3?hidden=32"
[train]
domain = "corner_shop.py?seed=1"
each = 1
[evaluate]
domain = "corner_shop.py?seed=2"
each = 1
"""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (_STUDY.replace("new:qwen3?hidden=32", "nosuch/model"), "base: base 'nosuch/model': no folder with a model"),
        (_STUDY.replace("new:qwen3?hidden=32", "nosuch.gguf"), "base: base 'nosuch.gguf': there is no file"),
        (_STUDY.replace("hidden=32", "hiden=32"), "base: .*option 'hiden=32' should be one of hidden"),
        (_STUDY.replace("hidden=32", "hidden=33"), "base: .*hidden has to be an even multiple of heads"),
        (_STUDY.replace("seed=2", "sed=2"), r"evaluate\.domain: .*unknown option 'sed'"),
        (_STUDY.replace("corner_shop.py?seed=2", "nowhere"), r"evaluate\.domain: unknown domain 'nowhere'; known: "),
        (
            _STUDY.replace("corner_shop.py?seed=2", "corner_shop.py?seed=01"),
            r"evaluate\.domain: .*the database of train",
        ),
        (_STUDY + "phrases = 'bad.toml'\n", r"evaluate\.phrases: .*bad\.toml: .*unknown"),
        (_STUDY + "[ask]\nserved = 'gguf'\n", r"ask\.served: gguf is for bases that come from a GGUF file"),
        (_STUDY + "[ask]\nmodel = 'local/nosuch.gguf'\n", r"ask\.model: .*nosuch\.gguf is not a \.gguf file"),
        (_STUDY + "[ask]\nmodel = 'openai/base'\nbase_url = 'nowhere'\n", r"ask\.model: the base URL should look like"),
        (_STUDY + "[ask]\njudge = 'openai/judge'\nbase_url = 'nowhere'\n", r"ask\.judge: .*base URL"),
        (_STUDY + "[ask]\nserved = 'openai/{}'\nbase_url = 'nowhere'\n", r"ask\.served: the base URL should look like"),
        (_STUDY + "[teacher]\nuser = 'llm/openai/x'\nbase_url = 'nowhere'\n", r"teacher\.user: .*base URL"),
    ],
)
def test_what_is_not_there_stops_a_study_before_its_first_stage(tmp_path: Path, text: str, problem: str) -> None:
    """One line with the study and the field; no folder is made, and nothing is said."""
    (tmp_path / "bad.toml").write_text("[tolo]\n", encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    quiet = Quiet()
    with pytest.raises(ConfigError, match=problem) as caught:
        asyncio.run(Laboratory(read(path), tmp_path / "out", quiet).run())
    assert str(caught.value).startswith("study mine: ")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert not quiet.notes
