"""From what a person types to a domain: ``retail?seed=3``, ``tau2:airline``, ``desk.py``, ``package.module:DOMAIN``.

A domain file is a Python module with a `DOMAIN`: the domain, or a function that makes it from the spec's options.
Code is loaded only from what the person names; no data file can name any. Short names are those of
`turngap.domains.REGISTRY`; packages add theirs by entry points of the group ``turngap.domains``.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from turngap import jsonio
from turngap.domains.blame import Blame
from turngap.domains.live import LiveDomain
from turngap.errors import UsageError
from turngap.registry import Registry


class DomainSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed, taken apart. A factory is ``build(spec) -> LiveDomain``."""

    text: str
    """As it was typed."""
    name: str
    """The short name, dotted path or file."""
    argument: str = ""
    """What stands behind a short name and a colon: ``airline`` of ``tau2:airline``."""
    options: dict[str, str] = {}
    """What stands behind the question mark: ``{"seed": "3"}``."""

    def only(self, *known: str) -> None:
        """Refuse options that nobody reads.

        Raises:
            UsageError: there is another option than the known ones.
        """
        unknown = sorted(self.options.keys() - set(known))
        if unknown:
            listed = f"known: {', '.join(known)}" if known else "it takes none"
            raise UsageError(f"domain {self.text!r}: unknown option {unknown[0]!r}; {listed}")


def parse(text: str, registry: Registry) -> DomainSpec:
    """Take a spec apart.

    Raises:
        UsageError: nothing is named, or an option is not one key=value.
    """
    head, _, query = text.partition("?")
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not equals or not key or key in options:
            raise UsageError(f"domain {text!r}: option {part!r} should be one key=value")
        options[key] = value
    if not head:
        raise UsageError(f"no domain is named; known: {', '.join(registry.names())}, FILE.py, module:attribute")
    name, _, argument = head.partition(":")
    if argument and name in registry.names():
        return DomainSpec(text=text, name=name, argument=argument, options=options)
    return DomainSpec(text=text, name=head, options=options)


def load(text: str, registry: Registry) -> LiveDomain:
    """The domain that a spec names.

    Raises:
        UsageError: it is unknown, its file is missing or cannot be imported (the line is named), it holds no domain, or
            an option is unknown. MissingExtra: an optional package is needed.
    """
    spec = parse(text, registry)
    path, _, attribute = spec.name.partition(".py:")
    if attribute or spec.name.endswith(".py"):
        file = Path(f"{path}.py" if attribute else path)
        attribute = attribute or "DOMAIN"
        found = getattr(_module(file), attribute, None)
        if found is None:
            raise UsageError(f"domain file {file} has no {attribute}; it should end with {attribute} = Domain(...)")
    else:
        with Blame(f"domain {spec.text!r}", raises=UsageError):
            found = _known(spec, registry)
    return _domain(found, spec)


def _known(spec: DomainSpec, registry: Registry) -> Any:
    """What a short name or a dotted path stands for; where it is a file without its ending, the error says so."""
    try:
        return registry.load(spec.name)
    except UsageError as error:
        stem, _, attribute = spec.name.partition(":")
        if not Path(f"{stem}.py").is_file():
            raise UsageError(f"{error}{'' if attribute else '; or FILE.py'}") from None
        meant = f"{stem}.py:{attribute}" if attribute else f"{stem}.py"
        raise UsageError(f"{error}. There is a file {stem}.py; for the domain in it give {meant}") from None


def _domain(found: Any, spec: DomainSpec) -> LiveDomain:
    if callable(found):
        with Blame(f"domain {spec.text!r}", found, raises=UsageError):
            found = found(spec)
    else:
        spec.only()
    if not (hasattr(found, "world") and hasattr(found, "tools") and hasattr(found, "policy")):
        raise UsageError(f"domain {spec.text!r}: {type(found).__name__} is no domain; make one with Domain(...)")
    domain: LiveDomain = found
    return domain


def _module(file: Path) -> ModuleType:
    if not file.is_file():
        raise UsageError(f"there is no domain file {file}")
    where = file.resolve()
    # Registered under a name of its own, so that type hints and pickles find it, and no other module is hidden.
    name = f"turngap_domain_{where.stem}_{jsonio.digest(str(where))[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    loader = importlib.util.spec_from_file_location(name, where)
    if loader is None or loader.loader is None:
        raise UsageError(f"domain file {file} cannot be imported")
    module = importlib.util.module_from_spec(loader)
    sys.modules[name] = module
    try:
        with Blame(f"domain file {file}", file=str(where), raises=UsageError):
            loader.loader.exec_module(module)
    except UsageError:
        del sys.modules[name]
        raise
    return module
