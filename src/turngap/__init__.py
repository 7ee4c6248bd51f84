"""turngap: does the agent finish the workflow, or does only its next turn look good?"""

__version__ = "0.1.0"
