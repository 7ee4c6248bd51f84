"""Pure functions: call matching, text similarity, intervals, agreement."""
