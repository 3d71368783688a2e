"""Label sets, taxonomies of labels, tags that encode spans, and heads of dependency trees."""

from margrave.labels.tags import Answers
from margrave.labels.taxonomy import Taxonomy

__all__ = ["Answers", "Taxonomy"]
