"""From stored scores to figures; never calls a model."""
