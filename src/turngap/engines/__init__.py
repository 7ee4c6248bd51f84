"""How units of work are run, and who is told about it."""

from turngap.engines.base import Progress, Quiet
from turngap.engines.local import run_units

__all__ = ["Progress", "Quiet", "run_units"]
