"""Pictures of structures; they need matplotlib (the extra `plots`)."""

from margrave.plots.alignments import posterior_diagram, substitution_diagram
from margrave.plots.arcs import arc_diagram
from margrave.plots.constituents import constituent_diagram
from margrave.plots.graphs import graph_diagram
from margrave.plots.lattices import lattice_diagram
from margrave.plots.saving import save_figure

__all__ = [
    "arc_diagram",
    "constituent_diagram",
    "graph_diagram",
    "lattice_diagram",
    "posterior_diagram",
    "save_figure",
    "substitution_diagram",
]
