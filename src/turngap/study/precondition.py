"""What a study needs is there before its first stage: packages, base, databases, and everybody who is asked.

Looked at without loading or converting anything, and without a request: what would stop the study after hours stops it
at once. What can be seen from the study's file alone is `turngap.study.plan`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from turngap import domains, judges, models, users
from turngap.config import JudgeConfig, MatchConfig, ModelConfig
from turngap.domains import LiveDomain
from turngap.errors import ConfigError, MissingExtra, TurngapError
from turngap.models import ModelContext, hub
from turngap.models.packaged import named
from turngap.study.plan import NEW, Study, Tasks
from turngap.synth import phrase
from turngap.training import base as bases

_JUDGED = ("turn", "workflow")


async def require(study: Study) -> None:
    """Refuse a study that could not be run to its end.

    Raises:
        MissingExtra: packages are missing; one line names them all. ConfigError: a base, a domain, a file of phrases or
            a server is not there, or train and evaluate are one database; says which field names it.
    """
    missing = []
    for field, check in _packages(study):
        try:
            _attempt(study, field, check)
        except MissingExtra as error:
            missing.append(str(error))
    if missing:
        raise MissingExtra("; ".join(dict.fromkeys(missing)))
    _attempt(study, "base", partial(bases.require, study.base))
    if study.ask.served == "gguf" and not _is_gguf(study.base):
        problem = f"gguf is for bases that come from a GGUF file, and {study.base} does not; give hf or auto"
        raise ConfigError(f"study {study.name}: ask.served: {problem}")
    train, evaluate = (
        built(study, side, tasks) for side, tasks in (("train", study.train), ("evaluate", study.evaluate))
    )
    if train.identity() == evaluate.identity():
        problem = f"{study.evaluate.domain} is the database of train; give it one of its own, e.g. by ?seed=2"
        raise ConfigError(f"study {study.name}: evaluate.domain: {problem}")
    for side, tasks, domain in (("train", study.train, train), ("evaluate", study.evaluate, evaluate)):
        if tasks.phrases is not None:
            _attempt(study, f"{side}.phrases", partial(phrase.load, domain, (Path(tasks.phrases),)))
    async with AsyncExitStack() as closing:
        for field, build in _asked(study):
            closing.push_async_callback(_attempt(study, field, build).aclose)


def built(study: Study, side: str, tasks: Tasks) -> LiveDomain:
    """The domain of a side.

    Raises:
        ConfigError: there is none of that name, or it cannot be made; says which field names it.
    """
    domain: LiveDomain = _attempt(study, f"{side}.domain", partial(domains.build, tasks.domain))
    return domain


def _attempt(study: Study, field: str, build: Callable[[], Any]) -> Any:
    try:
        return build()
    except MissingExtra:
        raise  # says itself who needs it
    except TurngapError as error:
        raise ConfigError(f"study {study.name}: {field}: {error}") from None


def _packages(study: Study) -> Iterator[tuple[str, Callable[[], object]]]:
    """What tells that a package is missing, by the field that wants it."""
    packages = ["torch", "transformers", "tokenizers"]
    packages += ["peft"] if study.training().lora else []
    packages += ["gguf"] if study.base.startswith("local/") or study.base.endswith(".gguf") else []
    yield "base", partial(hub.prepare, *packages, purpose=f"study {study.name}")
    before, packaged = study.before() or "", named(study.base)
    if named(before) is not None:
        yield "ask.model" if study.ask.model else "base", partial(models.build, ModelConfig(spec=before))
    if packaged is not None:
        yield "base", packaged.file


def _is_gguf(base: str) -> bool:
    """Whether what is trained of a base may be written as GGUF."""
    folder = Path(base.removeprefix("hf/"))
    trained = folder.name == bases.MODEL and (folder.parent / bases.GGUF).is_file()
    return not base.startswith(NEW) and (named(base) is not None or base.endswith(".gguf") or trained)


def _asked(study: Study) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Everybody who is asked, by the field that names them, as far as they are there before the training."""
    teacher, ask, context = study.teacher, study.ask, ModelContext()

    def model(spec: str, base_url: str | None) -> Callable[[], Any]:
        return partial(models.build, ModelConfig(spec=spec, base_url=base_url), context)

    yield "teacher.model", model(teacher.model, teacher.base_url)
    yield "teacher.user", partial(users.build, ModelConfig(spec=teacher.user, base_url=teacher.base_url), context)
    before = study.before()
    if before is not None and (ask.model is not None or not before.startswith("hf/")):
        yield "ask.model" if ask.model is not None else "base", model(before, ask.base_url)
    if ask.served.startswith("openai/"):
        yield "ask.served", model(ask.served.replace("{}", bases.MODEL), ask.base_url)
    if set(_JUDGED) & {*ask.protocols, *(study.recovery.protocols or ())}:
        config = JudgeConfig(specs=(ask.judge,), base_url=ask.base_url)
        yield "ask.judge", partial(judges.build, ask.judge, config, MatchConfig(), context)
