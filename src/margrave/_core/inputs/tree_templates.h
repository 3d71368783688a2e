// Templates over the parts of dependency trees, compiled (features/arcs.py defines them).
//
// The name of an attribute is only built on request. An attribute is identified by a fingerprint of 64 bits, a sum of
// pseudo-random numbers, one for each term of the template and its value:
//
//     fingerprint(template; v_1, ..., v_k) = seed(template) + sum_j mix(hash(v_j) ^ seed(template, j))    modulo 2^64
//
// The terms about the head depend only on the head, and likewise for the other words of a part. Their sums are computed
// once per word and template, so an attribute of an arc takes two additions:
//
//     fingerprint = of_head[h] + of_word[m] + of_way[direction and length]
//
// Sums of independent uniform numbers are uniform, so the highest bits of a fingerprint are a hash of the attribute.
// Fingerprints depend only on the templates and the values, not on the machine or on other sentences. Models store
// them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inputs/templates.h"
#include "protocol/checks.h"
#include "rows/vocabulary.h"
#include "structures/tree_part.h"

namespace margrave {

inline constexpr std::string_view kRootValue = "ROOT";     // of the root, in every column
inline constexpr std::string_view kOutsideValue = "NONE";  // of places before the root and after the last word

// A term: a column of one of the words of a part, with an offset and perhaps a function; the values between head and
// word; direction and length of the arc, or only its direction; or the label of the arc.
struct TreeTerm {
  enum class Kind { kHead, kWord, kSibling, kGrandparent, kChild, kBetween, kWay, kDirection, kLabel };
  Kind kind;
  int64_t column = 0;
  int64_t offset = 0;
  std::string function;  // empty: the value itself; "each": all values of a list separated by |
};

// Directions and lengths of arcs, together called ways. Lengths are 1 to 4, 5 to 10, and more.
inline constexpr int kLengths = 6;
inline constexpr int kWays = 2 * kLengths;
inline int way_of(int head, int word) {
  const int length = head < word ? word - head : head - word;
  return (head < word ? kLengths : 0) + (length < 5 ? length - 1 : length <= 10 ? 4 : 5);
}
inline std::string spell_way(int way) {
  static constexpr const char* kNames[kLengths] = {"1", "2", "3", "4", "5", "11"};
  return std::string(way < kLengths ? "<" : ">") + kNames[way % kLengths];
}

inline uint64_t mix_bits(uint64_t h) {  // the finalizer of MurmurHash3: every bit of the result depends on all bits
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
  return h ^ (h >> 33);
}
inline uint64_t hash_text(std::string_view text) { return hash_bytes(text.data(), text.size()); }

// Compiled templates. Templates of a single term ("atoms") number the values of words and apply the functions.
class TreeTemplates {
 public:
  enum Group { kArcs, kLabels, kSiblings, kGrandparents, kChildren, kGroups };  // the parts of a template
  static constexpr int kEnds = 5;  // head, word, sibling, grandparent, another child

  struct Single {  // a term with exactly one value
    size_t atom;
    int64_t offset;
    uint64_t seed;
  };
  struct Listed {  // a term with any number of values
    TreeTerm::Kind kind;
    size_t atom;
    int64_t offset;
    uint64_t seed;
  };
  struct Template {
    size_t number;  // among all templates
    uint64_t seed;
    std::array<std::vector<Single>, kEnds> ends;
    std::vector<Listed> lists;
    uint64_t way = 0, direction = 0;  // seeds; 0: it has no such term
  };
  struct OfGroup {
    std::vector<Template> single;  // all terms have exactly one value
    std::vector<Template> listed;
    std::vector<uint64_t>
        ways;  // (ways x directions to the grandparent or the other child, single): the terms way and dir
  };

  // tags: the column of the tags of words, independent of the templates; -1: none.
  TreeTemplates(std::vector<std::string> templates, std::vector<std::vector<TreeTerm>> terms, int64_t tags)
      : texts_(std::move(templates)), terms_(std::move(terms)) {
    if (texts_.size() != terms_.size()) throw InputError("every template needs its terms.");
    for (size_t k = 0; k < texts_.size(); ++k) compile(k);
    if (tags >= 0) tag_ = static_cast<int64_t>(add_atom({TreeTerm::Kind::kWord, tags, 0, ""}));
    std::vector<std::vector<TemplateTerm>> parsed;
    std::vector<std::string> names;
    for (const Atom& atom : atoms_) {
      const std::string function = atom.each() ? "" : atom.function;
      parsed.push_back({{atom.column, 0, function}});
      names.push_back(std::to_string(atom.column) + (function.empty() ? "" : "." + function));
    }
    names_ = std::make_shared<TemplateNames>(names, parsed);
    for (OfGroup& group : groups_) tabulate_ways(group);
  }

  const std::shared_ptr<TemplateNames>& names() const { return names_; }
  size_t atoms() const { return atoms_.size(); }
  int64_t tag() const { return tag_; }  // the atom of the tags, or -1
  bool is_list(size_t atom) const { return atoms_[atom].each(); }
  const OfGroup& group(int k) const { return groups_[k]; }
  const std::string& text(size_t k) const { return texts_[k]; }
  const std::vector<TreeTerm>& terms(size_t k) const { return terms_[k]; }
  size_t atom_of(const TreeTerm& term) const {
    const auto same = [&](const Atom& atom) { return atom.column == term.column && atom.function == term.function; };
    return static_cast<size_t>(std::find_if(atoms_.begin(), atoms_.end(), same) - atoms_.begin());
  }

  static int group_of(const TreePart& part) {
    return part.grandparent >= 0 ? kGrandparents : part.sibling >= 0 ? kSiblings : part.child >= 0 ? kChildren : kArcs;
  }

  // The row of `ways` for a part: its way, and the direction from the grandparent or the other child to the head.
  static size_t way_row(const TreePart& part) {
    const int32_t third = part.grandparent >= 0 ? part.grandparent : part.child;
    const bool up = third >= 0 && third < part.head;
    return static_cast<size_t>(way_of(part.head, part.word)) + (up ? size_t{kWays} : 0);
  }
  static uint64_t of_way(const Template& of, size_t row) {
    const auto way = static_cast<uint64_t>(row % kWays);
    const uint64_t direction = (way >= kLengths ? 1u : 0u) + (row >= kWays ? 2u : 0u);
    return (of.way ? mix_bits(of.way ^ (way + 1)) : 0) + (of.direction ? mix_bits(of.direction ^ (direction + 1)) : 0);
  }

 private:
  struct Atom {
    int64_t column;
    std::string function;
    bool each() const { return function == "each"; }
    // Affixes have no value if the word is too short.
    bool total() const { return !each() && !function.starts_with("prefix") && !function.starts_with("suffix"); }
  };

  size_t add_atom(const TreeTerm& term) {
    if (term.column < 0) throw InputError("columns are counted from 0.");
    if (atom_of(term) == atoms_.size()) atoms_.push_back({term.column, term.function});
    return atom_of(term);
  }

  void compile(size_t k) {
    using Kind = TreeTerm::Kind;
    Template compiled{k, mix_bits(hash_text(texts_[k])), {}, {}, 0, 0};
    bool has[9] = {};
    for (size_t j = 0; j < terms_[k].size(); ++j) {
      const TreeTerm& term = terms_[k][j];
      has[static_cast<size_t>(term.kind)] = true;
      const uint64_t seed = mix_bits(compiled.seed + j + 1) | 1;
      switch (term.kind) {
        case Kind::kWay: compiled.way = seed; break;
        case Kind::kDirection: compiled.direction = seed; break;
        case Kind::kLabel: break;
        case Kind::kBetween:
          compiled.lists.push_back({term.kind, add_atom(term), 0, seed});
          if (!atoms_[compiled.lists.back().atom].total())
            throw InputError("template '" + texts_[k] + "': every word between must have exactly one value.");
          break;
        default: {
          const size_t atom = add_atom(term);
          if (atoms_[atom].total())
            compiled.ends[static_cast<size_t>(term.kind)].push_back({atom, term.offset, seed});
          else
            compiled.lists.push_back({term.kind, atom, term.offset, seed});
        }
      }
    }
    const bool sibling = has[static_cast<size_t>(Kind::kSibling)];
    const bool grandparent = has[static_cast<size_t>(Kind::kGrandparent)];
    const bool child = has[static_cast<size_t>(Kind::kChild)];
    const bool label = has[static_cast<size_t>(Kind::kLabel)];
    if (sibling + grandparent + child + label > 1)
      throw InputError("template '" + texts_[k] +
                       "' has more than one of a sibling, a grandparent, another child and a label.");
    OfGroup& group = groups_[grandparent ? kGrandparents
                             : sibling   ? kSiblings
                             : child     ? kChildren
                             : label     ? kLabels
                                         : kArcs];
    (compiled.lists.empty() ? group.single : group.listed).push_back(std::move(compiled));
  }

  static void tabulate_ways(OfGroup& group) {
    for (size_t row = 0; row < 2 * kWays; ++row)
      for (const Template& of : group.single) group.ways.push_back(of_way(of, row));
  }

  std::vector<std::string> texts_;
  std::vector<std::vector<TreeTerm>> terms_;
  std::vector<Atom> atoms_;
  int64_t tag_ = -1;
  std::shared_ptr<TemplateNames> names_;
  std::array<OfGroup, kGroups> groups_;
};

// The values of the words of some sentences, as hashes. Fingerprints depend on nothing else.
class TreeAttributes {
 public:
  // ids: for each column of the atoms, the number of every token's value. The mutex of the names must be held.
  TreeAttributes(std::shared_ptr<const TreeTemplates> templates, const std::vector<std::vector<int32_t>>& ids,
                 std::vector<int64_t> begin)
      : templates_(std::move(templates)), begin_(std::move(begin)) {
    const size_t atoms = templates_->atoms();
    hashes_.resize(static_cast<size_t>(begin_.back()) * atoms);
    keys_.reserve(hashes_.size());
    lists_.resize(atoms);
    std::vector<int32_t> keys;
    std::vector<std::vector<uint64_t>> known(atoms);  // the hash of each value; 0: not computed yet
    std::string text;
    for (int64_t i = 0; i < examples(); ++i) {
      std::vector<const int32_t*> at;
      for (const std::vector<int32_t>& column : ids) at.push_back(column.data() + begin_[i]);
      templates_->names()->evaluate(at, words(i), keys);
      keys_.insert(keys_.end(), keys.begin(), keys.end());
    }
    for (size_t k = 0; k < keys_.size(); ++k) {
      const size_t atom = k % atoms;
      if (templates_->is_list(atom)) {
        spell(keys_[k], atom, text = {});
        each_value(text, [&](std::string_view value) { lists_[atom].values.push_back(hash_text(value)); });
        lists_[atom].begin.push_back(static_cast<int64_t>(lists_[atom].values.size()));
        continue;
      }
      if (keys_[k] < 0) continue;
      std::vector<uint64_t>& of = known[atom];
      const auto key = static_cast<size_t>(keys_[k]);
      if (key >= of.size()) of.resize(std::max(key + 1, 2 * of.size()), 0);
      if (of[key] == 0) {
        spell(keys_[k], atom, text = {});
        of[key] = hash_text(text) | 1;  // 0 means no value
      }
      hashes_[k] = of[key];
    }
  }

  const TreeTemplates& templates() const { return *templates_; }
  int64_t examples() const { return static_cast<int64_t>(begin_.size()) - 1; }
  int words(int64_t i) const { return static_cast<int>(begin_[i + 1] - begin_[i]); }

  // The hash of an atom's value at a place of a sentence, where place 0 is the root. A hash of 0 means no value.
  uint64_t hash(int64_t i, size_t atom, int64_t place) const {
    if (place == 0) return kRoot;
    if (place < 0 || place > words(i)) return kOutside;
    return hashes_[token(i, place) * templates_->atoms() + atom];
  }

  // The hash of the tag of a word, or of the root. Words without tags share one.
  uint64_t tag(int64_t i, int64_t place) const {
    if (templates_->tag() < 0) return place <= 0 ? 1 : 2;
    return hash(i, static_cast<size_t>(templates_->tag()), place);
  }

  template <typename Visit>
  void each_hash(int64_t i, size_t atom, int64_t place, const Visit& visit) const {
    if (place <= 0 || place > words(i) || !templates_->is_list(atom)) {
      if (const uint64_t value = hash(i, atom, place)) visit(value);
      return;
    }
    const List& list = lists_[atom];
    const size_t t = token(i, place);
    for (int64_t k = list.begin[t]; k < list.begin[t + 1]; ++k) visit(list.values[k]);
  }

  // The values themselves, in the order of `each_hash`. The mutex of the names must be held.
  std::vector<std::string> values(int64_t i, size_t atom, int64_t place) const {
    if (place == 0) return {std::string(kRootValue)};
    if (place < 0 || place > words(i)) return {std::string(kOutsideValue)};
    const int32_t key = keys_[token(i, place) * templates_->atoms() + atom];
    if (key < 0) return {};
    std::string text;
    spell(key, atom, text);
    if (!templates_->is_list(atom)) return {text};
    std::vector<std::string> found;
    each_value(text, [&](std::string_view value) { found.emplace_back(value); });
    return found;
  }

 private:
  struct List {
    std::vector<int64_t> begin{0};  // (tokens + 1)
    std::vector<uint64_t> values;
  };

  size_t token(int64_t i, int64_t place) const { return static_cast<size_t>(begin_[i] + place - 1); }

  void spell(int32_t key, size_t atom, std::string& text) const {
    templates_->names()->spell(static_cast<int64_t>(atom), key, text);
    text.erase(0, text.find('=') + 1);
  }

  // The values of a list such as Case=Nom|Number=Sing; _ is the empty list.
  template <typename Visit>
  static void each_value(std::string_view text, const Visit& visit) {
    if (text == "_") return;
    for (size_t at = 0;;) {
      const size_t bar = text.find('|', at);
      visit(text.substr(at, bar == std::string_view::npos ? bar : bar - at));
      if (bar == std::string_view::npos) return;
      at = bar + 1;
    }
  }

  static inline const uint64_t kRoot = hash_text(kRootValue) | 1;
  static inline const uint64_t kOutside = hash_text(kOutsideValue) | 1;

  std::shared_ptr<const TreeTemplates> templates_;
  std::vector<int64_t> begin_;    // (sentences + 1) in tokens
  std::vector<uint64_t> hashes_;  // (tokens, atoms)
  std::vector<int32_t> keys_;     // (tokens, atoms): the numbers of the values among the names
  std::vector<List> lists_;       // for atoms with the function `each`
};

// The fingerprints of the parts of one sentence after another. It keeps its tables, so each thread should reuse one.
class Fingerprints {
 public:
  void begin(const TreeAttributes& attributes, int64_t i) {
    attributes_ = &attributes;
    example_ = i;
    words_ = attributes.words(i);
    for (bool& ready : ready_) ready = false;
    between_ready_ = false;
  }

  // Appends the fingerprints of a part's attributes for the templates of a group.
  void append(int group, const TreePart& part, std::vector<uint64_t>& all) {
    const TreeTemplates::OfGroup& of = attributes_->templates().group(group);
    if (!ready_[group]) tabulate(group);
    const size_t width = of.single.size();
    const size_t first = all.size();
    all.resize(first + width);
    uint64_t* out = all.data() + first;
    const Tables& tables = tables_[group];
    const uint64_t* const head = tables[0].data() + static_cast<size_t>(part.head) * width;
    const uint64_t* const word = tables[1].data() + static_cast<size_t>(part.word) * width;
    const uint64_t* const way = of.ways.data() + TreeTemplates::way_row(part) * width;
    if (const size_t end = third_end(group); end > 0) {
      const int32_t place = end == 2 ? part.sibling : end == 3 ? part.grandparent : part.child;
      const uint64_t* const third = tables[end].data() + static_cast<size_t>(place) * width;
      for (size_t k = 0; k < width; ++k) out[k] = head[k] + word[k] + way[k] + third[k];
    } else {
      for (size_t k = 0; k < width; ++k) out[k] = head[k] + word[k] + way[k];
    }
    for (const TreeTemplates::Template& each : of.listed) append_lists(each, part, all);
  }

  // The names of the same attributes in the same order. The mutex of the names must be held.
  void append_names(int group, const TreePart& part, const std::string& label, std::vector<std::string>& all) {
    const TreeTemplates::OfGroup& of = attributes_->templates().group(group);
    for (const auto* templates : {&of.single, &of.listed})
      for (const TreeTemplates::Template& each : *templates) spell(each, part, label, all);
  }

 private:
  using Tables = std::array<std::vector<uint64_t>, TreeTemplates::kEnds>;

  // The third end of the templates of a group, in addition to head and word; 0: none.
  static size_t third_end(int group) {
    switch (group) {
      case TreeTemplates::kSiblings: return 2;
      case TreeTemplates::kGrandparents: return 3;
      case TreeTemplates::kChildren: return 4;
      default: return 0;
    }
  }

  void tabulate(int group) {
    const TreeTemplates::OfGroup& of = attributes_->templates().group(group);
    ready_[group] = true;
    for (size_t end = 0; end < TreeTemplates::kEnds; ++end) {
      const bool needed = end < 2 || end == third_end(group);
      std::vector<uint64_t>& table = tables_[group][end];
      table.clear();
      if (!needed) continue;
      table.reserve(static_cast<size_t>(words_ + 1) * of.single.size());
      for (int place = 0; place <= words_; ++place)
        for (const TreeTemplates::Template& each : of.single) {
          uint64_t sum = end == 1 ? each.seed : 0;
          for (const TreeTemplates::Single& term : each.ends[end])
            sum += mix_bits(attributes_->hash(example_, term.atom, place + term.offset) ^ term.seed);
          table.push_back(sum);
        }
    }
  }

  static int64_t place_of(TreeTerm::Kind kind, const TreePart& part) {
    switch (kind) {
      case TreeTerm::Kind::kHead: return part.head;
      case TreeTerm::Kind::kSibling: return part.sibling;
      case TreeTerm::Kind::kGrandparent: return part.grandparent;
      case TreeTerm::Kind::kChild: return part.child;
      default: return part.word;
    }
  }

  void append_lists(const TreeTemplates::Template& of, const TreePart& part, std::vector<uint64_t>& all) {
    uint64_t sum = of.seed + TreeTemplates::of_way(of, TreeTemplates::way_row(part));
    for (size_t end = 0; end < TreeTemplates::kEnds; ++end)
      for (const TreeTemplates::Single& term : of.ends[end])
        sum += mix_bits(
            attributes_->hash(example_, term.atom, place_of(static_cast<TreeTerm::Kind>(end), part) + term.offset) ^
            term.seed);
    append_products(of, 0, sum, part, all);
  }

  // All combinations of the values of the listed terms.
  void append_products(const TreeTemplates::Template& of, size_t k, uint64_t sum, const TreePart& part,
                       std::vector<uint64_t>& all) {
    if (k == of.lists.size()) {
      all.push_back(sum);
      return;
    }
    const TreeTemplates::Listed& term = of.lists[k];
    const auto visit = [&](uint64_t value) {
      append_products(of, k + 1, sum + mix_bits(value ^ term.seed), part, all);
    };
    if (term.kind == TreeTerm::Kind::kBetween)
      each_between(term.atom, part, visit);
    else
      attributes_->each_hash(example_, term.atom, place_of(term.kind, part) + term.offset, visit);
  }

  // The distinct values of the words between head and word, in the order of their first occurrence in the sentence.
  // Sets of values are bit sets. Those of all spans that begin at one place are computed together.
  template <typename Visit>
  void each_between(size_t atom, const TreePart& part, const Visit& visit) {
    if (!between_ready_) {
      between_.clear();
      between_ready_ = true;
    }
    const Between& of = between_of(atom);
    const int low = std::min(part.head, part.word), high = std::max(part.head, part.word);
    if (high - low < 2) return;
    const uint64_t* const set =
        of.sets.data() +
        (static_cast<size_t>(low) * static_cast<size_t>(words_ + 1) + static_cast<size_t>(high)) * of.blocks;
    for (size_t b = 0; b < of.blocks; ++b)
      for (uint64_t bits = set[b]; bits != 0; bits &= bits - 1)
        visit(of.values[64 * b + static_cast<size_t>(__builtin_ctzll(bits))]);
  }

  struct Between {
    size_t atom = 0;
    size_t blocks = 0;
    std::vector<uint64_t> values;  // the distinct values of the sentence
    std::vector<uint64_t> sets;    // (places, places, blocks): the values between two places
  };

  const Between& between_of(size_t atom) {
    for (const Between& each : between_)
      if (each.atom == atom) return each;
    Between of;
    of.atom = atom;
    std::vector<size_t> number(static_cast<size_t>(words_ + 1), 0);
    for (int place = 1; place <= words_; ++place) {
      const uint64_t value = attributes_->hash(example_, atom, place);
      const auto found = std::find(of.values.begin(), of.values.end(), value);
      number[place] = static_cast<size_t>(found - of.values.begin());
      if (found == of.values.end()) of.values.push_back(value);
    }
    of.blocks = (of.values.size() + 63) / 64;
    const auto places = static_cast<size_t>(words_) + 1;
    of.sets.assign(places * places * of.blocks, 0);
    for (size_t low = 0; low < places; ++low)
      for (size_t high = low + 2; high < places; ++high) {
        uint64_t* const set = of.sets.data() + (low * places + high) * of.blocks;
        std::copy_n(set - of.blocks, of.blocks, set);
        set[number[high - 1] / 64] |= uint64_t{1} << (number[high - 1] % 64);
      }
    between_.push_back(std::move(of));
    return between_.back();
  }

  void spell(const TreeTemplates::Template& of, const TreePart& part, const std::string& label,
             std::vector<std::string>& all) {
    const TreeTemplates& templates = attributes_->templates();
    std::vector<std::string> spelled{templates.text(of.number) + "="};
    const char* separator = "";
    for (const TreeTerm& term : templates.terms(of.number)) {
      std::vector<std::string> longer;
      for (const std::string& so_far : spelled)
        for (const std::string& value : term_values(term, part, label))
          longer.emplace_back(so_far).append(separator).append(value);
      spelled = std::move(longer);
      separator = "|";
    }
    all.insert(all.end(), spelled.begin(), spelled.end());
  }

  std::vector<std::string> term_values(const TreeTerm& term, const TreePart& part, const std::string& label) {
    const int way = way_of(part.head, part.word);
    switch (term.kind) {
      case TreeTerm::Kind::kLabel: return {label};
      case TreeTerm::Kind::kWay: return {spell_way(way)};
      case TreeTerm::Kind::kDirection: {
        std::string text = way < kLengths ? "<" : ">";
        const int32_t third = part.grandparent >= 0 ? part.grandparent : part.child;
        if (third >= 0) text += third < part.head ? ">" : "<";
        return {text};
      }
      case TreeTerm::Kind::kBetween: {
        std::vector<std::string> found;
        const int low = std::min(part.head, part.word), high = std::max(part.head, part.word);
        const size_t atom = attributes_->templates().atom_of(term);
        // Same order as each_between: by first occurrence in the whole sentence.
        for (int place = 1; place <= words_; ++place) {
          const std::string value = attributes_->values(example_, atom, place).at(0);
          bool between = false;
          for (int other = low + 1; other < high; ++other)
            between = between || attributes_->values(example_, atom, other).at(0) == value;
          if (between && std::find(found.begin(), found.end(), value) == found.end()) found.push_back(value);
        }
        return found;
      }
      default:
        return attributes_->values(example_, attributes_->templates().atom_of(term),
                                   place_of(term.kind, part) + term.offset);
    }
  }

  const TreeAttributes* attributes_ = nullptr;
  int64_t example_ = 0;
  int words_ = 0;
  bool ready_[TreeTemplates::kGroups] = {};
  std::array<Tables, TreeTemplates::kGroups> tables_;
  bool between_ready_ = false;
  std::vector<Between> between_;
};

}  // namespace margrave
