"""Lemmas as labels: the rule that turns a form into its lemma (Chrupala, 2006).

A language has too many lemmas to choose among, but few rules, and these also apply to forms that are not in the
training data. A rule replaces what comes before and after the longest stretch that form and lemma share; forms are
lower-cased first if the lemma has no upper case. Where nothing is shared, the rule is the lemma itself.
"""

from difflib import SequenceMatcher

from margrave.checks import natural
from margrave.errors import MargraveError, quoted

_LOWER, _EXACT, _WHOLE = "lower", "exact", "="


def lemma_rule(form: str, lemma: str) -> str:
    """The rule that turns a form into a lemma.

    Parameters
    ----------
    form, lemma : the word as it is written, and its lemma.

    >>> lemma_rule("Houses", "house"), lemma_rule("went", "go")
    ('lower/0++1+', '=go')
    """
    case = _LOWER if lemma == lemma.lower() else _EXACT
    text = form.lower() if case == _LOWER else form
    shared = SequenceMatcher(None, text, lemma, autojunk=False).find_longest_match()
    if not shared.size:
        return _WHOLE + lemma
    before, after = lemma[: shared.b], lemma[shared.b + shared.size :]
    if "+" in before + after:
        return _WHOLE + lemma
    return f"{case}/{shared.a}+{before}+{len(text) - shared.a - shared.size}+{after}"


def apply_lemma_rule(form: str, rule: str) -> str:
    """The lemma that a rule makes of a form; a form that is too short for the rule stays as it is.

    Parameters
    ----------
    form : the word as it is written.
    rule : what `lemma_rule` returned, for any form.

    >>> apply_lemma_rule("Mice", "lower/0++1+"), apply_lemma_rule("a", "lower/1+b+1+c")
    ('mic', 'a')
    """
    if rule.startswith(_WHOLE):
        return rule.removeprefix(_WHOLE)
    case, _, edit = rule.partition("/")
    dropped, before, cut, after = edit.split("+") if edit.count("+") == 3 else ("", "", "", "")
    first, last = natural(dropped), natural(cut)
    if first is None or last is None:
        raise MargraveError(f"{quoted(rule)} is not a rule for lemmas.")
    text = form.lower() if case == _LOWER else form
    if len(text) < first + last or not (lemma := before + text[first : len(text) - last] + after):
        return form
    return lemma
