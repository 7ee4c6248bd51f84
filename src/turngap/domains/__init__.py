"""What tools act on: executable worlds, and the recorded one. `build` finds the domain that a person names."""

from __future__ import annotations

from turngap.domains.live import LiveDomain, LiveTool, LiveWorld
from turngap.domains.loading import DomainSpec, load
from turngap.registry import Registry

REGISTRY = Registry(
    "domains",
    {
        "retail": "turngap.domains.retail.domain:build",
        "tau2": "turngap.domains.tau2.domain:build",
    },
)
"""Short name -> factory ``build(spec: DomainSpec) -> LiveDomain``, or a domain."""


def build(spec: str) -> LiveDomain:
    """The domain that a spec names: ``retail?seed=3``, ``tau2:airline``, ``desk.py``, ``package.module:DOMAIN``.

    Raises:
        UsageError: unknown domain or option, or a file that cannot be imported. MissingExtra: an optional package is
            needed.
    """
    return load(spec, REGISTRY)


__all__ = ["REGISTRY", "DomainSpec", "LiveDomain", "LiveTool", "LiveWorld", "build"]
