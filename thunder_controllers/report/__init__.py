"""Figures and the page that shows them."""

from thunder_dynamics.errors import require

require("plotly")
