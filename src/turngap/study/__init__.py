"""Whole experiments: from two databases to the figures of one model before and after training on what was made."""
