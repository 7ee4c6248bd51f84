"""What an experiment is: one TOML file, read into frozen settings; what makes no sense is refused when it is read.

Files of domains and phrases are looked for beside the study's file, and then among those that come with turngap. A
study makes training tasks in one domain and evaluation tasks in another (a database of its own), has a teacher act on
both, trains a base on what the teacher did on the training tasks, and measures the base before and after on the others.

Whether what it names is there (a base, a server, a package) is not looked at here: `turngap.study.precondition`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

from turngap import jsonio, judges, models, users
from turngap.config import FURTHER, PROTOCOLS, SCENARIOS
from turngap.errors import ConfigError, DataError, TurngapError, UsageError
from turngap.registry import Registry
from turngap.samples import studies
from turngap.training.making import Mix
from turngap.training.recipe import RECIPES, Recipe, laid_over

SERVED = ("auto", "gguf", "hf")
"""How a trained model may be served, beside a spec with ``{}`` for its folder."""
NEW = "new:"
"""Begins the name of a base that is made for the study, and that nobody can ask before it is trained."""
_MOST = 10**9
_MOST_TRIALS = 1_000  # of a task, as in a rollout
_MOST_SEED = 2**32 - 1  # what every generator of random numbers takes that a study seeds
_DOMAIN_FILE = re.compile(r"(.+?\.py)((?::\w+)?(?:\?.*)?)")


class Tasks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tasks of one domain, and how many."""

    domain: str
    """As in `turngap rollout --domain`."""
    each: int
    """Tasks of each scenario."""
    scenarios: tuple[str, ...] = ("general", "ambiguous", "changing", "infeasible")
    explorations: int = 2000
    seed: int = 0
    phrases: str | None = None


class Teacher(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who shows how it is done."""

    model: str = "baseline/reference"
    user: str = "scripted"
    trials: int = 1
    base_url: str | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the base and the trained model are asked, and what they are measured on."""

    model: str | None = None
    """Spec of the model before training, where that is another than the base; ``{}`` in `served` is its place."""
    served: str = "auto"
    """How the trained model is served: ``gguf`` (llama.cpp), ``hf`` (in this process), ``auto``, or a spec with ``{}``
    for its folder, such as ``openai/{}`` for a server of one's own."""
    base_url: str | None = None
    conversations: int = 80
    """Evaluation conversations, the first ones; they are taken evenly from the scenarios."""
    tasks: int = 60
    """Live evaluation tasks, evenly from the scenarios."""
    before: int | None = None
    """Conversations and tasks that the base gets, where that is fewer: an untrained model is slow and always fails."""
    protocols: tuple[str, ...] = ("text", "turn", "strict", "replay", "workflow")
    judge: str = "rules"
    horizon: int = 0
    """Decisions of the horizon; 0 leaves it out."""
    trials: int = 1
    max_tokens: int = 128
    max_steps: int = 30
    concurrency: int = 4

    def trained(self, protocols: tuple[str, ...] | None = None) -> Asked:
        """What a trained model is asked, under these protocols where they are not the usual ones."""
        return msgspec.structs.replace(self, before=None, protocols=protocols or self.protocols)

    def untrained(self) -> Asked:
        """What a model is asked before it is trained."""
        most = max(self.conversations, self.tasks) if self.before is None else self.before
        return msgspec.structs.replace(
            self, conversations=min(self.conversations, most), tasks=min(self.tasks, most), before=None
        )


class Recovery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rounds of rollout, correction and further training (`turngap.protocols.recovering`), behind the training.

    In each round the model of the round before acts on training tasks of its own, the reference agent takes over where
    it errs, and the model learns from that, mixed with conversations of the teacher so that it forgets nothing.
    """

    rounds: int = 0
    tasks: int = 60
    """Tasks that the model is let loose on in each round, evenly from the scenarios; others in each."""
    rehearsed: int = 60
    """Conversations of the teacher, and of the rounds before, that are learnt again in each round."""
    protocols: tuple[str, ...] | None = None
    """Under which the model of each round is measured on recorded conversations; None: as the others."""


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One experiment."""

    name: str
    base: str
    """As in `turngap train --base`."""
    train: Tasks
    evaluate: Tasks
    teacher: Teacher = Teacher()
    mix: Mix = "natural"
    examples: int | None = None
    """Next-action examples that are trained on; None: all."""
    recipe: dict[str, Any] = {}
    """Fields of a recipe, over the one that ``base`` in it names."""
    ask: Asked = Asked()
    recovery: Recovery = Recovery()
    seed: int = 0

    def training(self) -> Recipe:
        """The recipe.

        Raises:
            UsageError, ConfigError: it makes no sense.
        """
        settings = dict(self.recipe)
        base = settings.pop("base", "laptop")
        if not isinstance(base, str) or base not in RECIPES:
            raise UsageError(f"recipe: unknown recipe {base!r} to begin from; known: {', '.join(RECIPES)}")
        return laid_over(RECIPES[base], {"seed": self.seed, **settings}, source="recipe")

    def before(self) -> str | None:
        """The spec of the model before training; None where nobody can ask it."""
        if self.ask.model is not None or self.base.startswith(NEW):
            return self.ask.model
        if self.base.startswith(("local/", "hf/")):
            return self.base
        return f"local/{self.base}" if self.base.endswith(".gguf") else f"hf/{self.base}"


_PARTS: dict[str, type[msgspec.Struct]] = {
    "train": Tasks,
    "evaluate": Tasks,
    "teacher": Teacher,
    "ask": Asked,
    "recovery": Recovery,
}


def read(path: Path) -> Study:
    """Read a study.

    Raises:
        DataError: the file, or one that it names, cannot be read. ConfigError: an unknown field, one of the wrong type,
            or a value that makes no sense. Both name the file and the field.
    """
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"no TOML: {error}", file=str(path)) from None
    try:
        _require_known(settings)
        study = msgspec.convert({"name": path.stem, **settings}, Study)
        problem = next(_problems(study), None)
        if problem is not None:
            raise ConfigError(problem)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {_plain(error)}") from None
    except TurngapError as error:
        raise ConfigError(f"{path}: {error}") from None
    train, evaluate = (
        _placed(path, side, tasks) for side, tasks in (("train", study.train), ("evaluate", study.evaluate))
    )
    if train.domain == evaluate.domain:
        problem = (
            f"train has the same domain, {study.evaluate.domain!r}; give it a database of its own, e.g. by ?seed=2"
        )
        raise ConfigError(f"{path}: evaluate.domain: {problem}")
    return msgspec.structs.replace(study, train=train, evaluate=evaluate)


def _require_known(settings: Mapping[str, Any]) -> None:
    """Refuse fields that nobody reads, with those that there are; and a mix that is none."""
    parts: dict[str, type[msgspec.Struct]] = {"": Study, **_PARTS}
    for part, kind in parts.items():
        given = settings if not part else settings.get(part)
        if not isinstance(given, Mapping):
            continue  # what type was wanted is said by who converts it
        known = kind.__struct_fields__
        unknown = next((name for name in given if name not in known), None)
        if unknown is not None:
            raise ConfigError(f"{f'{part}: ' if part else ''}unknown field {unknown!r}; known: {', '.join(known)}")
    mix = settings.get("mix")
    if isinstance(mix, str) and mix not in get_args(Mix):
        raise ConfigError(f"mix: unknown mix {mix!r}; known: {', '.join(get_args(Mix))}")


def _problems(study: Study) -> Iterator[str]:
    """What makes no sense, each with its field."""
    yield from _numbers(study)
    study.training()  # raises what is wrong with the recipe
    name = study.name
    if not name or name != Path(name).name or name == "..":
        yield f"name: {name!r} cannot name a file; a study's name is that of its page"
    for side, tasks in (("train", study.train), ("evaluate", study.evaluate)):
        yield from _names(f"{side}.scenarios", "scenario", tasks.scenarios, SCENARIOS)
        if not tasks.domain:
            yield f"{side}.domain: none is named"
    if not study.base:
        yield "base: none is named"
    for field, protocols in (("ask.protocols", study.ask.protocols), ("recovery.protocols", study.recovery.protocols)):
        if protocols is not None:
            if set(protocols) & set(FURTHER):
                yield f"{field}: how many decisions the horizon has is said by ask.horizon; leave horizon out here"
            yield from _names(field, "protocol", protocols, PROTOCOLS)
    yield from _specs(study)


def _specs(study: Study) -> Iterator[str]:
    """Names that nothing goes by; whether what they name can be asked is another matter."""
    served = study.ask.served
    if served not in SERVED and "{}" not in served:
        yield (
            f"ask.served: unknown way {served!r}; known: {', '.join(SERVED)}, or a spec with {{}} for the model's "
            "folder, such as openai/{}"
        )
    specs: tuple[tuple[str, Registry, str | None], ...] = (
        ("teacher.model", models.REGISTRY, study.teacher.model),
        ("teacher.user", users.REGISTRY, study.teacher.user),
        ("ask.model", models.REGISTRY, study.ask.model),
        ("ask.served", models.REGISTRY, served if served not in SERVED else None),
        ("ask.judge", judges.REGISTRY, study.ask.judge),
    )
    for field, registry, spec in specs:
        provider = (spec or "").partition("/")[0].partition("?")[0]
        if spec is not None and ":" not in provider and provider not in registry.names():
            kind, known = registry.seam[:-1], ", ".join(registry.names())
            yield f"{field}: unknown {kind} {spec!r}; known: {known}; or module:attribute"


def _numbers(study: Study) -> Iterator[str]:
    ask, recovery = study.ask, study.recovery
    sides = (("train", study.train), ("evaluate", study.evaluate))
    ranges: tuple[tuple[str, int | None, int, int], ...] = (
        ("seed", study.seed, 0, _MOST_SEED),
        ("examples", study.examples, 1, _MOST),
        *((f"{side}.each", tasks.each, 1, _MOST) for side, tasks in sides),
        *((f"{side}.explorations", tasks.explorations, 1, _MOST) for side, tasks in sides),
        *((f"{side}.seed", tasks.seed, 0, _MOST_SEED) for side, tasks in sides),
        ("teacher.trials", study.teacher.trials, 1, _MOST_TRIALS),
        ("ask.conversations", ask.conversations, 1, _MOST),
        ("ask.tasks", ask.tasks, 1, _MOST),
        ("ask.before", ask.before, 1, _MOST),
        ("ask.horizon", ask.horizon, 0, _MOST),
        ("ask.trials", ask.trials, 1, _MOST_TRIALS),
        ("ask.max_tokens", ask.max_tokens, 1, _MOST),
        ("ask.max_steps", ask.max_steps, 1, _MOST),
        ("ask.concurrency", ask.concurrency, 1, _MOST),
        ("recovery.rounds", recovery.rounds, 0, _MOST_TRIALS),
        ("recovery.tasks", recovery.tasks, 1, _MOST),
        ("recovery.rehearsed", recovery.rehearsed, 0, _MOST),
    )
    for field, number, least, most in ranges:
        if number is not None and not least <= number <= most:
            bound = f"at least {least}" if number < least else f"at most {most}"
            yield f"{field}: is {bound}, not {number}"


def _names(field: str, kind: str, given: Collection[str], known: Collection[str]) -> Iterator[str]:
    unknown = [name for name in given if name not in known]
    if unknown or not given:
        yield f"{field}: unknown {kind} {', '.join(map(repr, unknown)) or '(none)'}; known: {', '.join(known)}"
    twice = next((name for name in given if list(given).count(name) > 1), None)
    if twice is not None:
        yield f"{field}: names {twice!r} twice"


def _placed(path: Path, side: str, tasks: Tasks) -> Tasks:
    """Tasks with the files that they name as paths that can be opened."""
    domain, phrases = tasks.domain, tasks.phrases
    file = _DOMAIN_FILE.fullmatch(domain)
    if file is not None:
        domain = f"{_beside(path, f'{side}.domain', file[1])}{file[2]}"
    if phrases is not None:
        phrases = str(_beside(path, f"{side}.phrases", phrases))
    return msgspec.structs.replace(tasks, domain=domain, phrases=phrases)


def _beside(path: Path, field: str, name: str) -> Path:
    """A file that lies beside the study's, or else with those that come with turngap."""
    places = (path.parent, studies.folder())
    for place in places:
        found = place / Path(name).expanduser()
        if found.is_file():
            return found
    looked = " and ".join(str(place) for place in dict.fromkeys(places))
    problem = f"there is no file {name}" if Path(name).is_absolute() else f"there is no file {name} in {looked}"
    raise DataError(problem, file=str(path), field=field)


def _plain(error: msgspec.ValidationError) -> str:
    """Msgspec's message with the field in front, as everywhere: ``train.each: expected `int`, got `str```."""
    text, field = jsonio.misfit(error)
    field = field.strip(".")
    return f"{field}: {text[:1].lower()}{text[1:]}" if field else text
