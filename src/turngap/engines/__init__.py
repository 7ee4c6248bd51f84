"""How units of work are run."""
