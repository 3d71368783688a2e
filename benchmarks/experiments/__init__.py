"""One file per experiment, with what it measures, its table and its plot."""
