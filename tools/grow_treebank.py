"""Grows the harbour treebank: sentences of a small grammar of English, with their dependency trees, in CoNLL-U.

    python tools/grow_treebank.py src/margrave/datasets/harbour

Writes train.conllu, dev.conllu and test.conllu into the folder; the bytes are always the same. The grammar decides by
its words where prepositional phrases attach: verbs and nouns each say which prepositions and nouns they combine with.
"""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SEED = 20
PARTS = {"train": 320, "dev": 50, "test": 80}
NON_PROJECTIVE_EVERY = 50  # sentences

# ---- Words -----------------------------------------------------------------------------------------------------------

NOUNS = {
    "person": "fisherman baker captain sailor widow teacher boy girl woman man nurse painter carpenter cook child "
    "neighbour pilot stranger smith postman doctor apprentice innkeeper miller diver clerk ferryman grandmother",
    "animal": "dog cat gull goat horse donkey seal hen heron puppy goose",
    "tool": "knife hammer brush needle shovel axe saw hook ladder telescope wrench broom chisel lantern",
    "feature": "beard hat coat scar moustache scarf limp apron",
    "piece": "sail mast handle roof chimney window lid keel balcony shutter hinge drawer",
    "thing": "boat ferry barge cart chest basket barrel table clock net rope stove bell chair crate parcel bucket "
    "bench wheel anchor oar lamp cupboard raft",
    "text": "letter book story song map rumour report message poem notice",
    "food": "loaf herring cake apple egg plum pie lobster onion pear",
    "place": "harbour kitchen market village cellar chapel island quay beach lighthouse shed square inn mill yard "
    "garden bridge school bay tower workshop warehouse meadow",
    "time": "storm winter summer evening morning wedding festival flood afternoon",
    "thought": "plan idea price journey question weather tide trouble past",
    "stuff": "bread soup salt tea honey wool tar rain paint smoke timber",
}
NEW_NOUNS = {  # that occur only in dev and test
    "person": "weaver orphan priest gardener", "animal": "otter pony swan", "tool": "spade compass",
    "thing": "wagon canoe mirror trunk", "text": "diary prayer legend", "food": "turnip bun mussel",
    "place": "orchard pier attic bakery", "stuff": "flour clay",
}  # fmt: skip
PLURALS = {
    "fisherman": "fishermen", "woman": "women", "man": "men", "child": "children", "postman": "postmen",
    "knife": "knives", "ferryman": "ferrymen", "goose": "geese", "loaf": "loaves", "herring": "herring",
}  # fmt: skip
FIRST = {"Ida": "Fem", "Tomas": "Masc", "Greta": "Fem", "Jonas": "Masc", "Vera": "Fem", "Anton": "Masc", "Nell": "Fem",
         "Rufus": "Masc", "Marta": "Fem", "Oskar": "Masc", "Dora": "Fem", "Felix": "Masc"}  # fmt: skip
LAST = ["Moss", "Rook", "Lindqvist", "Farrow", "Quill", "Tarn", "Hobb", "Winter"]
TITLES = ["Captain", "Doctor", "Aunt", "Uncle", "Mrs", "Mr"]
TOWNS = ["Saltby", "Orrin", "Kelmouth", "Port-Vale", "Skerry", "Dunmarsh"]
DAYS = ["Monday", "Tuesday", "Thursday", "Friday", "Sunday"]

QUALITIES = {
    "person": "old young tall kind angry tired clever quiet proud",
    "animal": "old young hungry black white noisy thin",
    "thing": "old new heavy small red green broken wooden blue strong",
    "place": "old small dark quiet empty narrow crowded cold",
    "text": "long old sad strange short famous",
    "food": "fresh small sweet large ripe",
    "thought": "strange good bad long simple",
    "time": "long cold terrible last",
    "stuff": "fresh cold good black",
}
RIVALS = ["old new young", "small large heavy", "red green blue black white", "long short", "sweet sad", "good bad"]
QUALITIES |= dict.fromkeys(("tool", "piece"), QUALITIES["thing"]) | {"feature": "long red old grey thick"}
COMPARATIVES = {"old": "older", "tall": "taller", "heavy": "heavier", "small": "smaller", "quiet": "quieter",
                "young": "younger", "cold": "colder", "strong": "stronger", "long": "longer"}  # fmt: skip
MANNER = ["slowly", "quickly", "carefully", "quietly", "happily", "suddenly", "badly", "gently", "secretly"]
FREQUENCY = ["often", "never", "always", "still"]
COMPOUNDS = {"soup": ["fish", "onion"], "boat": ["fishing", "pilot"], "table": ["kitchen"], "wall": ["harbour"],
             "bell": ["chapel", "ferry"], "window": ["kitchen", "tower"], "cake": ["plum", "honey"],
             "clock": ["tower", "school"], "pie": ["apple", "herring"], "roof": ["mill", "chapel"]}  # fmt: skip
NUMERALS = ["two", "three", "four", "seven", "twelve"]

# The phrases that a noun can have behind it: preposition and class of the noun inside.
NOUN_PHRASES = {
    "person": "with:feature with:feature from:place from:town of:place",
    "animal": "with:feature from:place",
    "thing": "with:piece with:piece of:person from:town in:place",
    "piece": "of:thing of:thing",
    "tool": "with:piece of:person",
    "text": "about:person about:animal about:time about:thought from:person",
    "place": "near:place by:place of:town",
    "food": "with:stuff from:town",
    "thought": "of:person about:time",
    "stuff": "from:town",
}

# Verbs with their objects: lemma, classes of subjects, classes of objects, phrases that belong to the verb.
TRANSITIVE = """
mend person thing,piece with:tool in:place for:person
repair person thing,piece with:tool at:place
cut person thing,food with:tool in:place
open person thing,piece with:tool
break person,animal thing,piece with:tool in:place
paint person thing,piece,place with:tool on:day
clean person thing,place,tool with:tool with:stuff before:time
cover person thing,food with:stuff
carry person thing,food,tool from:place to:place across:place
bring person thing,food,text from:place to:place to:person
drag person,animal thing into:place out_of:place
find person,animal thing,food,tool,text in:place under:thing behind:place
lose person tool,text,thing in:place during:time
hide person,animal food,tool,text behind:place under:thing from:person
keep person thing,tool,text in:place near:place
leave person thing,tool,text in:place on:thing
steal animal,person food,tool from:person from:place
see person person,animal,thing with:telescope from:place in:place
watch person,animal person,animal,thing with:telescope from:place
follow animal,person person,animal through:place into:place
meet person person at:place on:day before:time
know person person,text,place since:time
read person text to:person in:place
write person text with:tool in:place to:person
buy person thing,food,stuff,tool for:person at:place from:person
eat person,animal food with:tool in:place
fetch person thing,stuff,tool,person from:place with:thing
load person stuff,thing onto:thing with:tool
describe person person,place,text to:person in:text
discuss person thought,text with:person after:time
""".strip().splitlines()
INTRANSITIVE = """
walk person,animal - to:place along:place with:person
row person - across:place to:place with:person
run person,animal - through:place into:place from:person
hurry person - to:place from:place after:person
swim person,animal - around:place to:place
sleep person,animal - in:place under:thing during:time
wait person,animal - for:person at:place near:place
live person,animal - in:place near:place with:person
work person - in:place for:person with:tool
talk person - about:thought about:person with:person
argue person - with:person about:thought about:text
laugh person - about:text at:person
return person,animal - from:place to:place after:time on:day
arrive person,thing - at:place on:day before:time
stand thing,person,animal - near:place behind:place on:place
lie thing,animal,tool - on:thing under:thing in:place
sink thing - in:place during:time near:place
fall thing,person,piece - from:thing into:place during:time
disappear person,animal,text - from:place after:time
look person - at:thing for:tool for:animal through:piece
""".strip().splitlines()
GIVING = ["give", "show", "send", "lend", "sell", "offer"]  # a person a thing, or a thing to a person
PHRASAL = {"pick": "up", "put": "away", "throw": "out", "take": "down", "tie": "up", "bring": "back", "hand": "over"}
SAYING = ["say", "think", "know", "believe", "hear", "notice", "remember", "hope"]
ASKING = ["ask", "wonder"]
WANTING = ["want", "begin", "try", "hope", "promise", "refuse", "learn", "decide"]
URGING = ["ask", "tell", "help", "teach", "persuade", "order"]
IRREGULAR = {  # past, past participle
    "cut": "cut cut", "break": "broke broken", "bring": "brought brought", "find": "found found", "lose": "lost lost",
    "hide": "hid hidden", "keep": "kept kept", "leave": "left left", "steal": "stole stolen", "see": "saw seen",
    "meet": "met met", "know": "knew known", "read": "read read", "write": "wrote written", "buy": "bought bought",
    "eat": "ate eaten", "run": "ran run", "swim": "swam swum", "sleep": "slept slept", "stand": "stood stood",
    "lie": "lay lain", "sink": "sank sunk", "fall": "fell fallen", "give": "gave given", "show": "showed shown",
    "send": "sent sent", "lend": "lent lent", "sell": "sold sold", "put": "put put", "throw": "threw thrown",
    "take": "took taken", "say": "said said", "think": "thought thought", "hear": "heard heard", "begin": "began begun",
    "tell": "told told", "teach": "taught taught", "make": "made made", "hold": "held held",
}  # fmt: skip
DOUBLED = {"cut", "drag", "run", "swim", "begin", "put", "plan"}  # the last consonant, before -ing and -ed


def plural(noun: str) -> str:
    """The plural of a noun."""
    if noun in PLURALS:
        return PLURALS[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def inflected(verb: str, form: str) -> str:
    """A verb as "s" (third person), "past", "en" (past participle) or "ing"."""
    if form == "s":
        return plural(verb)
    if form == "ing":
        stem = "ly" if verb == "lie" else verb[:-1] if verb.endswith("e") and not verb.endswith("ee") else verb
        return stem + (stem[-1] if verb in DOUBLED else "") + "ing"
    if verb in IRREGULAR:
        return IRREGULAR[verb].split()[form == "en"]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + (verb[-1] if verb in DOUBLED else "") + ("d" if verb.endswith("e") else "ed")


# ---- Trees -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Token:
    """A word, its head and its relation to it."""

    form: str
    upos: str
    lemma: str
    feats: str = "_"
    head: "Token | None" = None
    deprel: str = "root"
    joined: bool = False  # with the word before, into one multiword token
    tight: bool = False  # no space before
    opens: bool = False  # no space behind


@dataclass
class Phrase:
    """Words in order, one of which is the head of all others that have no head inside."""

    head: Token
    tokens: list[Token] = field(default_factory=list)
    plural: bool = False
    person: int = 3
    kind: str = ""  # the class of a noun

    def under(self, head: Token, deprel: str) -> list[Token]:
        """The words, once they hang on a head."""
        self.head.head, self.head.deprel = head, deprel
        return self.tokens


def token(form: str, upos: str, lemma: str = "", feats: str = "_", **more: bool) -> Token:
    """A word whose lemma is its form unless given."""
    return Token(form, upos, lemma or form, feats, **more)


def hang(child: Token, head: Token, deprel: str) -> Token:
    """The child, once it hangs on a head."""
    child.head, child.deprel = head, deprel
    return child


def comma(head: Token) -> Token:
    """A comma that hangs on a head."""
    return hang(token(",", "PUNCT", tight=True), head, "punct")


PRONOUNS = {  # nominative: accusative, possessive, person, number, gender
    "I": ("me", "my", 1, "Sing", ""), "you": ("you", "your", 2, "Sing", ""), "he": ("him", "his", 3, "Sing", "Masc"),
    "she": ("her", "her", 3, "Sing", "Fem"), "we": ("us", "our", 1, "Plur", ""),
    "they": ("them", "their", 3, "Plur", ""),
}  # fmt: skip


class Grammar:
    """Grows sentences at random. `depth` is how much further phrases may nest."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nouns = {kind: words.split() for kind, words in NOUNS.items()}

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

    def pronoun(self, case: str = "Nom") -> Phrase:
        """A personal pronoun."""
        form = self.pick(list(PRONOUNS))
        accusative, _, person, number, gender = PRONOUNS[form]
        feats = f"Case={case}|" + (f"Gender={gender}|" if gender else "")
        feats += f"Number={number}|Person={person}|PronType=Prs"
        one = token(form if case == "Nom" else accusative, "PRON", form, feats)
        return Phrase(one, [one], number == "Plur", person, "person")

    def name(self) -> Phrase:
        """The name of a person."""
        first = self.pick(list(FIRST))
        head = token(first, "PROPN", feats="Number=Sing")
        tokens = [head]
        if self.chance(0.3):
            title = self.pick(TITLES)
            head = token(title, "PROPN", feats="Number=Sing")
            tokens = [head, hang(token(self.pick(LAST), "PROPN", feats="Number=Sing"), head, "flat")]
        elif self.chance(0.35):
            tokens.append(hang(token(self.pick(LAST), "PROPN", feats="Number=Sing"), head, "flat"))
        return Phrase(head, tokens, kind="person")

    def bare_name(self, word: str) -> Phrase:
        """A name of one word."""
        head = token(word, "PROPN", feats="Number=Sing")
        return Phrase(head, [head])

    def noun(self, kind: str, depth: int, *, simple: bool = False, number: str = "", new: bool = False) -> Phrase:
        """A noun of a class with a determiner and modifiers, or a name; with `new`, it is indefinite."""
        if kind == "town":
            return self.bare_name(self.pick(TOWNS))
        if kind == "day":
            return self.bare_name(self.pick(DAYS))
        if kind in self.nouns:
            lemma = self.pick(self.nouns[kind])
        else:  # a verb that wants one noun in particular
            lemma, kind = kind, "tool"
        if kind == "person" and not number and self.chance(0.35):
            phrase = self.name()
            return self.apposition(phrase, depth) if depth > 0 and not simple and self.chance(0.15) else phrase
        mass = kind == "stuff"
        many = (
            not mass
            and kind not in ("time", "thought", "feature")
            and (number == "Plur" or (not number and self.chance(0.25)))
        )
        head = token(plural(lemma) if many else lemma, "NOUN", lemma, f"Number={'Plur' if many else 'Sing'}")
        before = self.article(head, many, mass) if new else self.determiner(head, many, mass, depth)
        qualities = QUALITIES.get(kind, QUALITIES["thing"])
        if self.chance(0.35):
            before += self.adjectives(head, qualities)
        if lemma in COMPOUNDS and self.chance(0.5):
            before.append(hang(token(self.pick(COMPOUNDS[lemma]), "NOUN", feats="Number=Sing"), head, "compound"))
        if before and before[0].form == "a" and (before[1:] or [head])[0].form[0] in "aeiou":
            before[0].form = "an"
        phrase = Phrase(head, [*before, head], many, 3, kind)
        if not simple and depth > 0:
            self.modify(phrase, depth)
        return phrase

    def determiner(self, head: Token, many: bool, mass: bool, depth: int) -> list[Token]:
        """An article, a numeral, a possessive or nothing."""
        at = self.random.random()
        if at < 0.12:
            form = self.pick(list(PRONOUNS))
            _, owner, person, number, gender = PRONOUNS[form]
            feats = "Case=Gen|" + (f"Gender={gender}|" if gender else "")
            feats += f"Number={number}|Person={person}|Poss=Yes|PronType=Prs"
            return [hang(token(owner, "PRON", owner, feats), head, "nmod:poss")]
        if at < 0.2 and depth > 0:
            owner_phrase = self.noun("person", 0, simple=True, number="Sing") if self.chance(0.4) else self.name()
            tokens = owner_phrase.under(head, "nmod:poss")
            return [*tokens, hang(token("'s", "PART", joined=True), owner_phrase.head, "case")]
        if many and at < 0.4:
            numeral = self.pick(NUMERALS)
            return [hang(token(numeral, "NUM", feats="NumForm=Word|NumType=Card"), head, "nummod")]
        if mass or (many and at < 0.6):
            article = token("the", "DET", feats="Definite=Def|PronType=Art")
            return [hang(article, head, "det")] if self.chance(0.4) else []
        if at < 0.7 or many:
            if self.chance(0.08):
                form = "these" if many else "this"
                feats = f"Number={'Plur' if many else 'Sing'}|PronType=Dem"
                return [hang(token(form, "DET", "this", feats), head, "det")]
            return [hang(token("the", "DET", feats="Definite=Def|PronType=Art"), head, "det")]
        if self.chance(0.1):
            return [hang(token("every", "DET", feats="PronType=Tot"), head, "det")]
        return [hang(token("a", "DET", "a", "Definite=Ind|PronType=Art"), head, "det")]

    def article(self, head: Token, many: bool, mass: bool) -> list[Token]:
        """What stands before a noun that is new."""
        if many and self.chance(0.6):
            numeral = self.pick(NUMERALS)
            return [hang(token(numeral, "NUM", feats="NumForm=Word|NumType=Card"), head, "nummod")]
        return [] if many or mass else [hang(token("a", "DET", "a", "Definite=Ind|PronType=Art"), head, "det")]

    def adjectives(self, head: Token, qualities: str) -> list[Token]:
        """One adjective, one with an adverb, or two."""
        one = self.pick(qualities)
        rivals = [one, *(word for words in RIVALS if one in words.split() for word in words.split())]
        two = self.pick([word for word in qualities.split() if word not in rivals])
        adjective = hang(token(one, "ADJ", feats="Degree=Pos"), head, "amod")
        at = self.random.random()
        if at < 0.15:
            return [hang(token(self.pick("very rather"), "ADV"), adjective, "advmod"), adjective]
        if at < 0.3:
            return [adjective, hang(token(two, "ADJ", feats="Degree=Pos"), head, "amod")]
        if at < 0.4:
            second = hang(token(two, "ADJ", feats="Degree=Pos"), adjective, "conj")
            return [adjective, hang(token("and", "CCONJ"), second, "cc"), second]
        return [adjective]

    def apposition(self, phrase: Phrase, depth: int) -> Phrase:
        """A name with what the person is, between commas."""
        what = self.noun("person", 0, simple=True, number="Sing")
        phrase.tokens += [comma(what.head), *what.under(phrase.head, "appos"), comma(what.head)]
        return phrase

    def modify(self, phrase: Phrase, depth: int) -> None:
        """Adds a prepositional phrase, a relative clause or a participle behind a noun."""
        at = self.random.random()
        if at < 0.24 and phrase.kind in NOUN_PHRASES:
            preposition, kind = self.pick(NOUN_PHRASES[phrase.kind]).split(":")
            phrase.tokens += self.prepositional(preposition, kind, depth - 1, phrase.head, "nmod")
        elif at < 0.34 and phrase.kind in ("person", "animal", "thing", "text", "food", "tool"):
            phrase.tokens += self.relative(phrase, depth - 1)
        elif at < 0.39 and phrase.kind in ("thing", "animal", "person"):
            phrase.tokens += self.participle(phrase, depth - 1)

    def prepositional(self, preposition: str, kind: str, depth: int, head: Token, deprel: str) -> list[Token]:
        """A prepositional phrase under a head."""
        inner = self.coordinated(kind, depth) if self.chance(0.12) else self.noun(kind, depth)
        first, *rest = preposition.split("_")
        case = hang(token(first, "ADP"), inner.head, "case")
        fixed = [hang(token(word, "ADP"), case, "fixed") for word in rest]
        return [case, *fixed, *inner.under(head, deprel)]

    def coordinated(self, kind: str, depth: int) -> Phrase:
        """Two nouns or more of one class."""
        if kind not in self.nouns or kind == "time":
            return self.noun(kind, depth)
        items = self.different([kind] * self.random.choice([2, 2, 2, 3, 3, 4]))
        return self.listed(items, self.pick("and and or"))

    def different(self, kinds: list[str], depth: int = 0) -> list[Phrase]:
        """Nouns of these classes, no two of which are the same."""
        found: dict[str, Phrase] = {}
        for kind in kinds:
            item = self.noun(kind, depth, simple=depth == 0)
            while item.head.lemma in found:
                item = self.noun(kind, depth, simple=depth == 0)
            found[item.head.lemma] = item
        return list(found.values())

    def listed(self, phrases: list[Phrase], conjunction: str) -> Phrase:
        """Phrases with commas and a conjunction between them."""
        first, *others = phrases
        for number, phrase in enumerate(others, 1):
            tokens = phrase.under(first.head, "conj")
            last = number == len(others)
            links = [comma(phrase.head)] if not last or (len(others) > 2 and self.chance(0.5)) else []
            if last:
                links.append(hang(token(conjunction, "CCONJ"), phrase.head, "cc"))
            first.tokens = [*first.tokens, *links, *tokens]
        first.plural = first.plural or conjunction == "and"
        first.person = 3
        return first

    def relative(self, phrase: Phrase, depth: int) -> list[Token]:
        """A relative clause about a noun."""
        person = phrase.kind == "person"
        if phrase.kind in ("thing", "text", "food", "tool") or self.chance(0.35):
            lines = [line for line in TRANSITIVE if phrase.kind in line.split()[2].split(",")]
            subject = self.noun("person", 0, simple=True) if self.chance(0.6) else self.pronoun()
            verb = self.verb(subject, depth, line=self.pick(lines), gap=True)
            clause = [*subject.under(verb.head, "nsubj"), *verb.tokens]
            if self.chance(0.6):
                clause.insert(0, hang(self.relative_pronoun("whom" if person else "which"), verb.head, "obj"))
        else:
            verb = self.verb(phrase, depth)
            clause = [hang(self.relative_pronoun("who" if person else "which"), verb.head, "nsubj"), *verb.tokens]
        return Phrase(verb.head, clause).under(phrase.head, "acl:relcl")

    def relative_pronoun(self, form: str) -> Token:
        """The given pronoun, or "that"."""
        form = self.pick([form, "that"])
        return token(form, "PRON", "who" if form == "whom" else form, "PronType=Rel")

    def participle(self, phrase: Phrase, depth: int) -> list[Token]:
        """A participle with its phrases behind a noun."""
        active = phrase.kind != "thing" or self.chance(0.3)
        if active:
            line = self.pick([line for line in INTRANSITIVE if phrase.kind in line.split()[1].split(",")])
            verb = self.verb(phrase, depth, line=line, form="ing")
        else:
            lines = [line for line in TRANSITIVE if "thing" in line.split()[2].split(",")]
            verb = self.verb(phrase, depth, line=self.pick(lines), form="en", gap=True)
        return verb.under(phrase.head, "acl")

    # ---- Verbs

    def group(self, lemma: str, subject: Phrase, form: str, passive: bool = False) -> tuple[list[Token], Token]:
        """The auxiliaries of a verb, with negation, and the verb itself."""
        if form in ("ing", "en", "inf", "imp"):
            if form == "inf":
                main = token(lemma, "VERB", lemma, "VerbForm=Inf")
                return [hang(token("to", "PART"), main, "mark")], main
            feats = {
                "ing": "Tense=Pres|VerbForm=Part",
                "en": "Tense=Past|VerbForm=Part",
                "imp": "Mood=Imp|Number=Sing|Person=2|VerbForm=Fin",
            }
            return [], token(lemma if form == "imp" else inflected(lemma, form), "VERB", lemma, feats[form])
        time = self.random.choice(["Past"] * 10 + ["Pres"] * 4 + ["modal"] * 3 + ["perfect"] * 3 + ["progressive"] * 3)
        if form == "question" and time == "Past":
            time = "did"
        negated = form == "finite" and self.chance(0.1)
        third = not subject.plural and subject.person == 3
        singular = not subject.plural and subject.person != 2  # of "be"
        auxiliaries: list[Token] = []

        def auxiliary(form: str, lemma: str, feats: str) -> None:
            auxiliaries.append(token(form, "AUX", lemma, feats))

        def finite(tense: str) -> str:
            number = "Plur" if subject.plural else "Sing"
            return f"Mood=Ind|Number={number}|Person={subject.person}|Tense={tense}|VerbForm=Fin"

        be = "am" if singular and subject.person == 1 else "is" if singular else "are"
        if time == "modal":
            auxiliary(self.pick("will can must should may"), "", "VerbForm=Fin")
            auxiliaries[0].lemma = auxiliaries[0].form
            last = "base"
        elif time == "perfect":
            auxiliary("has" if third else "have", "have", finite("Pres"))
            last = "en"
        elif time == "progressive":
            past = self.chance(0.5)
            form_of_be = ("was" if singular else "were") if past else be
            auxiliary(form_of_be, "be", finite("Past" if past else "Pres"))
            last = "ing"
        elif time == "did" or ((negated or form == "question") and not passive):
            past = time in ("did", "Past")
            auxiliary("did" if past else "does" if third else "do", "do", finite("Past" if past else "Pres"))
            last = "base"
        else:
            last = time
        if passive:
            copulas = {"base": "be", "en": "been", "ing": "being", "Past": "was" if singular else "were", "Pres": be}
            of_be = {
                "base": "VerbForm=Inf", "en": "Tense=Past|VerbForm=Part", "ing": "Tense=Pres|VerbForm=Part",
                "Past": finite("Past"), "Pres": finite("Pres"),
            }  # fmt: skip
            if time == "did":
                auxiliaries.clear()
                last = "Past"
            auxiliary(copulas[last], "be", of_be[last])
            last = "en"
        forms = {
            "base": (lemma, "VerbForm=Inf"),
            "en": (inflected(lemma, "en"), "Tense=Past|VerbForm=Part" + ("|Voice=Pass" if passive else "")),
            "ing": (inflected(lemma, "ing"), "Tense=Pres|VerbForm=Part"),
            "Past": (inflected(lemma, "past"), finite("Past")),
            "Pres": (inflected(lemma, "s") if third else lemma, finite("Pres")),
        }
        main = token(forms[last][0], "VERB", lemma, forms[last][1])
        for each in auxiliaries:
            hang(each, main, "aux")
        if passive:
            auxiliaries[-1].deprel = "aux:pass"
        if negated and auxiliaries:
            short = auxiliaries[0].form not in ("am", "may", "will", "can") and self.chance(0.5)
            negation = token("n't" if short else "not", "PART", "not", "Polarity=Neg", joined=short)
            auxiliaries.insert(1, hang(negation, main, "advmod"))
        return auxiliaries, main

    def verb(self, subject: Phrase, depth: int, *, line: str = "", form: str = "finite", gap: bool = False) -> Phrase:
        """A verb with its auxiliaries, objects and phrases; with `gap`, its object stands elsewhere."""
        if not line:
            kind = subject.kind if subject.kind in ("person", "animal", "thing", "text", "tool", "piece") else "person"
            fit = [each for each in TRANSITIVE + INTRANSITIVE if kind in each.split()[1].split(",")]
            line = self.pick(fit or INTRANSITIVE[-4:])
            if kind == "person" and depth > 0 and self.chance(0.42) and not gap:
                return self.special_verb(subject, depth, form)
        lemma, _, objects, *phrases = line.split()
        auxiliaries, main = self.group(lemma, subject, form)
        behind: list[Token] = []
        if objects != "-" and not gap:
            kind = self.pick(objects.split(","))
            if kind == "person" and self.chance(0.2):
                object = self.pronoun("Acc")
            elif depth > 0 and self.chance(0.13):
                object = self.coordinated(kind, depth)
            else:
                object = self.noun(kind, depth - 1)
            behind += object.under(main, "obj")
        if self.chance(0.12) and form != "en":
            behind.append(hang(token(self.pick(MANNER), "ADV"), main, "advmod"))
        most = 2 if objects == "-" or self.chance(0.15) else 1
        used = self.random.sample(phrases, min(most, len(phrases)))
        for each in used[: 0 if objects != "-" and self.chance(0.35) else 1 if self.chance(0.7) else 2]:
            preposition, kind = each.split(":")
            behind += self.prepositional(preposition, kind, depth - 1, main, "obl")
        return Phrase(main, [*auxiliaries, main, *behind])

    def special_verb(self, subject: Phrase, depth: int, form: str) -> Phrase:
        """Verbs with two objects, particles, infinitives or clauses."""
        at = self.random.random()
        if at < 0.22:
            auxiliaries, main = self.group(self.pick(GIVING), subject, form)
            kind = self.pick("thing tool food text")
            thing = self.noun(kind, depth - 1)
            if self.chance(0.5):
                person = self.noun("person", 0, simple=True) if self.chance(0.6) else self.pronoun("Acc")
                objects = [*person.under(main, "iobj"), *thing.under(main, "obj")]
            else:
                objects = [*thing.under(main, "obj"), *self.prepositional("to", "person", 0, main, "obl")]
            return Phrase(main, [*auxiliaries, main, *objects])
        if at < 0.42:
            lemma = self.pick(list(PHRASAL))
            auxiliaries, main = self.group(lemma, subject, form)
            particle = hang(token(PHRASAL[lemma], "ADP"), main, "compound:prt")
            split = self.chance(0.5)
            object = self.noun(self.pick("thing tool food"), 0 if split else depth - 1).under(main, "obj")
            return Phrase(main, [*auxiliaries, main, *([*object, particle] if split else [particle, *object])])
        if at < 0.6:
            auxiliaries, main = self.group(self.pick(WANTING), subject, form)
            inner = self.verb(subject, depth - 1, form="inf").under(main, "xcomp")
            return Phrase(main, [*auxiliaries, main, *inner])
        if at < 0.72:
            auxiliaries, main = self.group(self.pick(URGING), subject, form)
            person = self.noun("person", 0, simple=True) if self.chance(0.7) else self.pronoun("Acc")
            inner = self.verb(person, depth - 1, form="inf").under(main, "xcomp")
            return Phrase(main, [*auxiliaries, main, *person.under(main, "obj"), *inner])
        asks = self.chance(0.2)
        auxiliaries, main = self.group(self.pick(ASKING if asks else SAYING), subject, form)
        inner_clause = self.clause(depth - 1)
        words = inner_clause.under(main, "ccomp")
        if asks:
            words.insert(0, hang(token("whether", "SCONJ"), inner_clause.head, "mark"))
        elif self.chance(0.6):
            words.insert(0, hang(token("that", "SCONJ"), inner_clause.head, "mark"))
        return Phrase(main, [*auxiliaries, main, *words])

    # ---- Clauses

    def subject(self, depth: int) -> Phrase:
        """The subject of a clause."""
        at = self.random.random()
        if at < 0.2:
            return self.pronoun()
        if at < 0.3 and depth > 0:
            return self.coordinated("person", depth)
        kind = self.random.choice(["person"] * 6 + ["animal"] * 2 + ["thing"] * 2 + ["text"])
        return self.noun(kind, depth)

    def clause(self, depth: int) -> Phrase:
        """A declarative clause without its punctuation."""
        at = self.random.random()
        if at < 0.12:
            return self.copular(depth)
        if at < 0.17:
            return self.existential(depth)
        if at < 0.26:
            return self.passive(depth)
        subject = self.subject(depth)
        verb = self.verb(subject, depth)
        tokens = [*subject.under(verb.head, "nsubj"), *verb.tokens]
        if verb.tokens[0] is verb.head and self.chance(0.12):
            adverb = hang(token(self.pick(FREQUENCY), "ADV"), verb.head, "advmod")
            tokens.insert(tokens.index(verb.head), adverb)
        if depth > 0 and self.chance(0.14):
            second = self.verb(subject, depth - 1)
            link = hang(token(self.pick("and and but or"), "CCONJ"), second.head, "cc")
            tokens += [link, *second.under(verb.head, "conj")]
        return Phrase(verb.head, tokens)

    def copular(self, depth: int) -> Phrase:
        """Something is something, or somewhere."""
        subject = self.subject(depth)
        number = "Plur" if subject.plural else "Sing"
        past = self.chance(0.6)
        singular = not subject.plural and subject.person != 2
        form = ("was" if singular else "were") if past else "am" if singular and subject.person == 1 else ""
        form = form or ("is" if singular else "are")
        feats = f"Mood=Ind|Number={number}|Person={subject.person}|Tense={'Past' if past else 'Pres'}|VerbForm=Fin"
        copula = token(form, "AUX", "be", feats)
        at = self.random.random()
        if at < 0.25:
            adjective = self.pick(list(COMPARATIVES))
            head = token(COMPARATIVES[adjective], "ADJ", adjective, "Degree=Cmp")
            predicate = [head, *self.prepositional("than", subject.kind or "person", 0, head, "obl")]
        elif at < 0.6:
            head = token(self.pick(QUALITIES.get(subject.kind, QUALITIES["person"])), "ADJ", feats="Degree=Pos")
            predicate = [head]
            if self.chance(0.4):
                predicate.insert(0, hang(token(self.pick("very too rather"), "ADV"), head, "advmod"))
            if self.chance(0.2):
                predicate += self.prepositional("after", "time", 0, head, "obl")
        elif at < 0.8:
            inner = self.noun(subject.kind or "person", depth - 1, number=number)
            head, predicate = inner.head, inner.tokens
        else:
            inner = self.noun("place", depth - 1)
            head = inner.head
            predicate = [hang(token(self.pick("in near behind"), "ADP"), head, "case"), *inner.tokens]
        return Phrase(head, [*subject.under(head, "nsubj"), hang(copula, head, "cop"), *predicate])

    def existential(self, depth: int) -> Phrase:
        """There is something somewhere."""
        what = self.noun(self.pick("thing animal person food stuff"), depth, number=self.pick("Sing Plur"), new=True)
        number = "Plur" if what.plural else "Sing"
        past = self.chance(0.6)
        form = ("were" if what.plural else "was") if past else ("are" if what.plural else "is")
        feats = f"Mood=Ind|Number={number}|Person=3|Tense={'Past' if past else 'Pres'}|VerbForm=Fin"
        verb = token(form, "VERB", "be", feats)
        tokens = [hang(token("there", "PRON"), verb, "expl"), verb, *what.under(verb, "nsubj")]
        if self.chance(0.6):
            tokens += self.prepositional(self.pick("in near behind"), "place", 0, verb, "obl")
        return Phrase(verb, tokens)

    def passive(self, depth: int) -> Phrase:
        """Something is done, perhaps by someone."""
        line = self.pick(TRANSITIVE)
        lemma, _, objects, *phrases = line.split()
        subject = self.noun(self.pick(objects.split(",")), depth)
        auxiliaries, main = self.group(lemma, subject, "finite", passive=True)
        tokens = [*subject.under(main, "nsubj:pass"), *auxiliaries, main]
        if self.chance(0.5):
            tokens += self.prepositional("by", "person", depth - 1, main, "obl:agent")
        if self.chance(0.5):
            preposition, kind = self.pick(phrases).split(":")
            tokens += self.prepositional(preposition, kind, 0, main, "obl")
        return Phrase(main, tokens)

    def adverbial(self, depth: int, head: Token) -> list[Token]:
        """An adverbial clause under a head."""
        inner = self.clause(depth)
        form = self.pick("when because if while although before after since until")
        link = token(form, "ADV" if form == "when" else "SCONJ")
        hang(link, inner.head, "advmod" if form == "when" else "mark")
        return [link, *inner.under(head, "advcl")]

    # ---- Sentences

    def sentence(self, depth: int) -> list[Token]:
        """The words of a sentence."""
        makers: list[tuple[int, Callable[[int], list[Token]]]] = [
            (44, self.statement),
            (10, self.compound),
            (9, self.yes_no_question),
            (6, self.wh_question),
            (6, self.command),
            (5, self.speech),
            (5, self.colon_list),
            (4, self.packing_list),
            (4, self.hard_task),
            (3, self.gerund_subject),
        ]
        weights = [weight for weight, _ in makers]
        (make,) = self.random.choices([maker for _, maker in makers], weights)
        return make(depth)

    def statement(self, depth: int) -> list[Token]:
        """A statement, perhaps with something in front of it or an adverbial clause."""
        main = self.clause(depth)
        tokens = main.tokens
        at = self.random.random()
        if at < 0.16:
            first = self.adverbial(depth - 1, main.head)
            clause_head = next(each for each in first if each.head is main.head and each.deprel == "advcl")
            tokens = [*first, comma(clause_head), *tokens]
        elif at < 0.32:
            tokens = [*tokens, *self.adverbial(depth - 1, main.head)]
        elif at < 0.42:
            preposition, kind = self.pick("on:day in:place after:time before:time at:place").split(":")
            tokens = [*self.prepositional(preposition, kind, 0, main.head, "obl"), comma(main.head), *tokens]
        elif at < 0.5:
            first = self.chance(0.5)
            adverb = hang(
                token(self.pick("soon perhaps" if first else "yesterday today again"), "ADV"), main.head, "advmod"
            )
            tokens = [adverb, *tokens] if first else [*tokens, adverb]
        elif at < 0.55:
            night = token(self.pick("night morning evening"), "NOUN", feats="Number=Sing")
            which = hang(token(self.pick("every that"), "DET", feats="PronType=Dem"), night, "det")
            which.feats = "PronType=Tot" if which.form == "every" else "Number=Sing|PronType=Dem"
            tokens = [*tokens, *Phrase(night, [which, night]).under(main.head, "obl:tmod")]
        return self.ended(tokens, main.head, ".")

    def compound(self, depth: int) -> list[Token]:
        """Two or three clauses with conjunctions."""
        first = self.clause(depth)
        tokens = first.tokens
        for _ in range(2 if depth > 2 and self.chance(0.3) else 1):
            other = self.clause(depth - 1)
            link = hang(token(self.pick("and but so or"), "CCONJ"), other.head, "cc")
            tokens = [*tokens, comma(other.head), link, *other.under(first.head, "conj")]
        return self.ended(tokens, first.head, ".")

    def yes_no_question(self, depth: int) -> list[Token]:
        """A question that is answered by yes or no."""
        subject = self.subject(depth - 1)
        verb = self.verb(subject, depth - 1, form="question")
        auxiliary, *rest = verb.tokens
        return self.ended([auxiliary, *subject.under(verb.head, "nsubj"), *rest], verb.head, "?")

    def wh_question(self, depth: int) -> list[Token]:
        """A question for the subject, the object or a circumstance."""
        at = self.random.random()
        if at < 0.3:
            who = Phrase(token("who", "PRON", feats="PronType=Int"), kind="person")
            verb = self.verb(who, depth - 1)
            return self.ended([hang(who.head, verb.head, "nsubj"), *verb.tokens], verb.head, "?")
        subject = self.subject(0)
        if at < 0.65:
            line = self.pick([line for line in TRANSITIVE if line.split()[1].startswith("person")])
            subject = self.noun("person", 0, simple=True)
            verb = self.verb(subject, depth - 1, line=line, form="question", gap=True)
            if self.chance(0.5):
                asked = [hang(token("what", "PRON", feats="PronType=Int"), verb.head, "obj")]
            else:
                lemma = self.pick(self.nouns[self.pick(line.split()[2].split(","))])
                noun = hang(token(lemma, "NOUN", feats="Number=Sing"), verb.head, "obj")
                asked = [hang(token("which", "DET", feats="PronType=Int"), noun, "det"), noun]
        else:
            verb = self.verb(subject, depth - 1, form="question")
            asked = [hang(token(self.pick("when where why how"), "ADV", feats="PronType=Int"), verb.head, "advmod")]
        auxiliary, *rest = verb.tokens
        return self.ended([*asked, auxiliary, *subject.under(verb.head, "nsubj"), *rest], verb.head, "?")

    def command(self, depth: int) -> list[Token]:
        """An order, perhaps with a name."""
        you = Phrase(token("you", "PRON"), person=2, kind="person")
        verb = self.verb(you, depth, line=self.pick(TRANSITIVE + INTRANSITIVE[:12]), form="imp")
        tokens = verb.tokens
        if self.chance(0.3):
            name = self.bare_name(self.pick(list(FIRST)))
            tokens = [*name.under(verb.head, "vocative"), comma(name.head), *tokens]
        elif self.chance(0.3):
            tokens = [hang(token("please", "INTJ"), verb.head, "discourse"), *tokens]
        if self.chance(0.2):
            second = self.verb(you, 0, line=self.pick(INTRANSITIVE[:12]), form="imp")
            tokens = [*tokens, hang(token("and", "CCONJ"), second.head, "cc"), *second.under(verb.head, "conj")]
        return self.ended(tokens, verb.head, self.pick(". . !"))

    def speech(self, depth: int) -> list[Token]:
        """Direct speech before the person who speaks."""
        said = self.clause(depth - 1)
        speaker = self.noun("person", 0, simple=True)
        verb = token(self.pick(["said", "shouted", "whispered"]), "VERB", feats="Mood=Ind|Tense=Past|VerbForm=Fin")
        verb.lemma = {"said": "say", "shouted": "shout", "whispered": "whisper"}[verb.form]
        opening = hang(token('"', "PUNCT", opens=True), said.head, "punct")
        closing = hang(token('"', "PUNCT", tight=True), said.head, "punct")
        words = [opening, *said.tokens, comma(said.head), closing]
        said.under(verb, "ccomp")
        return self.ended([*words, verb, *speaker.under(verb, "nsubj")], verb, ".")

    def colon_list(self, depth: int) -> list[Token]:
        """A noun that a list behind a colon spells out."""
        kind = self.pick("thing tool food stuff")
        owner = self.noun("person", 0) if self.chance(0.6) else self.noun("thing", 0)
        number = self.pick(["three", "four", "several"])
        counted = token("things", "NOUN", "thing", "Number=Plur")
        if number == "several":
            many = token(number, "ADJ", feats="Degree=Pos")
            hang(many, counted, "amod")
        else:
            many = token(number, "NUM", feats="NumForm=Word|NumType=Card")
            hang(many, counted, "nummod")
        verb = token("held" if owner.kind == "thing" else "needed", "VERB", feats="Mood=Ind|Tense=Past|VerbForm=Fin")
        verb.lemma = "hold" if owner.kind == "thing" else "need"
        count = 4 if number == "four" else 3 if number == "three" else self.random.randint(4, 7)
        items = self.listed(self.different([kind] * count), "and")
        colon = hang(token(":", "PUNCT", tight=True), items.head, "punct")
        object = Phrase(counted, [many, counted, colon, *items.under(counted, "appos")])
        return self.ended([*owner.under(verb, "nsubj"), verb, *object.under(verb, "obj")], verb, ".")

    def packing_list(self, depth: int) -> list[Token]:
        """A long list of objects, some of which may have phrases of their own."""
        subject = self.noun("person", 0, simple=True) if self.chance(0.6) else self.pronoun()
        purpose = self.pick("journey wedding festival winter")
        noun = token(purpose, "NOUN", feats="Number=Sing")
        the = hang(token("the", "DET", feats="Definite=Def|PronType=Art"), noun, "det")
        line = self.pick([line for line in TRANSITIVE if line.split()[0] in ("buy", "fetch", "carry", "bring", "load")])
        auxiliaries, main = self.group(line.split()[0], subject, "finite")
        kinds = ["thing", "tool", "food", "stuff", "text"]
        wanted = [self.pick(kinds) for _ in range(self.random.randint(3, 6))]
        items = self.different(wanted, depth=1 if self.chance(0.5) else 0)
        case = hang(token("for", "ADP"), noun, "case")
        front = Phrase(noun, [case, the, noun]).under(main, "obl")
        objects = self.listed(items, "and").under(main, "obj")
        tokens = [*front, comma(main), *subject.under(main, "nsubj"), *auxiliaries, main, *objects]
        return self.ended(tokens, main, ".")

    def hard_task(self, depth: int) -> list[Token]:
        """It is hard to do something."""
        head = token(self.pick("hard easy dangerous useful foolish strange"), "ADJ", feats="Degree=Pos")
        it = token("it", "PRON", feats="Case=Nom|Gender=Neut|Number=Sing|Person=3|PronType=Prs")
        past = self.chance(0.5)
        feats = f"Mood=Ind|Number=Sing|Person=3|Tense={'Past' if past else 'Pres'}|VerbForm=Fin"
        copula = token("was" if past else "is", "AUX", "be", feats)
        anyone = Phrase(token("you", "PRON"), person=2, kind="person")
        inner = self.verb(anyone, depth - 1, line=self.pick(TRANSITIVE), form="inf")
        tokens = [hang(it, head, "expl"), hang(copula, head, "cop"), head, *inner.under(head, "csubj")]
        return self.ended(tokens, head, ".")

    def gerund_subject(self, depth: int) -> list[Token]:
        """Doing something takes time."""
        anyone = Phrase(token("you", "PRON"), person=2, kind="person")
        inner = self.verb(anyone, depth - 1, line=self.pick(TRANSITIVE), form="ing")
        inner.head.feats = "VerbForm=Ger"
        past = self.chance(0.5)
        feats = f"Mood=Ind|Number=Sing|Person=3|Tense={'Past' if past else 'Pres'}|VerbForm=Fin"
        verb = token("took" if past else "takes", "VERB", "take", feats)
        object = token(self.pick("time patience courage money"), "NOUN", feats="Number=Sing")
        return self.ended([*inner.under(verb, "csubj"), verb, hang(object, verb, "obj")], verb, ".")

    def extraposed(self, depth: int) -> list[Token]:
        """A relative clause that stands behind the verb, away from its noun: not projective."""
        subject = self.noun(self.pick("person animal"), 0, simple=True, number=self.pick("Sing Plur"))
        line = self.pick([line for line in INTRANSITIVE if line.split()[0] in ("arrive", "return", "disappear")])
        verb = self.verb(subject, 0, line=line)
        clause = self.relative(subject, depth - 1)
        if clause[0].upos != "PRON" or "PronType=Rel" not in clause[0].feats:
            form = "who" if subject.kind == "person" else "that"
            clause.insert(0, hang(token(form, "PRON", feats="PronType=Rel"), clause[-1], "obj"))
            clause[0].head = next(each for each in clause if each.deprel == "acl:relcl")
        return self.ended([*subject.under(verb.head, "nsubj"), *verb.tokens, *clause], verb.head, ".")

    def stranded(self, depth: int) -> list[Token]:
        """A question whose preposition stands at the end, away from its pronoun: not projective."""
        subject = self.noun("person", 0, simple=True)
        lemma, preposition = self.pick("wait:for talk:about look:at work:for argue:with laugh:about").split(":")
        (auxiliary, *more), main = self.group(lemma, subject, "question")
        pronoun = token(self.pick("who what"), "PRON", feats="PronType=Int")
        stranded = hang(token(preposition, "ADP"), pronoun, "case")
        hang(pronoun, main, "obl")
        tokens = [pronoun, auxiliary, *subject.under(main, "nsubj"), *more, main, stranded]
        if self.chance(0.5):
            tokens += self.prepositional(*self.pick("on:day before:time after:time").split(":"), 0, main, "obl")
        return self.ended(tokens, main, "?")

    def ended(self, tokens: list[Token], root: Token, mark: str) -> list[Token]:
        """The words with the final mark and a capital at the beginning."""
        if tokens[-1].form == ",":  # The final mark absorbs the comma behind an apposition.
            tokens = tokens[:-1]
        words = [each for at, each in enumerate(tokens) if at == 0 or (each.form, tokens[at - 1].form) != (",", ",")]
        first = next(each for each in words if each.upos != "PUNCT")
        first.form = first.form[0].upper() + first.form[1:]
        return [*words, hang(token(mark, "PUNCT", tight=True), root, "punct")]


# ---- CoNLL-U ---------------------------------------------------------------------------------------------------------


def text_of(tokens: list[Token]) -> str:
    """The sentence as it is written."""
    text = ""
    for at, each in enumerate(tokens):
        close = at == 0 or each.joined or each.tight or tokens[at - 1].opens
        text += ("" if close else " ") + each.form
    return text


def lines_of(name: str, tokens: list[Token]) -> Iterator[str]:
    """The lines of a sentence in CoNLL-U."""
    yield f"# sent_id = {name}"
    yield f"# text = {text_of(tokens)}"
    ids = {id(each): number for number, each in enumerate(tokens, 1)}
    for number, each in enumerate(tokens, 1):
        following = tokens[number] if number < len(tokens) else None
        spaced = following is None or not (following.tight or each.opens)
        if following is not None and following.joined:
            behind = tokens[number + 1] if number + 1 < len(tokens) else None
            misc = "SpaceAfter=No" if behind is not None and behind.tight else "_"
            yield "\t".join([f"{number}-{number + 1}", each.form + following.form, *"_" * 7, misc])
        misc = "_" if spaced or each.joined else "SpaceAfter=No"
        head = 0 if each.head is None else ids[id(each.head)]
        row = [number, each.form, each.lemma, each.upos, "_", each.feats, head, each.deprel, "_", misc]
        yield "\t".join(map(str, row))
    yield ""


def treebank(seed: int) -> dict[str, list[str]]:
    """The lines of every part. No sentence occurs twice."""
    grammar = Grammar(seed)
    seen: set[str] = set()
    parts: dict[str, list[str]] = {}
    for part, size in PARTS.items():
        parts[part] = []
        if part == "dev":
            grammar.learn(NEW_NOUNS)
        for number in range(1, size + 1):
            make = grammar.sentence
            if number % NON_PROJECTIVE_EVERY == 0:
                make = grammar.stranded if number // NON_PROJECTIVE_EVERY % 3 == 0 else grammar.extraposed
            while True:
                tokens = make(grammar.random.choice([1, 2, 2, 3, 3, 4, 5]))
                if 4 <= len(tokens) <= 48 and text_of(tokens) not in seen:
                    break
            seen.add(text_of(tokens))
            parts[part] += lines_of(f"harbour-{part}-{number}", tokens)
    return parts


def main() -> None:
    """Writes the parts into the folder that is given."""
    folder = Path(sys.argv[1])
    for part, lines in treebank(SEED).items():
        (folder / f"{part}.conllu").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
