"""Grows the quay treebank: sentences of a small grammar of English with their constituent trees, in Penn brackets.

    python tools/grow_constituents.py src/margrave/datasets/quay

Writes train.mrg, dev.mrg and test.mrg into the folder; the bytes are always the same. The words, and which prepositions
and nouns they combine with, are those of `grow_treebank.py`; labels and tags are those of the Penn Treebank.
"""

import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import grow_treebank as harbour

SEED = 17
PARTS = {"train": 400, "dev": 60, "test": 100}
LONGEST = 40  # words

# Pronouns: object form, possessive, and the verb form that they take.
PRONOUNS = {
    "I": ("me", "my", "I"), "you": ("you", "your", "plural"), "he": ("him", "his", "singular"),
    "she": ("her", "her", "singular"), "we": ("us", "our", "plural"), "they": ("them", "their", "plural"),
}  # fmt: skip
BE = {
    "VBD": {"I": "was", "singular": "was", "plural": "were"},
    "VBP": {"I": "am", "singular": "is", "plural": "are"},
}
LINKS = "because if while although before after until"


@dataclass(frozen=True)
class Node:
    """A constituent, or a tag above a word."""

    label: str
    children: "tuple[Node | str, ...]"

    def words(self) -> list[str]:
        """The words, from left to right."""
        found = []
        for child in self.children:
            found += [child] if isinstance(child, str) else child.words()
        return found

    def inner(self) -> "list[Node]":
        """The children of a node that is not a tag."""
        return [child for child in self.children if isinstance(child, Node)]

    def __str__(self) -> str:
        return f"({self.label} {' '.join(map(str, self.children))})"


class Noun(NamedTuple):
    """A noun phrase, the class of its noun, and the verb form that it takes: I, singular or plural."""

    tree: Node
    kind: str
    agrees: str


def node(label: str, *children: Node | str) -> Node:
    """A constituent with these children."""
    return Node(label, children)


class Grower:
    """Grows trees at random. `depth` is how much further phrases may nest."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nouns = {kind: words.split() for kind, words in harbour.NOUNS.items()}

    def learn(self, nouns: dict[str, str]) -> None:
        """Adds nouns to their classes."""
        for kind, words in nouns.items():
            self.nouns[kind] += words.split()

    def chance(self, probability: float) -> bool:
        """Whether something happens that has this probability."""
        return self.random.random() < probability

    def pick(self, words: str | list[str]) -> str:
        """One of several words."""
        return self.random.choice(words.split() if isinstance(words, str) else words)

    # ---- Nouns

    def noun(self, kind: str, depth: int, *, is_object: bool = False) -> Noun:
        """A noun phrase: a pronoun, a name, a simple noun, one with something behind it, or several of them."""
        if kind == "person" and self.chance(0.25):
            return self.pronoun(is_object)
        if kind in ("town", "day"):
            name = self.pick(harbour.TOWNS if kind == "town" else harbour.DAYS)
            return Noun(node("NP", node("NNP", name)), kind, "singular")
        if depth > 0 and kind in self.nouns and kind != "time" and self.chance(0.1):
            return self.list_of(kind)
        simple = self.name() if kind == "person" and self.chance(0.3) else self.simple(kind, depth)
        at = self.random.random() if depth > 0 else 1.0
        if at < 0.22 and simple.kind in harbour.NOUN_PHRASES:
            phrase = self.prepositional(self.pick(harbour.NOUN_PHRASES[simple.kind]), depth - 1)
            return simple._replace(tree=node("NP", simple.tree, phrase))
        if at < 0.34 and simple.kind in ("person", "animal", "thing", "text", "food", "tool"):
            return simple._replace(tree=node("NP", simple.tree, self.relative(simple, depth - 1)))
        return simple

    def pronoun(self, is_object: bool) -> Noun:
        """A personal pronoun."""
        form = self.pick(list(PRONOUNS))
        other, _, agrees = PRONOUNS[form]
        return Noun(node("NP", node("PRP", other if is_object else form)), "person", agrees)

    def name(self) -> Noun:
        """The name of a person."""
        names = [self.pick(list(harbour.FIRST))]
        if self.chance(0.3):
            names = [self.pick(harbour.TITLES), self.pick(harbour.LAST)]
        return Noun(node("NP", *(node("NNP", name) for name in names)), "person", "singular")

    def simple(self, kind: str, depth: int) -> Noun:
        """A determiner, perhaps adjectives, and a noun."""
        if kind in self.nouns:
            lemma = self.pick(self.nouns[kind])
        else:  # a verb that wants one noun in particular
            lemma, kind = kind, "tool"
        many = kind not in ("stuff", "time", "thought", "feature") and self.chance(0.25)
        head = node("NNS", harbour.plural(lemma)) if many else node("NN", lemma)
        words = self.adjectives(kind) if self.chance(0.35) else []
        if lemma in harbour.COMPOUNDS and self.chance(0.5):
            words.append(node("NN", self.pick(harbour.COMPOUNDS[lemma])))
        following = words[0].words()[0] if words else head.words()[0]
        words = [*self.determiner(kind, many, following, depth), *words, head]
        return Noun(node("NP", *words), kind, "plural" if many else "singular")

    def determiner(self, kind: str, many: bool, following: str, depth: int) -> list[Node]:
        """An article, a numeral, a possessive or nothing."""
        at = self.random.random()
        if at < 0.1:
            return [node("PRP$", PRONOUNS[self.pick(list(PRONOUNS))][1])]
        if at < 0.2 and depth > 0:
            return [node("NP", *self.name().tree.children, node("POS", "'s"))]
        if many and at < 0.45:
            return [node("CD", self.pick(harbour.NUMERALS))]
        if kind == "stuff" or many:
            return [node("DT", "the")] if self.chance(0.5) else []
        if self.chance(0.65):
            return [node("DT", "the")]
        return [node("DT", "an" if following[0] in "aeiou" else "a")]

    def adjectives(self, kind: str) -> list[Node]:
        """One adjective, two, or a phrase with an adverb or a conjunction."""
        qualities = harbour.QUALITIES.get(kind, harbour.QUALITIES["thing"])
        one = self.pick(qualities)
        rivals = [one, *(word for words in harbour.RIVALS if one in words.split() for word in words.split())]
        two = self.pick([word for word in qualities.split() if word not in rivals])
        at = self.random.random()
        if at < 0.2:
            return [node("ADJP", node("RB", self.pick("very rather")), node("JJ", one))]
        if at < 0.35:
            return [node("ADJP", node("JJ", one), node("CC", "and"), node("JJ", two))]
        return [node("JJ", one), node("JJ", two)] if at < 0.5 else [node("JJ", one)]

    def list_of(self, kind: str) -> Noun:
        """Several nouns of one class."""
        items: list[Node] = []
        while len(items) < (3 if self.chance(0.3) else 2):
            item = self.simple(kind, 0).tree
            if all(item.words()[-1] != other.words()[-1] for other in items):
                items.append(item)
        listed: list[Node] = [items[0]]
        for item in items[1:-1]:
            listed += [node(",", ","), item]
        return Noun(node("NP", *listed, node("CC", self.pick("and and or")), items[-1]), kind, "plural")

    def relative(self, of: Noun, depth: int) -> Node:
        """A relative clause about a noun, which is its subject or its object."""
        person = of.kind == "person"
        if of.kind not in ("person", "animal") or self.chance(0.35):
            lines = [line for line in harbour.TRANSITIVE if of.kind in line.split()[2].split(",")]
            subject = self.noun("person", 0)
            clause = node("S", subject.tree, self.verb(subject, depth, line=self.pick(lines), gap=True))
            pronouns = ["whom" if person else "which", "that", ""]
        else:
            clause = node("S", self.verb(of, depth))
            pronouns = ["who" if person else "which", "that"]
        pronoun = self.pick(pronouns)
        if not pronoun:
            return node("SBAR", clause)
        tag = "WDT" if pronoun in ("which", "that") else "WP"
        return node("SBAR", node("WHNP", node(tag, pronoun)), clause)

    def prepositional(self, phrase: str, depth: int) -> Node:
        """A prepositional phrase, given as preposition:class of noun."""
        preposition, kind = phrase.split(":")
        made = self.noun(kind, depth, is_object=True).tree
        for word in reversed(preposition.split("_")):
            made = node("PP", node("TO" if word == "to" else "IN", word), made)
        return made

    # ---- Verbs

    def verb(self, subject: Noun, depth: int, *, line: str = "", tag: str = "", gap: bool = False) -> Node:
        """A verb phrase; with `gap`, its object stands elsewhere. A tag, such as VB, asks for one verb form."""
        if not line and subject.kind == "person" and depth > 0 and not gap and self.chance(0.35):
            return self.special_verb(subject, depth, tag)
        if not line:
            kind = subject.kind if subject.kind in ("animal", "thing", "text", "tool", "piece") else "person"
            fit = [each for each in harbour.TRANSITIVE + harbour.INTRANSITIVE if kind in each.split()[1].split(",")]
            line = self.pick(fit or harbour.INTRANSITIVE[-4:])
        lemma, _, objects, *phrases = line.split()
        behind: list[Node] = []
        if objects != "-" and not gap:
            behind.append(self.noun(self.pick(objects.split(",")), depth - 1, is_object=True).tree)
        if self.chance(0.12):
            behind.append(node("ADVP", node("RB", self.pick(harbour.MANNER))))
        wanted = 0 if objects != "-" and self.chance(0.35) else 1 if self.chance(0.75) else 2
        for phrase in self.random.sample(phrases, min(wanted, len(phrases))):
            behind.append(self.prepositional(phrase, depth - 1))
        made = self.group(lemma, subject, behind, tag)
        if depth > 1 and not gap and not tag and self.chance(0.08):
            second = self.verb(subject, 0, line=self.pick(harbour.INTRANSITIVE[:12]))
            return node("VP", made, node("CC", self.pick("and but or")), second)
        return made

    def group(self, lemma: str, subject: Noun, behind: list[Node], tag: str = "") -> Node:
        """A verb with its auxiliaries, one verb phrase each, and what stands behind it."""
        if tag:
            forms = {"VB": lemma, "VBG": harbour.inflected(lemma, "ing"), "VBN": harbour.inflected(lemma, "en")}
            return node("VP", node(tag, forms[tag]), *behind)
        time = self.random.choice(["past"] * 10 + ["present"] * 4 + ["modal"] * 3 + ["perfect"] * 3 + ["now"] * 3)
        negation = [node("RB", "not")] if self.chance(0.08) else []
        third = subject.agrees == "singular"
        if time == "modal":
            modal = node("MD", self.pick("will can must should may"))
            return node("VP", modal, *negation, self.group(lemma, subject, behind, "VB"))
        if time == "perfect":
            have = node("VBZ", "has") if third else node("VBP", "have")
            return node("VP", have, *negation, self.group(lemma, subject, behind, "VBN"))
        if time == "now":
            return node("VP", self.be(subject), *negation, self.group(lemma, subject, behind, "VBG"))
        if negation:
            did = node("VBD", "did") if time == "past" else node("VBZ", "does") if third else node("VBP", "do")
            return node("VP", did, *negation, self.group(lemma, subject, behind, "VB"))
        often = [node("ADVP", node("RB", self.pick(harbour.FREQUENCY)))] if self.chance(0.08) else []
        if time == "past":
            return node("VP", *often, node("VBD", harbour.inflected(lemma, "past")), *behind)
        form = node("VBZ", harbour.inflected(lemma, "s")) if third else node("VBP", lemma)
        return node("VP", *often, form, *behind)

    def be(self, subject: Noun) -> Node:
        """A form of be."""
        tag = self.pick("VBD VBP")
        third = tag == "VBP" and subject.agrees == "singular"
        return node("VBZ" if third else tag, BE[tag][subject.agrees])

    def special_verb(self, subject: Noun, depth: int, tag: str) -> Node:
        """Verbs with two objects, particles, infinitives or clauses."""
        at = self.random.random()
        if at < 0.25:
            thing = self.noun(self.pick("thing tool food text"), depth - 1, is_object=True).tree
            if self.chance(0.5):
                objects = [self.noun("person", 0, is_object=True).tree, thing]
            else:
                objects = [thing, self.prepositional("to:person", 0)]
            return self.group(self.pick(harbour.GIVING), subject, objects, tag)
        if at < 0.45:
            lemma = self.pick(list(harbour.PHRASAL))
            particle = node("PRT", node("RP", harbour.PHRASAL[lemma]))
            thing = self.noun(self.pick("thing tool food"), 0, is_object=True).tree
            return self.group(lemma, subject, [thing, particle] if self.chance(0.5) else [particle, thing], tag)
        if at < 0.65:
            return self.group(self.pick(harbour.WANTING), subject, [self.infinitive(subject, depth - 1)], tag)
        if at < 0.75:
            person = self.noun("person", 0, is_object=True)
            objects = [node("S", person.tree, *self.infinitive(person, depth - 1).inner())]
            return self.group(self.pick(harbour.URGING), subject, objects, tag)
        clause = self.clause(depth - 1)
        if self.chance(0.2):
            return self.group(self.pick(harbour.ASKING), subject, [node("SBAR", node("IN", "whether"), clause)], tag)
        inner = node("SBAR", node("IN", "that"), clause) if self.chance(0.6) else node("SBAR", clause)
        return self.group(self.pick(harbour.SAYING), subject, [inner], tag)

    def infinitive(self, subject: Noun, depth: int) -> Node:
        """An infinitive with to."""
        return node("S", node("VP", node("TO", "to"), self.verb(subject, depth, tag="VB")))

    # ---- Clauses and sentences

    def subject(self, depth: int) -> Noun:
        """The subject of a clause."""
        kind = self.random.choice(["person"] * 6 + ["animal"] * 2 + ["thing"] * 2 + ["text"])
        return self.noun(kind, depth)

    def clause(self, depth: int) -> Node:
        """A declarative clause."""
        at = self.random.random()
        if at < 0.14:
            subject = self.subject(depth)
            return node("S", subject.tree, node("VP", self.be(subject), self.predicate(subject, depth)))
        if at < 0.19:
            what = self.simple(self.pick("thing animal person food stuff"), 0)
            place = self.prepositional(self.pick("in:place near:place behind:place"), 0)
            return node("S", node("NP", node("EX", "there")), node("VP", self.be(what), what.tree, place))
        if at < 0.29:
            return self.passive(depth)
        subject = self.subject(depth)
        return node("S", subject.tree, self.verb(subject, depth))

    def predicate(self, subject: Noun, depth: int) -> Node:
        """What something is: an adjective, a comparison, or a place."""
        at = self.random.random()
        if at < 0.4:
            adjective = self.pick(harbour.QUALITIES.get(subject.kind, harbour.QUALITIES["person"]))
            adverb = [node("RB", self.pick("very too rather"))] if self.chance(0.4) else []
            return node("ADJP", *adverb, node("JJ", adjective))
        if at < 0.7:
            adjective = harbour.COMPARATIVES[self.pick(list(harbour.COMPARATIVES))]
            return node("ADJP", node("JJR", adjective), self.prepositional(f"than:{subject.kind}", 0))
        return self.prepositional(self.pick("in:place near:place behind:place"), depth - 1)

    def passive(self, depth: int) -> Node:
        """Something is done, perhaps by someone."""
        lemma, _, objects, *phrases = self.pick(harbour.TRANSITIVE).split()
        subject = self.noun(self.pick(objects.split(",")), depth)
        behind = [self.prepositional("by:person", depth - 1)] if self.chance(0.5) else []
        if self.chance(0.5):
            behind.append(self.prepositional(self.pick(phrases), 0))
        return node("S", subject.tree, node("VP", self.be(subject), self.group(lemma, subject, behind, "VBN")))

    def adverbial(self, depth: int) -> Node:
        """An adverbial clause."""
        return node("SBAR", node("IN", self.pick(LINKS)), self.clause(depth))

    def sentence(self, depth: int) -> Node:
        """A sentence with its final mark: a statement, several of them, a question or a command."""
        at = self.random.random()
        stop = node(".", ".")
        if at < 0.12:
            link = [node(",", ","), node("CC", self.pick("and but so"))]
            made = node("S", self.clause(depth), *link, self.clause(depth - 1), stop)
        elif at < 0.22:
            subject = self.subject(depth - 1)
            did = node("MD", self.pick("will can must should")) if self.chance(0.5) else node("VBD", "did")
            made = node("SQ", did, subject.tree, self.verb(subject, depth - 1, tag="VB"), node(".", "?"))
        elif at < 0.28:
            you = Noun(node("NP", node("PRP", "you")), "person", "plural")
            made = node("S", self.verb(you, depth, tag="VB"), node(".", self.pick(". !")))
        elif at < 0.42:
            first = self.adverbial(depth - 1) if self.chance(0.6) else self.prepositional("after:time", 0)
            made = node("S", first, node(",", ","), *self.clause(depth).inner(), stop)
        elif at < 0.56:
            clause = self.clause(depth)
            *front, verb = clause.inner()
            made = node("S", *front, node("VP", *verb.inner(), self.adverbial(depth - 1)), stop)
        else:
            made = node("S", *self.clause(depth).inner(), stop)
        return node("TOP", capital(made))


def capital(tree: Node) -> Node:
    """The tree with a capital at its beginning."""
    first, *others = tree.children
    if isinstance(first, str):
        return node(tree.label, first[0].upper() + first[1:])
    return node(tree.label, capital(first), *others)


def treebank(seed: int) -> dict[str, list[str]]:
    """The trees of every part, as brackets. No sentence occurs twice."""
    grower = Grower(seed)
    seen: set[str] = set()
    parts: dict[str, list[str]] = {}
    for part, size in PARTS.items():
        parts[part] = []
        if part == "dev":
            grower.learn(harbour.NEW_NOUNS)
        while len(parts[part]) < size:
            tree = grower.sentence(grower.random.choice([1, 2, 2, 3, 3, 4]))
            text = " ".join(tree.words())
            if 3 <= len(tree.words()) <= LONGEST and text not in seen:
                seen.add(text)
                parts[part].append(str(tree))
    return parts


def main() -> None:
    """Writes the parts into the folder that is given."""
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for part, trees in treebank(SEED).items():
        (folder / f"{part}.mrg").write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")


if __name__ == "__main__":
    main()
