"""Label sets, taxonomies of labels, tags that encode spans, and heads of dependency trees."""

from margrave.labels.taxonomy import Taxonomy

__all__ = ["Taxonomy"]
