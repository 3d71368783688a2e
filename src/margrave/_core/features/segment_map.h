// The feature map of labeled segmentations. A segment scores the sum of its tokens' scores under their tags plus the
// score of its own attributes. A pair of neighboring labels has one weight.
//
// The scores of tags come from one map (tokens, tags), those of spans from another (spans, labels). Sums over the
// tokens of a segment are differences of prefix sums, also in the adjoint.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "features/table.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "rows/sparse_rows.h"
#include "structures/semi_markov.h"

namespace margrave {

// Weights: [tags of tokens][pairs of labels][start][stop][spans].
class SegmentMap final : public Features {
 public:
  struct Settings {
    std::vector<int64_t> pair_weight;  // by pair of labels: index of its pair weight, or -1
    int64_t pair_weights = 0;
    bool tied = true;
    double scale = 1;
    bool start = false;
    bool stop = false;
  };

  // spans may be null. lengths: the number of tokens of each example.
  SegmentMap(Segments segments, SegmentTags tags, std::vector<int64_t> lengths, std::shared_ptr<const Table> tokens,
             std::shared_ptr<const Table> spans, Settings settings)
      : segments_(std::move(segments)),
        tags_(std::move(tags)),
        lengths_(std::move(lengths)),
        tokens_(std::move(tokens)),
        spans_(std::move(spans)),
        settings_(std::move(settings)) {
    tags_.check(segments_);
    if (static_cast<int64_t>(settings_.pair_weight.size()) != labels() * labels())
      throw InputError("every pair of labels needs the number of its weight, or -1.");
    for (int64_t q = 0; q < labels() * labels(); ++q) {
      const int64_t weight = settings_.pair_weight[q];
      if (weight < -1 || weight >= settings_.pair_weights) throw InputError("a pair's weight is out of range.");
      if (weight >= 0) kept_.emplace_back(q, weight);
    }
    if (!std::isfinite(settings_.scale) || settings_.scale < 0)
      throw InputError("the scale of transitions must be finite and not negative.");
    if (tokens_->size() != size() || (spans_ && spans_->size() != size()))
      throw InputError("there must be features for the tokens and spans of every example.");
    for (int64_t i = 0; i < size(); ++i) {
      const int64_t n = lengths_[i];
      if (n < 1 || tokens_->parts(i) != n * tags_.tags || (spans_ && spans_->parts(i) != segments_.spans(n) * labels()))
        throw InputError("example " + std::to_string(i) + " has features for another number of tokens or spans.");
    }
    pair_at_ = tokens_->dim();
    start_at_ = pair_at_ + settings_.pair_weights;
    stop_at_ = start_at_ + (settings_.start ? labels() : 0);
    span_at_ = stop_at_ + (settings_.stop ? labels() : 0);
    dim_ = span_at_ + (spans_ ? spans_->dim() : 0);
  }

  int64_t size() const override { return static_cast<int64_t>(lengths_.size()); }
  int64_t dim() const override { return dim_; }
  int64_t parts(int64_t i) const override {
    return segments_.count(lengths_[i]) + tables(lengths_[i]) * labels() * labels();
  }

  void score(int64_t i, const double* w, double* theta) const override {
    const int64_t n = lengths_[i];
    const int64_t L = labels();
    const int64_t K = tags_.tags;
    double* scores = room(0, n * K);
    tokens_->score(i, w, scores);
    const double* of_spans = nullptr;
    if (spans_) {
      double* memory = room(1, segments_.spans(n) * L);
      spans_->score(i, w + span_at_, memory);
      of_spans = memory;
    }
    // By label and backwards, so starts are in order of length: the score of the first token minus the inside scores of
    // the tokens up to it.
    double* starts = room(2, n + 1);
    double* sums = room(3, n + 1);
    for (int64_t l = 0; l < L; ++l) {
      const int32_t inside = tags_.inside[l];
      sums[0] = 0;
      for (int64_t t = 0; t < n; ++t) {
        sums[t + 1] = sums[t] + (inside < 0 ? 0.0 : scores[t * K + inside]);
        starts[n - t] = scores[t * K + tags_.first[l]] - sums[t + 1];
      }
      if (settings_.start) starts[n] += w[start_at_ + l];
      if (settings_.stop) sums[n] += w[stop_at_ + l];
      for (int64_t e = 1; e <= n; ++e) {
        double* of = theta + segments_.first(e, l);
        const double* start = starts + n - e;
        const int64_t lengths = segments_.lengths(e, l);
        for (int64_t m = 1; m <= lengths; ++m) of[m - 1] = start[m] + sums[e];
        if (!of_spans) continue;
        const double* span = of_spans + segments_.spans_before(e) * L + l;
        for (int64_t m = 0; m < lengths; ++m) of[m] += span[m * L];
      }
    }
    double* table = theta + segments_.count(n);
    for (int64_t k = 0; k < tables(n); ++k, table += L * L) {
      std::fill(table, table + L * L, 0.0);
      for (const auto& [pair, weight] : kept_) table[pair] = settings_.scale * w[pair_at_ + weight];
    }
  }

  void scatter(int64_t i, const double* mu, double c, double* g) const override { spread<false>(i, mu, c, g); }
  double move(int64_t i, const double* v, double c, double* w) const override { return spread<true>(i, v, c, w); }

  void row(int64_t i, const double* v, Row& row) const override {
    const int64_t n = lengths_[i];
    std::vector<std::pair<int64_t, double>> entries;
    Row of_tokens;
    tokens_->row(i, tag_values(n, v), of_tokens);
    for (size_t k = 0; k < of_tokens.index.size(); ++k) entries.emplace_back(of_tokens.index[k], of_tokens.value[k]);
    each_pair(n, v, [&](int64_t weight, double value) { entries.emplace_back(weight, value); });
    if (spans_) {
      Row of_spans;
      spans_->row(i, span_values(n, v), of_spans);
      for (size_t k = 0; k < of_spans.index.size(); ++k)
        entries.emplace_back(span_at_ + of_spans.index[k], of_spans.value[k]);
    }
    merge_entries(entries, row);
  }

  // Every token has one tag. An output has at most one span that ends at each token, and at most n - 1 pairs.
  double radius(int64_t i) const override {
    const int64_t n = lengths_[i];
    const double tokens = tokens_->radius(i);
    const double pairs = kept_.empty() ? 0.0 : settings_.scale * static_cast<double>(n - 1);
    double square = tokens * tokens + 2 * pairs * pairs + (settings_.start ? 2.0 : 0.0) + (settings_.stop ? 2.0 : 0.0);
    if (spans_) {
      double total = 0;
      for (int64_t e = 1; e <= n; ++e)
        total += spans_->longest_row(i, segments_.spans_before(e), segments_.spans_before(e + 1));
      square += 4 * total * total;
    }
    return std::sqrt(square);
  }

 private:
  int64_t labels() const { return segments_.labels(); }
  int64_t tables(int64_t n) const { return settings_.tied ? 1 : n - 1; }

  // Per-thread memory for sums.
  static double* room(int which, int64_t n) {
    thread_local std::vector<double> memory[4];
    std::vector<double>& of = memory[which];
    if (static_cast<int64_t>(of.size()) < n) of.resize(n);
    return of.data();
  }

  const double* tag_values(int64_t n, const double* v) const {
    double* values = room(0, n * tags_.tags);
    tags_.spread(segments_, n, v, values);
    return values;
  }
  const double* span_values(int64_t n, const double* v) const {
    const int64_t L = labels();
    double* values = room(1, segments_.spans(n) * L);
    std::fill(values, values + segments_.spans(n) * L, 0.0);
    for (int64_t e = 1; e <= n; ++e)
      for (int64_t l = 0; l < L; ++l) {
        const double* of = v + segments_.first(e, l);
        double* span = values + segments_.spans_before(e) * L + l;
        for (int64_t m = 0; m < segments_.lengths(e, l); ++m) span[m * L] = of[m];
      }
    return values;
  }

  // Calls visit(weight, value) for the weights of pairs, and of the first and the last label.
  template <typename Visit>
  void each_pair(int64_t n, const double* v, const Visit& visit) const {
    const int64_t L = labels();
    const double* table = v + segments_.count(n);
    for (int64_t k = 0; k < tables(n); ++k, table += L * L)
      for (const auto& [pair, weight] : kept_)
        if (table[pair] != 0) visit(pair_at_ + weight, settings_.scale * table[pair]);
    for (int64_t l = 0; l < L; ++l) {
      double first = 0;
      double last = 0;
      for (int64_t e = 1; settings_.start && e <= std::min(n, segments_.longest(l)); ++e)
        first += v[segments_.first(e, l) + e - 1];
      for (int64_t m = 0; settings_.stop && m < segments_.lengths(n, l); ++m) last += v[segments_.first(n, l) + m];
      if (first != 0) visit(start_at_ + l, first);
      if (last != 0) visit(stop_at_ + l, last);
    }
  }

  // g += c A_i' v. If Measured, returns the change of 1/2 |g|^2.
  template <bool Measured>
  double spread(int64_t i, const double* v, double c, double* g) const {
    const int64_t n = lengths_[i];
    double change = spread_table<Measured>(*tokens_, i, tag_values(n, v), c, g);
    each_pair(n, v, [&](int64_t weight, double value) { change += add_measured<Measured>(c * value, g[weight]); });
    if (spans_) change += spread_table<Measured>(*spans_, i, span_values(n, v), c, g + span_at_);
    return change;
  }
  template <bool Measured>
  static double spread_table(const Table& table, int64_t i, const double* v, double c, double* g) {
    if (Measured) return table.move(i, v, c, g);
    table.scatter(i, v, c, g);
    return 0;
  }

  Segments segments_;
  SegmentTags tags_;
  std::vector<int64_t> lengths_;
  std::shared_ptr<const Table> tokens_;
  std::shared_ptr<const Table> spans_;
  Settings settings_;
  std::vector<std::pair<int64_t, int64_t>> kept_;  // the pairs that have a weight, with its index
  int64_t pair_at_, start_at_, stop_at_, span_at_, dim_;
};

}  // namespace margrave
