// Alignments of two sequences (engines/alignment.h), with tied parts or with parts at their places (pair_parts.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engines/alignment.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "structures/alignments.h"
#include "structures/pair_parts.h"

namespace margrave {

// Parts by letter, or by place.
class AlignmentStructure final : public Alignments, private Counted {
 public:
  AlignmentStructure(PairParts layout, std::vector<int64_t> of_x, std::vector<int64_t> of_y, Sequences x, Sequences y,
                     Matches gold, bool costs)
      : Alignments(std::move(of_x), std::move(of_y), std::move(gold)),
        layout_(layout),
        x_(std::move(x)),
        y_(std::move(y)),
        costs_(costs) {
    if (layout_.tied()) {
      x_.check(layout_.letters(), "sequence x");
      y_.check(layout_.letters(), "sequence y");
      if (x_.size() != size() || y_.size() != size()) throw InputError("there must be letters for every sequence.");
      for (int64_t i = 0; i < size(); ++i)
        if (x_.length(i) != n(i) || y_.length(i) != m(i))
          throw InputError("example " + std::to_string(i) + ": there must be one letter for every position.");
      return;
    }
    for (int64_t i = 0; i < size(); ++i)
      if (n(i) > kMostPlaces / m(i))
        throw InputError("example " + std::to_string(i) + " has " + std::to_string(n(i)) + " times " +
                         std::to_string(m(i)) + " pairs of places, and parts at their places are limited to " +
                         std::to_string(kMostPlaces) + ": use tied=True.");
  }

  const PairParts& layout() const { return layout_; }
  SequencePair sequences(int64_t i) const {
    return {layout_.tied() ? x_.of(i) : nullptr, layout_.tied() ? y_.of(i) : nullptr, n(i), m(i)};
  }

  int64_t parts(int64_t i) const override { return layout_.count(n(i), m(i)); }
  int64_t repeats(int64_t i) const override { return layout_.tied() ? longest(i) : 1; }
  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample; }
  void gold(int64_t i, int64_t, Output& y) const override {
    alignment::Path path;
    gold_path(i, path);
    to_output(i, path, y);
  }

  // The number of missed gold pairs plus the number of wrong pairs. Tied parts cannot express it.
  double cost(int64_t i, double* delta) const override {
    std::fill_n(delta, parts(i), 0.0);
    if (layout_.tied() || !costs_ || !has_gold()) return 0;
    std::fill_n(delta, n(i) * m(i), 1.0);
    const int32_t* pairs = gold_matches().of(i);
    const int64_t count = gold_matches().count(i);
    for (int64_t q = 0; q < count; ++q) delta[pairs[2 * q] * m(i) + pairs[2 * q + 1]] = -1;
    return static_cast<double>(count);
  }

  // The F1 cost counts pairs, not gaps.
  const Counted* counted() const override { return layout_.tied() ? nullptr : this; }
  void counts(int64_t i, double* right, double* predicted, int64_t& of_gold) const override {
    std::fill_n(right, parts(i), 0.0);
    std::fill_n(predicted, parts(i), 0.0);
    std::fill_n(predicted, n(i) * m(i), 1.0);
    const int32_t* pairs = gold_matches().of(i);
    of_gold = gold_matches().count(i);
    for (int64_t q = 0; q < of_gold; ++q) right[pairs[2 * q] * m(i) + pairs[2 * q + 1]] = 1;
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    alignment::Path path;
    y.clear();
    const double value = alignment::best(layout_.scores(sequences(i), theta, scratch), path, scratch);
    if (value > -kInfinity) to_output(i, path, y);
    return value;
  }
  // Only the score, in linear memory.
  double best_score(int64_t i, const double* theta, Scratch& scratch) const {
    return alignment::best_score(layout_.scores(sequences(i), theta, scratch), scratch);
  }
  // The matched pairs of the alignment with the largest sum of their posteriors minus `caution`, in one byte per cell.
  void most_accurate(int64_t i, const double* theta, double caution, std::vector<int32_t>& found,
                     Scratch& scratch) const {
    const SequencePair pair = sequences(i);
    const alignment::Scores scores = layout_.scores(pair, theta, scratch);
    alignment::Posteriors posteriors = layout_.posteriors_by_row(pair, scratch);
    if (alignment::most_accurate(scores, posteriors, caution, found, scratch) == -kInfinity)
      throw InputError("every output is forbidden.");
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    check_cells(i, n(i), m(i));
    std::fill_n(mu, parts(i), 0.0);
    const SequencePair pair = sequences(i);
    const alignment::Scores scores = layout_.scores(pair, theta, scratch);
    alignment::Posteriors posteriors = layout_.posteriors(pair, mu, scratch);
    const double log_z = alignment::logsum(scores, posteriors, scratch);
    layout_.add(pair, posteriors, mu);
    return log_z;
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch& scratch) const override {
    check_cells(i, n(i), m(i));
    whole_costs(delta, parts(i));
    const SequencePair pair = sequences(i);
    ys.clear();
    alignment::best_by_cost(layout_.scores(pair, theta, scratch), layout_.scores(pair, delta, scratch),
                            [&](int64_t cost, double value, const alignment::Path& path) {
                              ys.push_back({cost, value, {}});
                              layout_.to_parts(pair, path, ys.back().y);
                            });
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    check_cells(i, n(i), m(i));
    const SequencePair pair = sequences(i);
    ys.clear();
    alignment::kbest(layout_.scores(pair, theta, scratch), k, scratch, [&](double value, const alignment::Path& path) {
      ys.push_back({value, {}});
      layout_.to_parts(pair, path, ys.back().y);
    });
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<Output> ys(1);
    sample_many(i, theta, random, ys, scratch);
    y = std::move(ys[0]);
  }
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                   Scratch& scratch) const override {
    check_cells(i, n(i), m(i));
    auto next = ys.begin();
    if (!alignment::sample(layout_.scores(sequences(i), theta, scratch), static_cast<int64_t>(ys.size()), random,
                           [&](const alignment::Path& path) { to_output(i, path, *next++); }))
      throw InputError("every output is forbidden.");
  }

  void matches(int64_t i, const int32_t* parts, int64_t size, std::vector<int32_t>& found) const override {
    layout_.matches(sequences(i), parts, size, found);
  }
  void match_table(int64_t i, const double* mu, double* table) const override {
    if (layout_.tied()) throw InputError("tied parts do not tell where letters are matched: use tied=False.");
    std::copy_n(mu, n(i) * m(i), table);
  }

 private:
  void to_output(int64_t i, const alignment::Path& path, Output& y) const {
    y.clear();
    layout_.to_parts(sequences(i), path, y);
  }

  PairParts layout_;
  Sequences x_, y_;
  bool costs_;
};

}  // namespace margrave
