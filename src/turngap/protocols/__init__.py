"""The ways to score a model."""
