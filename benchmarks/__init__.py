"""Measurements: ratios against peers and limits, side by side in one run."""
