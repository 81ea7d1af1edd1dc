"""Equations of Office files as LaTeX."""
