// The feature map of constituent trees: one weight per rule, and attributes of labeled spans and of splits from
// templates.
//
// The templates are those of inputs/tree_templates.h. A span over the words s..e is treated as an arc from the word
// before it to its last word. A split is treated as a child between them, the first word after the split. Attributes of
// spans are combined with the label. With hashing, the weights of all labels are contiguous, so the scores of a span
// are sums of contiguous weights. Nothing is stored per span.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "features/tree_map.h"
#include "inputs/tree_templates.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/interfaces.h"
#include "rows/sparse_rows.h"
#include "structures/constituents.h"

namespace margrave {

class SpanMap final : public Features, private WeightedMap {
 public:
  // attributes: null if only rules have weights.
  SpanMap(std::shared_ptr<const ConstituentStructure> structure, std::shared_ptr<const TreeAttributes> attributes,
          int hash_bits)
      : structure_(std::move(structure)), attributes_(std::move(attributes)) {
    const Grammar& g = structure_->grammar();
    binary_ = static_cast<int64_t>(g.binary().size());
    lexical_ = static_cast<int64_t>(g.lexical().size());
    rules_ = binary_ + lexical_ + g.unary() + static_cast<int64_t>(g.roots().size());
    if (!attributes_) return;
    check_hash_bits(hash_bits);
    shift_ = 64 - hash_bits;
    hashed_ = (int64_t{1} << hash_bits) + std::max(0, g.spans() - 1);
    if (structure_->size() != attributes_->examples())
      throw InputError("there are attributes for " + std::to_string(attributes_->examples()) + " sentences, and " +
                       std::to_string(structure_->size()) + " trees.");
    for (int64_t i = 0; i < size(); ++i)
      if (structure_->words(i) != attributes_->words(i))
        throw InputError("example " + std::to_string(i) + " has attributes for " +
                         std::to_string(attributes_->words(i)) + " words, and a tree of " +
                         std::to_string(structure_->words(i)) + ".");
  }

  int64_t size() const override { return structure_->size(); }
  int64_t dim() const override { return rules_ + hashed_; }
  int64_t parts(int64_t i) const override { return structure_->parts(i); }

  void score(int64_t i, const double* w, double* theta) const override {
    const DerivationParts& parts = structure_->layout(i);
    std::fill(theta + parts.first_span(), theta + parts.size(), 0.0);
    each_rule(parts, [&](int64_t first, int64_t last, int64_t k) { std::fill(theta + first, theta + last, w[k]); });
    each_row(i, [&](int64_t part, int64_t width, const std::vector<uint64_t>& found) {
      double* const to = theta + part;
      for (const uint64_t f : found) {
        const double* const from = w + rules_ + static_cast<int64_t>(f >> shift_);
        for (int64_t k = 0; k < width; ++k) to[k] += from[k];
      }
    });
  }
  void scatter(int64_t i, const double* mu, double c, double* g) const override {
    each_rule(structure_->layout(i), [&](int64_t first, int64_t last, int64_t k) {
      for (int64_t part = first; part < last; ++part) g[k] += c * mu[part];
    });
    each_row(i, [&](int64_t part, int64_t width, const std::vector<uint64_t>& found) {
      const double* const from = mu + part;
      if (std::all_of(from, from + width, [](double x) { return x == 0; })) return;
      for (const uint64_t f : found) {
        double* const to = g + rules_ + static_cast<int64_t>(f >> shift_);
        for (int64_t k = 0; k < width; ++k) to[k] += c * from[k];
      }
    });
  }
  double move(int64_t i, const double* v, double c, double* w) const override {
    double change = 0;
    each_entry(i, v, [&](int64_t k, double value) { change += add_measured<true>(c * value, w[k]); });
    return change;
  }
  void row(int64_t i, const double* v, Row& row) const override {
    std::vector<std::pair<int64_t, double>> entries;
    each_entry(i, v, [&](int64_t k, double value) { entries.emplace_back(k, value); });
    merge_entries(entries, row);
  }

  // An output has at most 2 n - 1 nodes, each with a rule, a chain of unary rules, a labeled span and a split.
  double radius(int64_t i) const override {
    double longest = 0;
    std::vector<uint64_t> places;
    each_row(i, [&](int64_t, int64_t, const std::vector<uint64_t>& found) {
      places.clear();
      for (const uint64_t f : found) places.push_back(f >> shift_);
      std::sort(places.begin(), places.end());
      double square = 0;
      for (size_t first = 0, last = 0; first < places.size(); first = last) {
        while (last < places.size() && places[last] == places[first]) ++last;
        square += static_cast<double>((last - first) * (last - first));
      }
      longest = std::max(longest, std::sqrt(square));
    });
    const double nodes = 2.0 * structure_->words(i) - 1;
    return 2 * (nodes * (1 + static_cast<double>(structure_->grammar().longest_path()) + 2 * longest) + 1);
  }

  // Without templates, only rules have weights.
  const WeightedMap* weighted() const override { return attributes_ ? nullptr : this; }
  WeightedParts weighted_parts(int64_t i) const override {
    const DerivationParts& parts = structure_->layout(i);
    static const int32_t kNone = 0;
    return {parts.rules(), 1, parts.size() - parts.rules(), &kNone, 0};
  }
  void score_weighted(int64_t i, const double* w, double* theta) const override {
    each_rule(structure_->layout(i),
              [&](int64_t first, int64_t last, int64_t k) { std::fill(theta + first, theta + last, w[k]); });
  }
  double move_weighted(int64_t i, const double* v, double c, double* w) const override { return move(i, v, c, w); }

 private:
  struct Memory {
    Fingerprints fingerprints;
    std::vector<uint64_t> found;
  };

  // Calls visit(first part, last part, weight) for the parts of every rule.
  template <class Visit>
  void each_rule(const DerivationParts& parts, const Visit& visit) const {
    const Grammar& g = structure_->grammar();
    const auto block = [&](int64_t first, int64_t repeats, int64_t count, int64_t weight) {
      for (int64_t k = 0; k < count; ++k) visit(first + k * repeats, first + (k + 1) * repeats, weight + k);
    };
    const bool tied = parts.tied();
    block(0, tied ? 1 : parts.triples(), binary_, 0);
    block(parts.lexical(0, 0), tied ? 1 : parts.words(), lexical_, binary_);
    block(parts.unary(0, 0), tied ? 1 : parts.cells(), g.unary(), binary_ + lexical_);
    block(parts.root(0), 1, static_cast<int64_t>(g.roots().size()), binary_ + lexical_ + g.unary());
  }

  // Calls visit(part, width, fingerprints) for rows of `width` parts with common attributes: the labels of a span, or
  // one split. Skips pruned spans.
  template <class Visit>
  void each_row(int64_t i, const Visit& visit) const {
    if (!attributes_) return;
    thread_local Memory memory;
    auto& [fingerprints, found] = memory;
    const DerivationParts& parts = structure_->layout(i);
    fingerprints.begin(*attributes_, i);
    const int32_t labels = structure_->grammar().spans();
    const char* const left = structure_->cells_left(i);
    const auto has = [&](int s, int e) { return !left || e - s == 1 || left[parts.cell(s, e)]; };
    parts.each_cell([&](int s, int e) {
      if (!has(s, e)) return;
      found.clear();
      fingerprints.append(TreeTemplates::kLabels, {-1, s, -1, e, 0}, found);
      visit(parts.span(parts.cell(s, e), 0), labels, found);
    });
    if (!parts.splits()) return;
    parts.each_cell([&](int s, int e) {
      if (!has(s, e)) return;
      for (int m = s + 1; m < e; ++m) {
        if (!has(s, m) || !has(m, e)) continue;
        found.clear();
        fingerprints.append(TreeTemplates::kSiblings, {-1, s, m + 1, e, -1}, found);
        visit(parts.split(s, m, e), 1, found);
      }
    });
  }

  template <class Visit>
  void each_entry(int64_t i, const double* v, const Visit& visit) const {
    each_rule(structure_->layout(i), [&](int64_t first, int64_t last, int64_t k) {
      double sum = 0;
      for (int64_t part = first; part < last; ++part) sum += v[part];
      if (sum != 0) visit(k, sum);
    });
    each_row(i, [&](int64_t part, int64_t width, const std::vector<uint64_t>& found) {
      for (int64_t label = 0; label < width; ++label)
        if (const double value = v[part + label]; value != 0)
          for (const uint64_t f : found) visit(rules_ + static_cast<int64_t>(f >> shift_) + label, value);
    });
  }

  std::shared_ptr<const ConstituentStructure> structure_;
  std::shared_ptr<const TreeAttributes> attributes_;
  int64_t binary_ = 0, lexical_ = 0, rules_ = 0, hashed_ = 0;
  int shift_ = 0;
};

}  // namespace margrave
