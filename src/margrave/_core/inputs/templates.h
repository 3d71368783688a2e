// Templates over the columns of tokens, compiled (features/templates.py defines them).
//
// Every distinct string of a column gets a number, and so does every distinct result of a function. A template with
// several terms is a pair of a shorter one and its last term. Distinct pairs of numbers get numbers in turn:
//
//     1[-2]|1[-1]|1[0]    pair(pair(column 1, column 1 one place ahead), column 1 two places ahead), two places behind
//
// Such nodes do not depend on the position of the token. So all templates that are equal up to a shift share one node,
// which is evaluated once per token. The number of a node's value is the key of the attribute.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "inputs/column_table.h"
#include "inputs/functions.h"
#include "protocol/checks.h"
#include "rows/keyed.h"
#include "rows/vocabulary.h"

namespace margrave {

// Numbers pairs of numbers.
class PairNumbers {
 public:
  PairNumbers() : slots_(64) {}

  int64_t size() const { return static_cast<int64_t>(pairs_.size()); }
  std::pair<int32_t, int32_t> pair(int32_t number) const {
    const uint64_t both = pairs_[number];
    return {static_cast<int32_t>(both >> 32), static_cast<int32_t>(both & 0xffffffffu)};
  }

  // Both numbers must be non-negative.
  static uint64_t joined(int32_t a, int32_t b) { return static_cast<uint64_t>(a) << 32 | static_cast<uint32_t>(b); }
  void prefetch(uint64_t both) const { __builtin_prefetch(&slots_[slot_of(both)]); }

  int32_t add(uint64_t both) {
    size_t at = slot_of(both);
    for (; slots_[at].both != kEmpty; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].both == both) return slots_[at].number;
    if (pairs_.size() >= 0x7ffffffe) throw InputError("more than two billion pairs of values.");
    const auto number = static_cast<int32_t>(pairs_.size());
    pairs_.push_back(both);
    slots_[at] = {both, number};
    if (2 * pairs_.size() > slots_.size()) grow();
    return number;
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t both = kEmpty;
    int32_t number = 0;
  };

  size_t slot_of(uint64_t both) const {
    uint64_t h = both * 0x9fb21c651e98df25u;
    h ^= h >> 32;
    h *= 0x9fb21c651e98df25u;
    return static_cast<size_t>(h >> 29) & (slots_.size() - 1);
  }
  void grow() {
    slots_.assign(2 * slots_.size(), {});
    for (size_t k = 0; k < pairs_.size(); ++k) {
      size_t at = slot_of(pairs_[k]);
      while (slots_[at].both != kEmpty) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = {pairs_[k], static_cast<int32_t>(k)};
    }
  }

  std::vector<uint64_t> pairs_;
  std::vector<Slot> slots_;
};

struct TemplateTerm {
  int64_t column;
  int64_t offset;
  std::string function;  // empty: the value itself
};

// Compiled templates with the numbers of all values seen so far.
class TemplateNames : public KeyedNames {
 public:
  // Templates without terms are marks: `begin` and `end`.
  TemplateNames(const std::vector<std::string>& templates, const std::vector<std::vector<TemplateTerm>>& terms) {
    if (templates.size() != terms.size()) throw InputError("every template needs its terms.");
    for (size_t k = 0; k < templates.size(); ++k) kinds_.push_back(compiled(templates[k], terms[k]));
  }

  int64_t kinds() const override { return static_cast<int64_t>(kinds_.size()); }
  int64_t keys(int64_t kind) const override {
    const Kind& of = kinds_[kind];
    return of.node < 0 ? 1 : values(nodes_[of.node]);
  }
  void spell(int64_t kind, int32_t key, std::string& name) const override {
    const Kind& of = kinds_[kind];
    name += of.prefix;
    if (of.node >= 0) spell_value(of.node, key, name);
  }

  const std::vector<int64_t>& columns() const { return columns_; }  // used by templates
  size_t functions() const { return functions_.size(); }
  const std::string& function(size_t k) const { return functions_[k].name; }

  // Applies a function to the new values of its column. Returns the values whose results must come from Python,
  // including those that another thread is about to request.
  struct Unknown {
    std::vector<size_t> numbers;
    std::vector<std::string> texts;
  };
  Unknown apply(size_t k) {
    Function& function = functions_[k];
    const Vocabulary& values = column_values_[function.column];
    for (int64_t v = static_cast<int64_t>(function.value_of.size()); v < values.size(); ++v) {
      const std::string_view text = values.name(v);
      const bool known = function.known.knows(text);
      if (!known) function.unknown.push_back(static_cast<size_t>(v));
      function.value_of.push_back(known ? number_of(function, function.known.apply(text)) : kUnknown);
    }
    Unknown unknown{function.unknown, {}};
    for (const size_t v : unknown.numbers) unknown.texts.emplace_back(values.name(static_cast<int64_t>(v)));
    return unknown;
  }
  void add_results(size_t k, const Unknown& asked, const std::vector<std::optional<std::string>>& results) {
    Function& function = functions_[k];
    for (size_t i = 0; i < results.size(); ++i) {
      int32_t& value = function.value_of[asked.numbers[i]];
      if (value == kUnknown) value = number_of(function, results[i]);
    }
    std::erase_if(function.unknown, [&](size_t v) { return function.value_of[v] != kUnknown; });
  }

  // The count of numbered values and pairs, to which the memory is proportional. The mutex must be held.
  int64_t size() const {
    int64_t total = 0;
    for (const Vocabulary& of : column_values_) total += of.size();
    for (const Function& of : functions_) total += of.values.size();
    for (const Node& node : nodes_) total += node.pairs.size();
    return total;
  }

  // The numbers of the values of all columns used by templates: one array (tokens) per column.
  std::vector<std::vector<int32_t>> intern(const ColumnTable& table, const std::vector<int64_t>& place) {
    std::vector<std::vector<int32_t>> ids(columns_.size());
    for (size_t c = 0; c < columns_.size(); ++c) {
      ids[c].resize(static_cast<size_t>(table.tokens()));
      intern_column(table, place[c], column_values_[c], ids[c]);
    }
    return ids;
  }

  // The keys (n, kinds) of one sentence, from the numbers of its values.
  void evaluate(const std::vector<const int32_t*>& ids, int64_t n, std::vector<int32_t>& keys) {
    for (size_t k = 0; k < nodes_.size(); ++k) evaluate_node(nodes_[k], ids, n);
    const auto kinds = static_cast<int64_t>(kinds_.size());
    keys.assign(static_cast<size_t>(n * kinds), -1);
    for (int64_t k = 0; k < kinds; ++k) {
      const Kind& kind = kinds_[k];
      if (kind.node < 0) {
        if (n > 0) keys[(kind.prefix == "begin" ? 0 : n - 1) * kinds + k] = 0;
        continue;
      }
      const int32_t* const values = nodes_[kind.node].at;
      const int64_t first = std::max<int64_t>(0, -kind.offset), last = std::min(n, n - kind.offset);
      for (int64_t t = first; t < last; ++t) keys[t * kinds + k] = values[t + kind.offset];
    }
  }

 private:
  static constexpr int32_t kNone = -1;
  static constexpr int32_t kUnknown = -2;
  enum class From { kColumn, kFunction, kPair };
  struct Node {
    From from;
    size_t left;        // the column, the function, or the first node
    size_t right;       // the second node
    int64_t distance;   // how far ahead the second node's value is
    PairNumbers pairs;  // kPair only
    std::vector<int32_t> scratch;
    const int32_t* at = nullptr;  // the values of the sentence being evaluated
  };
  struct Function {
    size_t column;  // in columns_
    std::string name;
    TemplateFunction known;
    Vocabulary values;
    std::vector<int32_t> value_of;  // the function's result for each value of the column; kNone: none
    std::vector<size_t> unknown;    // values of the column that wait for a result from Python
  };
  struct Kind {
    std::string prefix;  // the template and =; or the mark
    int64_t node;        // -1: a mark
    int64_t offset;
  };

  Kind compiled(const std::string& text, const std::vector<TemplateTerm>& terms) {
    if (terms.empty()) {
      if (text != "begin" && text != "end") throw InputError("a template without terms must be begin or end.");
      return {text, -1, 0};
    }
    const int64_t anchor = terms[0].offset;
    size_t node = term_node(terms[0]);
    for (size_t k = 1; k < terms.size(); ++k)
      node = node_of(From::kPair, node, term_node(terms[k]), terms[k].offset - anchor);
    return {text + "=", static_cast<int64_t>(node), anchor};
  }

  size_t term_node(const TemplateTerm& term) {
    if (term.column < 0) throw InputError("columns are counted from 0.");
    const auto found = std::find(columns_.begin(), columns_.end(), term.column);
    const auto column = static_cast<size_t>(found - columns_.begin());
    if (found == columns_.end()) {
      columns_.push_back(term.column);
      column_values_.emplace_back();
    }
    if (term.function.empty()) return node_of(From::kColumn, column, 0, 0);
    const auto same = std::find_if(functions_.begin(), functions_.end(),
                                   [&](const Function& of) { return of.column == column && of.name == term.function; });
    const auto function = static_cast<size_t>(same - functions_.begin());
    if (same == functions_.end())
      functions_.push_back({column, term.function, TemplateFunction(term.function), {}, {}, {}});
    return node_of(From::kFunction, function, 0, 0);
  }

  static int32_t number_of(Function& function, const std::optional<std::string>& text) {
    return text ? function.values.add(*text, hash_bytes(text->data(), text->size())) : kNone;
  }

  size_t node_of(From from, size_t left, size_t right, int64_t distance) {
    for (size_t k = 0; k < nodes_.size(); ++k) {
      const Node& node = nodes_[k];
      if (node.from == from && node.left == left && node.right == right && node.distance == distance) return k;
    }
    nodes_.push_back({from, left, right, distance, {}, {}, nullptr});
    return nodes_.size() - 1;
  }

  int64_t values(const Node& node) const {
    switch (node.from) {
      case From::kColumn: return column_values_[node.left].size();
      case From::kFunction: return functions_[node.left].values.size();
      default: return node.pairs.size();
    }
  }

  void spell_value(int64_t k, int32_t value, std::string& name) const {
    const Node& node = nodes_[k];
    if (node.from == From::kColumn) {
      name += column_values_[node.left].name(value);
    } else if (node.from == From::kFunction) {
      name += functions_[node.left].values.name(value);
    } else {
      const auto [left, right] = node.pairs.pair(value);
      spell_value(static_cast<int64_t>(node.left), left, name);
      name += '|';
      spell_value(static_cast<int64_t>(node.right), right, name);
    }
  }

  static void intern_column(const ColumnTable& table, int64_t column, Vocabulary& values, std::vector<int32_t>& ids) {
    constexpr int64_t kChunk = 64;  // cells whose slots are being prefetched
    uint64_t hashes[kChunk];
    for (int64_t from = 0; from < table.tokens(); from += kChunk) {
      const int64_t to = std::min(table.tokens(), from + kChunk);
      for (int64_t t = from; t < to; ++t) {
        const std::string_view cell = table.cell(t, column);
        values.prefetch(hashes[t - from] = hash_bytes(cell.data(), cell.size()));
      }
      for (int64_t t = from; t < to; ++t) ids[t] = values.add(table.cell(t, column), hashes[t - from]);
    }
  }

  void evaluate_node(Node& node, const std::vector<const int32_t*>& ids, int64_t n) {
    if (node.from == From::kColumn) {
      node.at = ids[node.left];
      return;
    }
    node.scratch.resize(static_cast<size_t>(n));
    node.at = node.scratch.data();
    if (node.from == From::kFunction) {
      const Function& function = functions_[node.left];
      const int32_t* const values = ids[function.column];
      for (int64_t t = 0; t < n; ++t) node.scratch[t] = function.value_of[values[t]];
      return;
    }
    const int32_t* const left = nodes_[node.left].at;
    const int32_t* const right = nodes_[node.right].at;
    const int64_t first = std::max<int64_t>(0, -node.distance), last = std::min(n, n - node.distance);
    std::fill(node.scratch.begin(), node.scratch.end(), -1);
    for (int64_t t = first; t < last; ++t)
      if (left[t] >= 0 && right[t + node.distance] >= 0)
        node.pairs.prefetch(PairNumbers::joined(left[t], right[t + node.distance]));
    for (int64_t t = first; t < last; ++t)
      if (left[t] >= 0 && right[t + node.distance] >= 0)
        node.scratch[t] = node.pairs.add(PairNumbers::joined(left[t], right[t + node.distance]));
  }

  std::vector<Kind> kinds_;
  std::vector<Node> nodes_;  // components of a node come before it
  std::vector<int64_t> columns_;
  std::vector<Vocabulary> column_values_;
  std::vector<Function> functions_;
};

// The attributes of the tokens of a table.
class TemplateAttributes : public KeyedAttributes {
 public:
  TemplateAttributes(std::shared_ptr<TemplateNames> names, std::vector<std::vector<int32_t>> ids,
                     std::vector<int64_t> begin)
      : names_(names), keyed_(std::move(names)), ids_(std::move(ids)), begin_(std::move(begin)) {}

  const std::shared_ptr<KeyedNames>& names() const override { return keyed_; }
  int64_t examples() const override { return static_cast<int64_t>(begin_.size()) - 1; }
  int64_t units(int64_t i) const override { return begin_[i + 1] - begin_[i]; }
  void keys(int64_t i, std::vector<int32_t>& keys) const override {
    std::vector<const int32_t*> at;
    for (const std::vector<int32_t>& column : ids_) at.push_back(column.data() + begin_[i]);
    names_->evaluate(at, units(i), keys);
  }

 private:
  std::shared_ptr<TemplateNames> names_;
  std::shared_ptr<KeyedNames> keyed_;
  std::vector<std::vector<int32_t>> ids_;  // by column used by templates: the number of every token's value
  std::vector<int64_t> begin_;
};

}  // namespace margrave
