"""What was asked for, frozen: every setting of a run, resolved once and written beside the results.

The command line resolves file < environment < options into one `EvalConfig` (conversations) or `RolloutConfig` (live
tasks). What it holds determines the figures, except the model's own randomness; two runs with equal
`generation_identity` may share a directory. Secrets are not part of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from turngap import jsonio
from turngap.errors import ConfigError, UsageError

PROTOCOLS = ("text", "turn", "strict", "replay", "workflow")
"""The protocols of `turngap eval`, in the order of every table: what ``all`` means."""
FURTHER = ("horizon",)
"""Protocols that have to be asked for by name, since they cost a multiple of the others."""

_MOST = 2**63 - 1  # what a database can hold
_MOST_TRIALS = 1_000  # of a task: there is a figure for each k up to it

SCENARIOS = ("general", "ambiguous", "changing", "infeasible")
"""The kinds of tasks and conversations that can be made."""
TOKENIZERS = ("auto", "default", "unicode")
"""How text may be cut into words; see `TextConfig`."""


class DataConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which conversations."""

    paths: tuple[str, ...]
    """Files or folders."""
    format: str | None = None
    """Name of the format; None to detect it."""
    tools: str | None = None
    """File with tool schemas for recordings that have none."""
    only_successful: bool = False
    """Keep only conversations that the file marks as rewarded."""
    skip_bad: bool = False
    """Go on past records that cannot be read, and count them."""
    limit: int | None = None
    """Keep at most this many conversations."""
    sample: bool = False
    """Whether `limit` draws at random (by `EvalConfig.seed`) instead of taking the first."""


class Prices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Money per million tokens."""

    prompt: float
    completion: float
    cached: float | None = None
    """Per million cached prompt tokens; None: as `prompt`."""


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which model, and how it is asked."""

    spec: str
    """``openai/NAME``, ``local/NAME``, ``local/FILE.gguf``, ``hf/FOLDER``, ``baseline/NAME?key=value``,
    ``recorded/FILE``, ``corrected/SPEC``."""
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    """Name of the environment variable that holds the key; the key itself is never stored."""
    temperature: float = 0.0
    max_tokens: int = 1024
    """Most tokens of one answer."""
    seed: int | None = None
    extra_body: dict[str, Any] = {}
    """Further fields of the request body."""
    tool_parser: str = "auto"
    """Which text dialects are tried when the server returns no tool calls: auto, none, or one dialect's name."""
    fold_roles: bool = False
    """Fold system text into the first user turn and tool results into user turns, for templates that refuse them."""
    send_reasoning: bool = False
    """Send recorded reasoning of the current turn back to the server."""
    context_length: int | None = None
    """The model's context in tokens; None to ask the server."""
    timeout: float = 120.0
    """Seconds for one request."""
    give_up_after: float = 600.0
    """Seconds of retrying one request before the unit is errored."""
    concurrency: int = 8
    """Requests under way at once."""
    prices: Prices | None = None

    @property
    def provider(self) -> str:
        """The part of `spec` before the first slash."""
        return self.spec.partition("/")[0]

    @property
    def name(self) -> str:
        """The part of `spec` after the first slash, without the query."""
        return self.spec.partition("/")[2].partition("?")[0]

    def options(self) -> dict[str, str]:
        """The query part of `spec`: ``baseline/noisy?p_tool=0.7`` has ``{"p_tool": "0.7"}``.

        Raises:
            UsageError: an option without ``=``, or given twice.
        """
        found: dict[str, str] = {}
        for part in filter(None, self.spec.partition("?")[2].split("&")):
            key, equals, value = part.partition("=")
            if not equals or key in found:
                raise UsageError(f"model {self.spec!r}: option {part!r} should be one key=value")
            found[key] = value
        return found


class JudgeConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which judges. `rules` needs no model; every other spec is a model's."""

    specs: tuple[str, ...] = ("rules",)
    """The first one gives the headline figures; several also give agreement."""
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    max_tokens: int = 1024
    timeout: float = 120.0
    give_up_after: float = 600.0
    concurrency: int = 8
    similarity_floor: float = 0.15
    """`rules`: least ROUGE-1 of a text against the recorded one, so that unrelated talk fails; 0 for none."""
    prices: Prices | None = None


class MatchConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How calls are normalised before they are compared; DESIGN order, each step switchable."""

    parse_strings: bool = True
    """Arguments, and object or array values, given as a JSON string are parsed."""
    coerce: bool = True
    """Values are coerced to the schema's type where nothing is lost."""
    fold_text: bool = True
    """Strings are NFC-normalised, trimmed, inner white space folded."""
    defaults: bool = True
    """A default, or null for an optional argument, equals an absent one."""
    sets: bool = True
    """Arrays that the schema calls uniqueItems compare without order."""
    enum_case: bool = True
    """Case is ignored for an enum whose values stay distinct without it."""
    compare_args: dict[str, tuple[str, ...]] = {}
    """Tool -> the only arguments that count, e.g. ``{"hand_over": []}``."""
    set_args: dict[str, tuple[str, ...]] = {}
    """Tool -> array arguments that compare without order although the schema does not say so."""
    fold_times: dict[str, tuple[str, ...]] = {}
    """Tool -> arguments in which spellings of one instant (Z, +00:00) are equal."""


class ReplayConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules of the closed loop."""

    attempts: int = 3
    """Attempts at a due decision, the first one included; P1 has three."""
    when_silent: str = "carry"
    """Text while calls are due: ``carry`` them over, or ``fail`` at once."""
    after_failure: str = "stop"
    """``stop``; ``continue`` with the due decision repaired; ``repair-first``: repair the first, stop at the second."""
    max_steps: int | None = None
    """Messages of the model; None: 2 x recorded decisions + 10."""


class HorizonConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far the closed loops of `horizon` run."""

    max: int = 8
    """Most decisions from each start; every smaller number comes with it."""


class TextConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How text is compared."""

    tokenizer: str = "auto"
    """``auto``: unicode for a pair with letters outside ASCII, else default; ``default``; ``unicode``."""


class EvalConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One evaluation: one model on one data set under some protocols."""

    data: DataConfig
    model: ModelConfig
    judge: JudgeConfig = JudgeConfig()
    protocols: tuple[str, ...] = PROTOCOLS
    match: MatchConfig = MatchConfig()
    replay: ReplayConfig = ReplayConfig()
    horizon: HorizonConfig = HorizonConfig()
    text: TextConfig = TextConfig()
    seed: int = 0
    """For sampling conversations and for whatever analysis draws at random."""

    def __post_init__(self) -> None:
        known = (*PROTOCOLS, *FURTHER)
        unknown = [name for name in self.protocols if name not in known]
        if unknown or not self.protocols:
            raise UsageError(f"unknown protocol {', '.join(unknown) or '(none)'}; known: all, {', '.join(known)}")
        _require_sense(self)
        if self.replay.when_silent not in ("carry", "fail"):
            raise UsageError(f"--when-silent is carry or fail, not {self.replay.when_silent!r}")
        if self.replay.after_failure not in ("stop", "continue", "repair-first"):
            raise UsageError(f"--after-failure is stop, continue or repair-first, not {self.replay.after_failure!r}")

    def generation_identity(self) -> dict[str, Any]:
        """The settings that decide what the model produces. A stored run with others cannot be resumed."""
        return {
            "model": _without_pace(self.model),
            "replay": msgspec.to_builtins(self.replay),
            "match": msgspec.to_builtins(self.match),
        }

    def digest(self) -> str:
        """Identity of the whole configuration."""
        return jsonio.digest(self)


def _require_sense(config: EvalConfig) -> None:
    """Refuse values that no run could use: each would fail only after the model had been asked, or not at all."""
    _require_numbers(
        config,
        (
            ("seed", config.seed, 0, _MOST),
            ("data.limit", config.data.limit, 1, _MOST),
            ("model.context_length", config.model.context_length, 1, _MOST),
            ("judge.similarity_floor", config.judge.similarity_floor, 0, 1),
        ),
    )
    if config.text.tokenizer not in TOKENIZERS:
        raise UsageError(f"unknown tokenizer {config.text.tokenizer!r}; known: {', '.join(TOKENIZERS)}")
    if not config.judge.specs or not all(config.judge.specs):
        raise UsageError("no judge: name at least one, e.g. rules")


def _require_numbers(config: msgspec.Struct, ranges: Iterable[tuple[str, float | None, float, float]]) -> None:
    """Refuse a number that is none, and settings (path, value, least, most) that are out of their range."""
    for path, value in _floats(msgspec.to_builtins(config), ""):
        if not math.isfinite(value):
            raise UsageError(f"{path} should be a finite number, not {value}")
    for path, number, least, most in ranges:
        if number is not None and not least <= number <= most:
            bound = f"at least {least}" if number < least else f"at most {most}"
            raise UsageError(f"{path} is {bound}, not {number}")


def _floats(value: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _floats(item, f"{path}.{key}" if path else str(key))


class TaskConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which tasks."""

    path: str
    """The task file, tau2's or turngap's."""
    split: str | None = None
    """Name of one of the file's splits; None for all tasks."""
    ids: tuple[str, ...] = ()
    """Only these; empty for all."""
    scenarios: tuple[str, ...] = ()
    """Only tasks of these scenarios; empty for all."""
    limit: int | None = None
    """Keep at most this many, the first ones."""


class AuditConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A second look at the user."""

    user: ModelConfig
    """Who plays the user instead, as in `RolloutConfig.user`."""
    share: float = 0.2
    """Of the tasks, drawn by the seed; at least one."""


class RolloutConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Live trials: one model with one user on the tasks of one domain."""

    domain: str
    """``retail``, ``tau2:NAME``, ``FILE.py``, with options as a query."""
    tasks: TaskConfig
    model: ModelConfig
    user: ModelConfig = ModelConfig(spec="scripted", max_tokens=512)
    """Who plays the user: ``scripted``, ``llm/openai/NAME``, ``recorded/FILE``; and how a model behind it is asked."""
    judge: JudgeConfig = JudgeConfig()
    """For assertions in natural language."""
    trials: int = 1
    """Independent trials of every task."""
    max_steps: int = 100
    """Messages of the agent in one trial."""
    max_errors: int = 10
    """Results of the agent's calls in one trial that are errors."""
    audit: AuditConfig | None = None
    """A second user on a sample of the tasks, to see how far the score depends on who plays the user."""
    seed: int = 0
    """Of the worlds and the users; each trial has a seed of its own made from it."""

    def __post_init__(self) -> None:
        _require_numbers(
            self,
            (
                ("trials", self.trials, 1, _MOST_TRIALS),
                ("max_steps", self.max_steps, 1, _MOST),
                ("max_errors", self.max_errors, 1, _MOST),
                ("seed", self.seed, 0, _MOST),
                ("tasks.limit", self.tasks.limit, 1, _MOST),
                ("model.context_length", self.model.context_length, 1, _MOST),
            ),
        )
        if self.audit is not None and not 0 < self.audit.share <= 1:
            raise UsageError(f"audit.share is a share of the tasks, above 0 and at most 1, not {self.audit.share:g}")

    def generation_identity(self) -> dict[str, Any]:
        """The settings that decide what happens in a trial. A stored run with others cannot be resumed.

        Which tasks and how many trials are no part of it: more trials may be added to a run, and the tasks themselves
        are compared.
        """
        return {
            "domain": self.domain,
            "model": _without_pace(self.model),
            "user": _without_pace(self.user),
            "max_steps": self.max_steps,
            "max_errors": self.max_errors,
            "seed": self.seed,
        }

    def digest(self) -> str:
        """Identity of the whole configuration."""
        return jsonio.digest(self)


class SynthConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tasks to be made from trajectories in one domain."""

    domain: str
    """As in `RolloutConfig.domain`."""
    scenarios: tuple[str, ...] = SCENARIOS
    """Which kinds of task to make from each exploration."""
    count: int | None = None
    """Tasks wanted of each scenario; None: all that the explorations give."""
    explorations: int = 1000
    """Most explorations."""
    explorer: ModelConfig = ModelConfig(spec="program")
    """Who explores: ``program``, or a model."""
    summariser: ModelConfig = ModelConfig(spec="template")
    """Who puts tasks into words: ``template``, or a model."""
    scorer: ModelConfig | None = None
    """The model that scores each task from 0 to 10; None: only the hard checks are made."""
    seed: int = 0
    """Of all that is left to chance."""
    max_steps: int = 20
    """Calls of one exploration."""
    tools: int = 12
    """Tools that an exploration is offered."""
    people: str | None = None
    """The table that customers are drawn from; None: found out."""
    graph: str | None = None
    """TOML file that adds edges to the tool graph, or takes some out."""
    phrases: str | None = None
    """TOML file of wordings, laid over those that come with turngap."""

    def __post_init__(self) -> None:
        for name in ("explorations", "max_steps", "tools"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is at least 1, not {getattr(self, name)}")
        if self.count is not None and self.count < 1:
            raise UsageError(f"the number of tasks is at least 1, not {self.count}")
        _require_scenarios(self.scenarios)

    def generation_identity(self) -> dict[str, Any]:
        """The settings that decide what an exploration becomes. A stored synthesis with others cannot be resumed.

        How many tasks and explorations is no part of it: more may be asked for later.
        """
        settings: dict[str, Any] = msgspec.to_builtins(self)
        for name in ("count", "explorations"):
            settings.pop(name)
        for name in ("explorer", "summariser", "scorer"):
            asked = getattr(self, name)
            settings[name] = None if asked is None else _without_pace(asked)
        return settings


class ConverseConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conversations to be made by two parties, and approved by judges."""

    domain: str | None = None
    """As in `RolloutConfig.domain`; None where only tools and a policy are given."""
    tools: str | None = None
    """File of tool specifications, for a desk without code; `simulator` then answers their calls."""
    policy: str | None = None
    """Text file with the policy that goes with `tools`."""
    tasks: str | None = None
    """Task file with what conversations are about; None: it is made."""
    scenarios: tuple[str, ...] = SCENARIOS
    """Kinds of scenarios to make."""
    count: int = 10
    """Conversations to be begun; those that the judges approve are kept."""
    writer: ModelConfig = ModelConfig(spec="template")
    """Who makes scenarios: ``template`` (tasks synthesised in the domain), or a model."""
    model: ModelConfig = ModelConfig(spec="baseline/reference")
    """The agent."""
    user: ModelConfig = ModelConfig(spec="scripted", max_tokens=512)
    simulator: ModelConfig | None = None
    """The model that answers calls where there is no domain."""
    judges: tuple[ModelConfig, ...] = (ModelConfig(spec="reward"), ModelConfig(spec="rules"))
    """All have to approve: ``reward``, ``rules``, or models."""
    max_steps: int = 60
    """Messages of the agent in one conversation."""
    max_errors: int = 10
    """Results of the agent's calls in one conversation that are errors."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("count", "max_steps", "max_errors"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is at least 1, not {getattr(self, name)}")
        if not self.judges:
            raise UsageError("no judge: name at least one, e.g. rules")
        _require_scenarios(self.scenarios)
        self._require_a_place()

    def _require_a_place(self) -> None:
        written = self.writer.spec != "template"
        if (self.domain is None) == (self.tools is None):
            raise UsageError("conversations take place in --domain D, or with --tools FILE and --policy FILE")
        if self.tools is None and (self.policy is not None or self.simulator is not None):
            raise UsageError("--policy and --simulator go with --tools; a domain has its own policy and runs its tools")
        if self.tools is not None and (self.policy is None or self.simulator is None or not written):
            raise UsageError("--tools takes --policy FILE, a --simulator and a --writer: there is no code to do it")
        if self.tools is not None and any(judge.spec == "reward" for judge in self.judges):
            raise UsageError("judge reward compares databases, and --tools has none; name others with --judge")
        if self.tasks is not None and written:
            raise UsageError("scenarios are those of --tasks, or what --writer makes, not both")

    def generation_identity(self) -> dict[str, Any]:
        """The settings that decide what is said. Stored conversations with others cannot be gone on with.

        How many there are is no part of it, nor is who judges: others may be asked about the same conversations.
        """
        settings: dict[str, Any] = msgspec.to_builtins(self)
        for name in ("count", "judges"):
            settings.pop(name)
        for name in ("writer", "model", "user", "simulator"):
            asked = getattr(self, name)
            settings[name] = None if asked is None else _without_pace(asked)
        return settings


def _require_scenarios(names: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in SCENARIOS]
    if unknown or not names:
        raise UsageError(f"unknown scenario {', '.join(unknown) or 'none'}; known: {', '.join(SCENARIOS)}, all")


def _without_pace(asked: ModelConfig) -> dict[str, Any]:
    """How a model is asked, less what only decides how fast and at what price."""
    settings: dict[str, Any] = msgspec.to_builtins(asked)
    for pace in ("timeout", "give_up_after", "concurrency", "prices"):
        settings.pop(pace)
    return settings


def differences(ours: Any, theirs: Any, prefix: str = "") -> list[str]:
    """Name every setting in which two plain structures differ, as ``path: ours, stored theirs``."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            line
            for key in sorted({*ours, *theirs})
            for line in differences(ours.get(key), theirs.get(key), f"{prefix}.{key}" if prefix else key)
        ]
    return [] if ours == theirs else [f"{prefix}: {ours!r} asked for, {theirs!r} stored"]


def decode(text: str, kind: type[EvalConfig] = EvalConfig) -> EvalConfig:
    """Read a stored configuration.

    Raises:
        ConfigError: a field is unknown or of the wrong type (the message names it).
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"configuration: {error}") from None
