"""Label sets, taxonomies of labels, and tags that encode spans."""

from margrave.labels.taxonomy import Taxonomy

__all__ = ["Taxonomy"]
