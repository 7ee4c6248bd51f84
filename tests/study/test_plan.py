"""The file of a study: what it may say, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from turngap.errors import ConfigError, DataError
from turngap.samples import studies
from turngap.study.plan import read

SMALL = """\
base = "local/smollm2"
[train]
domain = "desk.py?seed=1"
each = 4
[evaluate]
domain = "retail?seed=2"
each = 2
"""
EXPERIMENTS = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))
EXPERIMENTS = [path for path in EXPERIMENTS if not path.stem.endswith(".phrases")]


def write(folder: Path, text: str) -> Path:
    """The text as a study file, with a domain file beside it."""
    (folder / "desk.py").write_text("", encoding="utf-8")
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_files_beside_the_study_are_found_from_anywhere(tmp_path: Path) -> None:
    """A domain file is taken from the study's folder; other domains stay as they are; the name is the file's."""
    study = read(write(tmp_path, SMALL))
    assert study.name == "mine"
    assert study.train.domain == f"{tmp_path / 'desk.py'}?seed=1"
    assert study.evaluate.domain == "retail?seed=2"
    assert study.training().name == "laptop"


def test_a_study_may_use_the_files_that_come_with_turngap(tmp_path: Path) -> None:
    """A domain or phrases that do not lie beside the study are those of turngap, options and all."""
    text = SMALL.replace("desk.py?seed=1", "corner_shop.py?seed=1").replace(
        "each = 4", 'each = 4\nphrases = "corner_shop.phrases.toml"'
    )
    study = read(write(tmp_path, text))
    shop = studies.folder() / "corner_shop.py"
    assert study.train.domain == f"{shop}?seed=1"
    assert study.train.phrases == str(studies.folder() / "corner_shop.phrases.toml")
    (tmp_path / "corner_shop.py").write_text("", encoding="utf-8")
    assert read(write(tmp_path, text)).train.domain == f"{tmp_path / 'corner_shop.py'}?seed=1"


def test_the_model_before_training_is_asked_by_a_spec(tmp_path: Path) -> None:
    """A base is a model to ask, but for a new one; where another is named, that one."""
    asked = {
        "local/smollm2": "local/smollm2",
        "models/first/model": "hf/models/first/model",
        "weights.gguf": "local/weights.gguf",
        "new:qwen3?hidden=64": None,
    }
    for base, spec in asked.items():
        assert read(write(tmp_path, SMALL.replace("local/smollm2", base))).before() == spec
    assert read(write(tmp_path, SMALL + "[ask]\nmodel = 'openai/base'\n")).before() == "openai/base"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SMALL + "trials = 3\n", r"evaluate: unknown field 'trials'; known: domain, each, scenarios, explorations"),
        ("bas = 1\n" + SMALL, "unknown field 'bas'; known: name, base, train, evaluate, teacher, mix"),
        (SMALL.replace("each = 4", 'each = "many"'), r"train\.each: expected `int`, got `str`"),
        ("mix = 'even'\n" + SMALL, "mix: unknown mix 'even'; known: natural, balanced, tools"),
        ("name = '../up'\n" + SMALL, "name: '../up' cannot name a file"),
        (SMALL + "[recipe]\nbase = 'p9'\n", "recipe: unknown recipe 'p9' to begin from; known: p1, p2"),
        (SMALL + "[recipe]\nbase = ['laptop']\n", r"recipe: unknown recipe \['laptop'\] to begin from; known: p1, p2"),
        (SMALL + "[recipe]\nmax_lenght = 3\n", "recipe: unknown setting 'max_lenght'; known: .*limit"),
        (SMALL + "[recipe]\nseed = -3\n", "recipe: seed should be from 0"),
        (SMALL + "[recipe]\nepochs = -1\n", "recipe: epochs should be above 0"),
        (SMALL + "[ask]\nprotocols = ['strikt']\n", r"ask\.protocols: unknown protocol 'strikt'; known: text, turn"),
        (
            SMALL + "[ask]\nprotocols = ['strict', 'strikt']\n",
            r"ask\.protocols: unknown protocol 'strikt'; known: text",
        ),
        (SMALL + "[ask]\nprotocols = []\n", r"ask\.protocols: unknown protocol \(none\); known: text"),
        (SMALL + "[ask]\nprotocols = ['turn', 'turn']\n", r"ask\.protocols: names 'turn' twice"),
        (SMALL + "[ask]\nprotocols = ['horizon']\n", r"ask\.protocols: .* said by ask\.horizon"),
        (SMALL + "[recovery]\nprotocols = []\n", r"recovery\.protocols: unknown protocol \(none\); known: text"),
        (SMALL + "[recovery]\nprotocols = ['strikt']\n", r"recovery\.protocols: unknown protocol 'strikt'"),
        (SMALL + "[ask]\njudge = 'nojudge'\n", r"ask\.judge: unknown judge 'nojudge'; known: local, openai, rules"),
        (
            SMALL + "[ask]\nserved = 'ggfu'\n",
            r"ask\.served: unknown way 'ggfu'; known: auto, gguf, hf, or a spec with \{\}",
        ),
        (SMALL + "[ask]\nserved = 'vllm/{}'\n", r"ask\.served: unknown model 'vllm/\{\}'; known: baseline"),
        (SMALL + "[ask]\nmodel = 'nosuch/x'\n", r"ask\.model: unknown model 'nosuch/x'; known: baseline"),
        (SMALL + "[teacher]\nmodel = 'nosuch/x'\n", r"teacher\.model: unknown model 'nosuch/x'"),
        (
            SMALL + "[teacher]\nuser = 'nobody'\n",
            r"teacher\.user: unknown user 'nobody'; known: llm, recorded, scripted",
        ),
        (SMALL + "scenarios = []\n", r"evaluate\.scenarios: unknown scenario \(none\); known: general"),
        (SMALL + "scenarios = ['generel']\n", r"evaluate\.scenarios: unknown scenario 'generel'; known: general"),
        (SMALL.replace("retail?seed=2", "desk.py?seed=1"), r"evaluate\.domain: train has the same domain"),
        ("base = [", "no TOML"),
        ("[train]\n", "issing required field `"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    """SFT-11: a misspelt setting is an error and never ignored; each error says the file, the field and what there is."""
    with pytest.raises((ConfigError, DataError), match=problem) as caught:
        read(write(tmp_path, text))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'mine.toml'}: ")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("part", "field", "value", "bound"),
    [
        ("", "seed", -1, "at least 0"),
        ("", "seed", 2**64, "at most 4294967295"),
        ("", "examples", 0, "at least 1"),
        ("train", "explorations", 0, "at least 1"),
        ("train", "seed", -1, "at least 0"),
        ("evaluate", "explorations", -5, "at least 1"),
        ("teacher", "trials", 0, "at least 1"),
        ("ask", "conversations", -1, "at least 1"),
        ("ask", "tasks", 0, "at least 1"),
        ("ask", "before", 0, "at least 1"),
        ("ask", "horizon", -1, "at least 0"),
        ("ask", "trials", 0, "at least 1"),
        ("ask", "max_tokens", 0, "at least 1"),
        ("ask", "max_steps", -2, "at least 1"),
        ("ask", "concurrency", 0, "at least 1"),
        ("recovery", "rounds", -1, "at least 0"),
        ("recovery", "tasks", 0, "at least 1"),
        ("recovery", "rehearsed", -1, "at least 0"),
    ],
)
def test_a_number_out_of_its_range_is_refused(tmp_path: Path, part: str, field: str, value: int, bound: str) -> None:
    """Before anything is made, with the field and the bound."""
    line = f"{field} = {value}\n"
    if f"[{part}]" in SMALL:
        text = SMALL.replace(f"[{part}]\n", f"[{part}]\n{line}")
    else:
        text = f"{SMALL}[{part}]\n{line}" if part else line + SMALL
    with pytest.raises(ConfigError, match=rf"mine.toml: {f'{part}.' if part else ''}{field}: is {bound}, not {value}$"):
        read(write(tmp_path, text))


@pytest.mark.parametrize("each", [0, -4])
def test_at_least_one_task_of_each_scenario_is_made(tmp_path: Path, each: int) -> None:
    """Nothing is no study."""
    with pytest.raises(ConfigError, match=rf"train\.each: is at least 1, not {each}$"):
        read(write(tmp_path, SMALL.replace("each = 4", f"each = {each}")))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (SMALL.replace("desk.py", "nowhere.py"), "train.domain: there is no file nowhere.py"),
        (SMALL.replace("desk.py", "nowhere.py:SHOP"), "train.domain: there is no file nowhere.py"),
        (SMALL + 'phrases = "nothere.toml"\n', "evaluate.phrases: there is no file nothere.toml"),
    ],
)
def test_a_missing_file_is_named_once_with_where_it_was_looked_for(tmp_path: Path, text: str, field: str) -> None:
    """The study, the field, the file and both folders."""
    with pytest.raises(DataError) as caught:
        read(write(tmp_path, text))
    assert str(caught.value) == f"{tmp_path / 'mine.toml'}: {field} in {tmp_path} and {studies.folder()}"


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.name)
def test_the_studies_that_come_with_turngap_can_be_read(path: Path) -> None:
    """Every file in experiments/ is a study whose recipe and domain files exist."""
    study = read(path)
    for side in (study.train, study.evaluate):
        file = Path(side.domain.partition("?")[0])
        assert file.suffix != ".py" or file.is_file()
