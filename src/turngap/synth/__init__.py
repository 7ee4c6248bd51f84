"""Synthesis: verifiable tasks made from trajectories, and conversations kept when two judges approve."""
