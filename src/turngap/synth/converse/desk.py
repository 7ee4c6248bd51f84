"""Where conversations take place: a policy and tools, with a domain that runs them or without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from turngap import domains, jsonio
from turngap.config import ConverseConfig
from turngap.data import ToolSpec
from turngap.data.task import is_write
from turngap.domains import LiveDomain
from turngap.errors import DataError
from turngap.formats.toolfile import load_tools
from turngap.metrics.validation import Validator


class Desk(msgspec.Struct, frozen=True, kw_only=True):
    """What agent, writer and judges are told of the place."""

    name: str
    policy: str
    tools: tuple[ToolSpec, ...]
    writes: frozenset[str]
    """Names of the tools that change something; without a domain, as their names tell."""
    domain: LiveDomain | None = None
    """Runs the tools; None where there are only their specifications."""

    @classmethod
    def of(cls, domain: LiveDomain) -> Desk:
        """The desk of a domain."""
        return cls(
            name=domain.name,
            policy=domain.policy,
            tools=tuple(tool.spec for tool in domain.tools),
            writes=frozenset(tool.name for tool in domain.tools if tool.kind == "write"),
            domain=domain,
        )

    def identity(self) -> dict[str, Any]:
        """Everything of it that can change a conversation."""
        if self.domain is not None:
            return self.domain.identity()
        return {"policy": jsonio.digest(self.policy), "tools": jsonio.digest(self.tools)}

    def names(self) -> list[str]:
        """The names of the tools, in their order."""
        return [tool.name for tool in self.tools]


class Gatekeeper:
    """Says what is wrong with a call before any tool sees it, in the words that an agent gets."""

    def __init__(self, desk: Desk) -> None:
        self._known = ", ".join(desk.names())
        self._schemas = {tool.name: tool.parameters for tool in desk.tools}
        self._validators: dict[str, Validator] = {}

    def knows(self, name: str) -> bool:
        """Whether there is such a tool."""
        return name in self._schemas

    def unknown(self, name: str) -> str:
        """What is said to a call of a tool that there is not."""
        return f"unknown tool '{name}'; known: {self._known}"

    def problem(self, name: str, arguments: dict[str, Any]) -> str | None:
        """What the tool's schema refuses; None when nothing."""
        validator = self._validators.get(name)
        if validator is None:
            validator = self._validators[name] = Validator(self._schemas[name])
        return validator.problem(arguments)


def open_desk(config: ConverseConfig) -> Desk:
    """Open what a configuration names.

    Raises:
        UsageError: unknown domain. DataError: the file of tools or the policy cannot be read.
    """
    if config.domain is not None:
        return Desk.of(domains.build(config.domain))
    tools, policy = Path(config.tools or ""), Path(config.policy or "")
    specs = load_tools(tools).specs
    return Desk(
        name=tools.name.partition(".")[0],
        policy=_text(policy),
        tools=specs,
        writes=frozenset(spec.name for spec in specs if is_write(spec.name)),
    )


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise DataError(f"the policy cannot be read: {error.strerror}", file=str(path)) from None
    except UnicodeDecodeError:
        raise DataError("the policy is not UTF-8", file=str(path)) from None
    if not text:
        raise DataError("the policy is empty", file=str(path))
    return text
