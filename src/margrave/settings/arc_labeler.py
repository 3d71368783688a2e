"""The settings of `ArcLabeler`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from margrave.options import option
from margrave.settings.learning import LearningSettings

if TYPE_CHECKING:
    from margrave.features.base import Features


@dataclass(eq=False, repr=False, kw_only=True)
class ArcLabelerSettings(LearningSettings):
    """What an `ArcLabeler` can be told."""

    weights: Any = option(
        "auto",
        'Which features have weights: "observed", those of the training trees; "hash:BITS", all, hashed; "auto", '
        '"hash:22" if there are many words, and otherwise "observed".',
    )
    features: "Features | str | None" = option(
        "default", 'How sentences become features: `margrave.features.ArcTemplates`, or "default".'
    )
