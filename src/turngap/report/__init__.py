"""Figures for readers."""
