// Attribute x label tables: the feature map of multiclass and of chains (003, Eq. 13).
//
// Attributes of tokens score the (position, label) parts. Label tuples have one weight each and, if parts are untied,
// attributes of the transition. The first and last position may have additional scores.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/interfaces.h"
#include "rows/sparse_rows.h"
#include "rows/tokens.h"
#include "simd/loops.h"

namespace margrave {

// The (attribute, label) pairs that have a weight: all, or a list of labels for each attribute.
class Pairs {
 public:
  Pairs(int64_t attributes, int64_t labels) : attributes_(attributes), labels_(labels) {
    if (attributes < 0 || labels < 1) throw InputError("a table needs at least one label.");
    if (attributes > 0 && labels > kMostWeights / attributes)
      throw InputError("a table of " + std::to_string(attributes) + " attributes and " + std::to_string(labels) +
                       " columns is too large.");
  }
  Pairs(int64_t labels, std::vector<int64_t> begin, std::vector<uint16_t> column)
      : attributes_(static_cast<int64_t>(begin.size()) - 1),
        labels_(labels),
        packed_(true),
        begin_(std::move(begin)),
        column_(std::move(column)) {
    if (begin_.empty() || begin_.front() != 0 || begin_.back() != static_cast<int64_t>(column_.size()) ||
        !std::is_sorted(begin_.begin(), begin_.end()))
      throw InputError("the bounds of a table's rows must ascend from 0 to the number of pairs.");
    if (column_.size() > kSpanMask) throw InputError("a table stores at most four billion observed pairs.");
    span_.reserve(attributes_);
    for (int64_t a = 0; a < attributes_; ++a) {
      const int64_t first = begin_[a];
      uint64_t bits = 0;
      for (int64_t k = first; k < begin_[a + 1]; ++k) {
        if (column_[k] >= labels || (k > first && column_[k] <= column_[k - 1]))
          throw InputError("the columns of a table's row must ascend below the number of labels.");
        bits |= uint64_t{1} << (column_[k] % kBits);
      }
      const auto count = static_cast<uint64_t>(begin_[a + 1] - first);
      span_.push_back(static_cast<uint64_t>(first) << kSpanBits | (labels <= kBits ? bits : count));
    }
  }

  int64_t attributes() const { return attributes_; }
  int64_t labels() const { return labels_; }
  int64_t size() const { return packed_ ? static_cast<int64_t>(column_.size()) : attributes_ * labels_; }
  bool packed() const { return packed_; }
  const std::vector<int64_t>& begin() const { return begin_; }
  const std::vector<uint16_t>& column() const { return column_; }
  // A packed table without any pair still needs a non-null column: null means a full table.
  WeightRows rows() const {
    static constexpr uint16_t none = 0;
    return {attributes_, labels_, size(), !packed_ ? nullptr : column_.empty() ? &none : column_.data()};
  }

  // The pairs of both tables, with the larger number of attributes.
  Pairs united(const Pairs& other) const {
    if (labels_ != other.labels_)
      throw InputError("tables of " + std::to_string(labels_) + " and of " + std::to_string(other.labels_) +
                       " columns cannot be united.");
    if (packed_ != other.packed_) throw InputError("a table of observed pairs and one of all pairs cannot be united.");
    const int64_t attributes = std::max(attributes_, other.attributes_);
    if (!packed_) return Pairs(attributes, labels_);
    std::vector<int64_t> begin{0};
    std::vector<uint16_t> column;
    const auto row = [](const Pairs& pairs, int64_t a) {
      const bool there = a < pairs.attributes_;
      return std::pair(pairs.column_.begin() + (there ? pairs.begin_[a] : 0),
                       pairs.column_.begin() + (there ? pairs.begin_[a + 1] : 0));
    };
    for (int64_t a = 0; a < attributes; ++a) {
      const auto [first, last] = row(*this, a);
      const auto [other_first, other_last] = row(other, a);
      std::set_union(first, last, other_first, other_last, std::back_inserter(column));
      begin.push_back(static_cast<int64_t>(column.size()));
    }
    return Pairs(labels_, std::move(begin), std::move(column));
  }

  // Where the weights of each attribute begin, and which they are (TokenRows::span); empty unless packed.
  std::vector<uint64_t> spans(const std::vector<int32_t>& attributes) const {
    std::vector<uint64_t> spans(packed_ ? attributes.size() : 0);
    for (size_t k = 0; k < spans.size(); ++k) spans[k] = span_[attributes[k]];
    return spans;
  }

  // Calls visit(weight index, label) for the weights of an attribute.
  template <typename Visit>
  void of(int64_t attribute, const Visit& visit) const {
    if (packed_)
      for (int64_t k = begin_[attribute]; k < begin_[attribute + 1]; ++k) visit(k, int64_t{column_[k]});
    else
      for (int64_t l = 0; l < labels_; ++l) visit(attribute * labels_ + l, l);
  }

 private:
  int64_t attributes_;
  int64_t labels_;
  bool packed_ = false;
  std::vector<int64_t> begin_;
  std::vector<uint16_t> column_;
  std::vector<uint64_t> span_;
};

// The pairs that occur: columns[t] lists the columns observed with token t (one label; or the tuples that end there).
// One counting sort by attribute, then the distinct columns of each.
inline std::shared_ptr<Pairs> observed_pairs(const Tokens& tokens, int64_t attributes, int64_t labels,
                                             const std::vector<int64_t>& column_begin,
                                             const std::vector<int32_t>& columns) {
  if (labels > 65535)
    throw InputError("features='observed' keeps at most 65535 columns, and there are " + std::to_string(labels) +
                     ": use features='all'.");
  if (static_cast<int64_t>(column_begin.size()) != tokens.tokens() + 1 || column_begin.front() != 0 ||
      column_begin.back() != static_cast<int64_t>(columns.size()) ||
      !std::is_sorted(column_begin.begin(), column_begin.end()))
    throw InputError("every token needs its list of columns.");
  for (const int32_t c : columns)
    if (c < 0 || c >= labels) throw InputError("a column is out of range.");
  std::vector<int64_t> next(attributes + 1, 0);
  for (int64_t t = 0; t < tokens.tokens(); ++t)
    for (int64_t k = tokens.row_begin[t]; k < tokens.row_begin[t + 1]; ++k) {
      if (tokens.index[k] >= attributes) throw InputError("an attribute is out of range.");
      next[tokens.index[k] + 1] += column_begin[t + 1] - column_begin[t];
    }
  std::partial_sum(next.begin(), next.end(), next.begin());
  const std::vector<int64_t> first = next;
  std::vector<uint16_t> seen(first.back());
  for (int64_t t = 0; t < tokens.tokens(); ++t)
    for (int64_t k = tokens.row_begin[t]; k < tokens.row_begin[t + 1]; ++k)
      for (int64_t c = column_begin[t]; c < column_begin[t + 1]; ++c)
        seen[next[tokens.index[k]]++] = static_cast<uint16_t>(columns[c]);
  std::vector<int64_t> begin{0};
  std::vector<uint16_t> column;
  std::vector<int64_t> stamp(labels, -1);
  for (int64_t a = 0; a < attributes; ++a) {
    const auto row = static_cast<std::ptrdiff_t>(column.size());
    for (int64_t k = first[a]; k < first[a + 1]; ++k) {
      int64_t& last = stamp[seen[k]];
      if (last != a) column.push_back(seen[k]);
      last = a;
    }
    std::sort(column.begin() + row, column.end());
    begin.push_back(static_cast<int64_t>(column.size()));
  }
  return std::make_shared<Pairs>(labels, std::move(begin), std::move(column));
}

// How label tuples are scored.
struct GramWeights {
  std::vector<int64_t> weight;  // by gram part of a position: index of its gram weight, or -1
  int64_t count = 0;            // number of gram weights
  int64_t orders = 0;           // number of different tuple lengths
  bool tied = true;
  double scale = 1;    // 003, Eq. 13: eta
  bool start = false;  // additional scores of the first and the last position
  bool stop = false;
};

// Sums of values by attribute, in a hash table with open addressing. Every fit computes the radius of all examples, and
// sorting the attributes would take four times as long.
class AttributeSums {
 public:
  explicit AttributeSums(int64_t most)
      : attribute_(std::bit_ceil(static_cast<size_t>(2 * most + 2)), kFree), sum_(attribute_.size(), 0.0) {}

  void add(int32_t attribute, double value) {
    size_t place = static_cast<uint32_t>(attribute) * size_t{0x9E3779B97F4A7C15} >> 32;
    for (place &= mask(); attribute_[place] != kFree && attribute_[place] != attribute; ++place &= mask()) {
    }
    attribute_[place] = attribute;
    sum_[place] += value;
  }

  double squares() const {
    double total = 0;
    for (const double sum : sum_) total += sum * sum;
    return total;
  }

 private:
  static constexpr int32_t kFree = -1;
  size_t mask() const { return attribute_.size() - 1; }

  std::vector<int32_t> attribute_;
  std::vector<double> sum_;
};

// Weights: [pairs of tokens][gram weights][start][stop][pairs of transitions].
class Table final : public Features, private WeightedMap, private SharedMap {
 public:
  Table(std::shared_ptr<const Tokens> tokens, std::shared_ptr<const Pairs> pairs, GramWeights grams,
        std::shared_ptr<const Tokens> edges, std::shared_ptr<const Pairs> edge_pairs)
      : tokens_(std::move(tokens)),
        pairs_(std::move(pairs)),
        grams_(std::move(grams)),
        edges_(std::move(edges)),
        edge_pairs_(std::move(edge_pairs)) {
    check_indices(*tokens_, *pairs_);
    token_spans_ = pairs_->spans(tokens_->index);
    kept_.reserve(grams_.weight.size());
    listed_.reserve(grams_.weight.size());
    for (int64_t q = 0; q < gram_parts(); ++q) {
      const int64_t weight = grams_.weight[q];
      if (weight < -1 || weight >= grams_.count) throw InputError("a transition's weight is out of range.");
      if (weight < 0) continue;
      kept_.emplace_back(q, weight);
      listed_.push_back(static_cast<int32_t>(q));
    }
    if (!std::isfinite(grams_.scale) || grams_.scale < 0)
      throw InputError("the scale of transitions must be finite and not negative.");
    if (edges_) {
      if (grams_.tied) throw InputError("attributes of transitions need untied parts: pass tied=False.");
      if (edges_->example_begin != tokens_->example_begin)
        throw InputError("attributes of transitions must be given for every token.");
      if (edge_pairs_->labels() != gram_parts())
        throw InputError("a table for transitions needs one column for each label tuple.");
      check_indices(*edges_, *edge_pairs_);
      edge_spans_ = edge_pairs_->spans(edges_->index);
    }
    gram_at_ = pairs_->size();
    start_at_ = gram_at_ + grams_.count;
    stop_at_ = start_at_ + (grams_.start ? labels() : 0);
    edge_at_ = stop_at_ + (grams_.stop ? labels() : 0);
    dim_ = edge_at_ + (edge_pairs_ ? edge_pairs_->size() : 0);
  }

  int64_t size() const override { return tokens_->examples(); }
  int64_t dim() const override { return dim_; }
  int64_t parts(int64_t i) const override {
    const auto [first, last] = bounds(i);
    return (last - first) * labels() + tables(last - first) * gram_parts();
  }

  const WeightedMap* weighted() const override {
    return edges_ || listed_.size() == grams_.weight.size() ? nullptr : this;
  }
  // All positions: 96 % of the (position, label) parts of Brown have a weight (92 labels, observed pairs).
  WeightedParts weighted_parts(int64_t i) const override {
    const auto [first, last] = bounds(i);
    return {(last - first) * labels(), tables(last - first), gram_parts(), listed_.data(),
            static_cast<int64_t>(listed_.size())};
  }

  void score_weighted(int64_t i, const double* w, double* theta) const override {
    const auto [first, last] = bounds(i);
    score_own(i, w, theta);
    theta += (last - first) * labels();
    for (int64_t k = 0; k < tables(last - first); ++k)
      for (const auto& [part, weight] : kept_) *theta++ = grams_.scale * w[gram_at_ + weight];
  }
  double move_weighted(int64_t i, const double* v, double c, double* w) const override {
    const auto [first, last] = bounds(i);
    double change = spread_own<true>(i, v, c, w);
    v += (last - first) * labels();
    for (int64_t k = 0; k < tables(last - first); ++k, v += kept_.size()) change += move_grams(v, c * grams_.scale, w);
    return change;
  }

  void score(int64_t i, const double* w, double* theta) const override {
    const auto [first, last] = bounds(i);
    score_own(i, w, theta);
    double* table = theta + (last - first) * labels();
    if (edges_)
      loops().score_rows(rows_of(*edges_, edge_spans_), edge_pairs_->rows(), first + 1, last, w + edge_at_, table);
    for (int64_t k = 0; k < tables(last - first); ++k, table += gram_parts()) {
      if (!edges_) std::fill(table, table + gram_parts(), 0.0);
      score_grams(w, table);
    }
  }

  // Tied grams are shared by all examples.
  const SharedMap* shared() const override { return grams_.tied ? this : nullptr; }
  int64_t shared_count() const override { return gram_parts(); }
  std::vector<int64_t> used() const override {
    std::vector<int64_t> parts;
    for (const auto& [part, weight] : kept_) parts.push_back(part);
    return parts;
  }
  void score_own(int64_t i, const double* w, double* theta) const override {
    const auto [first, last] = bounds(i);
    loops().score_rows(rows_of(*tokens_, token_spans_), pairs_->rows(), first, last, w, theta);
    for (int64_t l = 0; l < labels(); ++l) {
      if (grams_.start) theta[l] += w[start_at_ + l];
      if (grams_.stop) theta[(last - first - 1) * labels() + l] += w[stop_at_ + l];
    }
  }
  void score_shared(const double* w, double* theta) const override {
    std::fill(theta, theta + gram_parts(), 0.0);
    score_grams(w, theta);
  }
  void scatter_own(int64_t i, const double* mu, double c, double* g) const override { spread_own<false>(i, mu, c, g); }
  void scatter_shared(const double* mu, double* g) const override {
    for (const auto& [part, weight] : kept_) g[gram_at_ + weight] += grams_.scale * mu[part];
  }

  void scatter(int64_t i, const double* mu, double c, double* g) const override { spread<false>(i, mu, c, g); }
  double move(int64_t i, const double* v, double c, double* w) const override { return spread<true>(i, v, c, w); }

  void row(int64_t i, const double* v, Row& row) const override {
    std::vector<std::pair<int64_t, double>> entries;
    const auto [first, last] = bounds(i);
    const auto add_rows = [&entries](const Tokens& x, const Pairs& pairs, int64_t from, int64_t to,
                                     const double* values, int64_t offset, double scale) {
      for (int64_t t = from; t < to; ++t, values += pairs.labels()) {
        if (std::all_of(values, values + pairs.labels(), [](double value) { return value == 0; })) continue;
        for (int64_t k = x.row_begin[t]; k < x.row_begin[t + 1]; ++k) {
          const double x_k = scale * (x.value.empty() ? 1.0 : x.value[k]);
          pairs.of(x.index[k], [&](int64_t weight, int64_t l) {
            if (values[l] != 0) entries.emplace_back(offset + weight, x_k * values[l]);
          });
        }
      }
    };
    add_rows(*tokens_, *pairs_, first, last, v, 0, 1.0);
    for (int64_t l = 0; l < labels(); ++l) {
      if (grams_.start) entries.emplace_back(start_at_ + l, v[l]);
      if (grams_.stop) entries.emplace_back(stop_at_ + l, v[(last - first - 1) * labels() + l]);
    }
    const double* table = v + (last - first) * labels();
    if (edges_) add_rows(*edges_, *edge_pairs_, first + 1, last, table, edge_at_, grams_.scale);
    for (int64_t k = 0; k < tables(last - first); ++k, table += gram_parts())
      for (const auto& [part, weight] : kept_)
        if (table[part] != 0) entries.emplace_back(gram_at_ + weight, grams_.scale * table[part]);
    merge_entries(entries, row);
  }

  // |A'(y - y')|^2 <= 2 sum_a s_a^2 with s_a = sum_t |x_ta|: for attribute a, the outputs' counts over the labels
  // differ by at most s_a each and by 2 s_a in total. Tuples, start and stop are attributes of value `scale`, 1 and 1.
  double radius(int64_t i) const override {
    const auto [first, last] = bounds(i);
    const auto squares = [](const Tokens& x, int64_t from, int64_t to) {
      AttributeSums sums(x.row_begin[to] - x.row_begin[from]);
      for (int64_t k = x.row_begin[from]; k < x.row_begin[to]; ++k)
        sums.add(x.index[k], x.value.empty() ? 1.0 : std::fabs(x.value[k]));
      return sums.squares();
    };
    double total = squares(*tokens_, first, last) + (grams_.start ? 1.0 : 0.0) + (grams_.stop ? 1.0 : 0.0);
    if (grams_.count > 0 && last - first > 1) {
      // The tuples of each length are such an attribute.
      const double grams = grams_.scale * static_cast<double>(last - first - 1);
      total += static_cast<double>(grams_.orders) * grams * grams;
    }
    if (edges_)
      total += grams_.scale * grams_.scale * static_cast<double>(grams_.orders) * squares(*edges_, first + 1, last);
    return std::sqrt(2 * total);
  }

  // The largest norm of the rows first .. last - 1 of example i.
  double longest_row(int64_t i, int64_t first, int64_t last) const {
    double longest = 0;
    Row row;
    std::vector<std::pair<int64_t, double>> entries;
    for (int64_t t = bounds(i).first + first; t < bounds(i).first + last; ++t) {
      entries.clear();
      for (int64_t k = tokens_->row_begin[t]; k < tokens_->row_begin[t + 1]; ++k)
        entries.emplace_back(tokens_->index[k], tokens_->value.empty() ? 1.0 : tokens_->value[k]);
      merge_entries(entries, row);  // hashing may merge two attributes
      double square = 0;
      for (const double v : row.value) square += v * v;
      longest = std::max(longest, std::sqrt(square));
    }
    return longest;
  }

 private:
  void score_grams(const double* w, double* table) const {
    for (const auto& [part, weight] : kept_) table[part] += w[gram_at_ + weight];
    if (grams_.scale != 1)
      for (int64_t q = 0; q < gram_parts(); ++q) table[q] *= grams_.scale;
  }

  // The part of `move` for the grams that have a weight. Their values are contiguous.
  double move_grams(const double* v, double c, double* w) const {
    double sums[2] = {0, 0};  // additions to a single sum would wait for one another
    w += gram_at_;
    size_t k = 0;
    for (; k + 2 <= kept_.size(); k += 2)
      for (size_t n = 0; n < 2; ++n) sums[n] += add_measured<true>(c * v[k + n], w[kept_[k + n].second]);
    if (k < kept_.size()) sums[0] += add_measured<true>(c * v[k], w[kept_[k].second]);
    return sums[0] + sums[1];
  }

  // g += c A_i' mu. If Measured, returns the change of 1/2 |g|^2.
  template <bool Measured>
  double spread(int64_t i, const double* mu, double c, double* g) const {
    const auto [first, last] = bounds(i);
    double change = spread_own<Measured>(i, mu, c, g);
    const double* table = mu + (last - first) * labels();
    const double scaled = c * grams_.scale;
    if (edges_)
      change += spread_rows<Measured>(rows_of(*edges_, edge_spans_), edge_pairs_->rows(), first + 1, last, table,
                                      scaled, g + edge_at_);
    for (int64_t k = 0; k < tables(last - first); ++k, table += gram_parts())
      for (const auto& [part, weight] : kept_)
        change += add_measured<Measured>(scaled * table[part], g[gram_at_ + weight]);
    return change;
  }

  // The same for the (position, label) parts only.
  template <bool Measured>
  double spread_own(int64_t i, const double* mu, double c, double* g) const {
    const auto [first, last] = bounds(i);
    double change = spread_rows<Measured>(rows_of(*tokens_, token_spans_), pairs_->rows(), first, last, mu, c, g);
    for (int64_t l = 0; l < labels(); ++l) {
      if (grams_.start) change += add_measured<Measured>(c * mu[l], g[start_at_ + l]);
      if (grams_.stop) change += add_measured<Measured>(c * mu[(last - first - 1) * labels() + l], g[stop_at_ + l]);
    }
    return change;
  }

  template <bool Measured>
  static double spread_rows(const TokenRows& x, const WeightRows& shape, int64_t from, int64_t to, const double* mu,
                            double c, double* g) {
    if (Measured) return loops().move_rows(x, shape, from, to, mu, c, g);
    loops().scatter_rows(x, shape, from, to, mu, c, g);
    return 0;
  }

  static void check_indices(const Tokens& tokens, const Pairs& pairs) {
    for (const int32_t a : tokens.index)
      if (a >= pairs.attributes()) throw InputError("an attribute is out of the table's range.");
  }

  static TokenRows rows_of(const Tokens& x, const std::vector<uint64_t>& spans) {
    return {x.row_begin.data(), x.index.data(), x.value.empty() ? nullptr : x.value.data(), spans.data()};
  }
  std::pair<int64_t, int64_t> bounds(int64_t i) const {
    return {tokens_->example_begin[i], tokens_->example_begin[i + 1]};
  }
  int64_t labels() const { return pairs_->labels(); }
  int64_t gram_parts() const { return static_cast<int64_t>(grams_.weight.size()); }
  int64_t tables(int64_t length) const { return gram_parts() == 0 ? 0 : grams_.tied ? 1 : length - 1; }

  std::shared_ptr<const Tokens> tokens_;
  std::shared_ptr<const Pairs> pairs_;
  GramWeights grams_;
  std::vector<std::pair<int64_t, int64_t>> kept_;  // the gram parts that have a weight, with its index
  std::vector<int32_t> listed_;                    // the same parts only
  std::shared_ptr<const Tokens> edges_;
  std::shared_ptr<const Pairs> edge_pairs_;
  std::vector<uint64_t> token_spans_;
  std::vector<uint64_t> edge_spans_;
  int64_t gram_at_, start_at_, stop_at_, edge_at_, dim_;
};

}  // namespace margrave
