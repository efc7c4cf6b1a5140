"""Plots and pages for people.

May import: `support`. The one place that knows matplotlib.
"""
