"""What labels can mean: places in a taxonomy, tags that write spans."""

from margrave.labels.taxonomy import Taxonomy

__all__ = ["Taxonomy"]
