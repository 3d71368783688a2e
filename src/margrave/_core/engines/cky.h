// CKY for derivations of a grammar (engines/grammar.h): charts, inside-outside, the best derivation.
//
// Charts. A node over the words s..e (a cell) has a bottom symbol, by its rule, and a top symbol, by its label:
//
//   bottom(A, s, e) = sum over A -> B C and m of  rule * split(s, m, e) * top(B, s, m) * top(C, m, e)
//   top(A, s, e)    = sum over labels from A to B of  label(s, e) * bottom(B, s, e)
//
// Rules are grouped by their right-hand sides. The tops of a symbol that begin at s are contiguous, by end; those that
// end at e are contiguous, by begin. So the sum over m for a pair (B, C) is one inner product of contiguous numbers,
// between the first and the last place at which both symbols are alive. Several cells of the same width are filled
// together. The rules of a large grammar are then read from memory once for all of them.
//
// Scaling. Each cell has an exponent k; true values are 2^k times the stored ones, the largest of which is about 1. The
// exponents of the two cells of a split form a factor of the split, so the inner products need no change. Outside
// values are derivatives of log Z with respect to the *stored* inside values. The posterior of a node is then the
// product of the two, and outside values need no exponents. No product underflows if stored values and factors of
// splits stay above kSmallest and kSplit, and the scores of parts within kScore. The smallest product of two values, a
// split and the weights of a rule is then a normal number. Otherwise `inside` returns false, and the caller repeats the
// sentence with numbers that have a wide exponent.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "engines/grammar.h"
#include "engines/semirings.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "simd/loops.h"

namespace margrave::cky {

// Joining two fragments of a sentence without a derivation. The large penalty keeps the number of fragments minimal.
inline constexpr double kPieceScore = -1000;

// The best derivation: maxima of sums.
struct Max : semiring::Max {
  static constexpr bool kScaled = false;
  static constexpr bool kDense = true;  // whether slots with many rules per pair have specialized loops
  static Value weight(double theta) { return theta; }
  static bool alive(Value v) { return v > -kInfinity; }
  static Value dot(const Value* a, const Value* b, int n) {
    Value best[4] = {zero(), zero(), zero(), zero()};
    int k = 0;
    for (; k + 4 <= n; k += 4)
      for (int j = 0; j < 4; ++j) best[j] = plus(best[j], a[k + j] + b[k + j]);
    for (; k < n; ++k) best[0] = plus(best[0], a[k] + b[k]);
    return plus(plus(best[0], best[1]), plus(best[2], best[3]));
  }
};

// Sums of products, scaled.
struct Sum : semiring::Sum {
  static constexpr bool kScaled = true;
  static constexpr bool kDense = true;
  static constexpr double kSmallest = 1e-90, kSplit = 1e-40;  // of stored values, and of the factors of splits
  static constexpr double kScore = 90, kAnchorScore = 20;     // absolute scores of parts: weights are above 1e-40, or
                                                              // 1e-9
  static Value weight(double theta) { return std::exp(theta); }
  static bool alive(Value v) { return v > 0; }
  static double number(Value v) { return v; }
  static double log(Value v) { return std::log(v); }
  static Value dot(const Value* a, const Value* b, int n) {
    Value sums[4] = {};
    int k = 0;
    for (; k + 4 <= n; k += 4)
      for (int j = 0; j < 4; ++j) sums[j] += a[k + j] * b[k + j];
    for (; k < n; ++k) sums[0] += a[k] * b[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
};

// Sums of products of any size.
struct WideSum : semiring::WideSum {
  static constexpr bool kScaled = false;
  static constexpr bool kDense = false;
  static Value weight(double theta) { return Wide::exp(theta); }
  static bool alive(Value v) { return !v.zero(); }
  static double number(Value v) { return v.value(); }
  static double log(Value v) { return v.log(); }
  static Value dot(const Value* a, const Value* b, int n) {
    Value sum;
    for (int k = 0; k < n; ++k) sum = sum + a[k] * b[k];
    return sum;
  }
};

template <class A>
class Chart {
 public:
  using Value = typename A::Value;

  // terminals: by word. left: by cell, whether pruning keeps it, or null; single words are always kept. pieces: whether
  // a sentence may consist of several trees.
  void begin(const Grammar& grammar, const DerivationParts& parts, const int32_t* terminals, const double* theta,
             const char* left, bool pieces) {
    grammar_ = &grammar;
    parts_ = &parts;
    terminals_ = terminals;
    theta_ = theta;
    cells_left_ = left;
    pieces_ = pieces;
    n_ = parts.words();
  }

  // Fills the chart; false if scaled numbers left their range.
  bool inside() {
    const Grammar& g = *grammar_;
    if (!weigh()) return false;
    const size_t places = static_cast<size_t>(n_) + 1;
    left_.assign(static_cast<size_t>(n_) * static_cast<size_t>(g.left_slots()) * places, A::zero());
    right_.assign(places * static_cast<size_t>(g.right_slots()) * places, A::zero());
    right_by_place_.assign(A::kDense && !by_rule_ && g.any_dense() ? right_.size() : 0, A::zero());
    left_range_.assign(static_cast<size_t>(n_) * static_cast<size_t>(g.left_slots()), {n_ + 1, 0});
    right_range_.assign(places * static_cast<size_t>(g.right_slots()), {n_ + 1, 0});
    bottoms_.assign(static_cast<size_t>(parts_->cells()) * static_cast<size_t>(g.bottom_slots()), A::zero());
    exponents_.assign(parts_->cells(), 0);
    filled_.assign(parts_->cells(), 0);
    tops_.assign(g.symbols(), A::zero());
    row_.assign(kTogether * places, A::zero());
    splits_row_.assign(kTogether * places, A::zero());
    for (int width = 1; width <= n_; ++width)
      for (int s = 0; s + width <= n_; s += kTogether)
        if (!fill(s, std::min(s + kTogether, n_ + 1 - width), width)) return false;
    return true;
  }

  Value total() const {  // of all derivations, without the exponent of the sentence
    Value sum = A::zero();
    for (size_t k = 0; k < grammar_->roots().size(); ++k) sum = A::plus(sum, A::times(root_top(k), root_weight(k)));
    return sum;
  }
  double log_total() const { return A::log(total()) + exponents_[parts_->cell(0, n_)] * kLog2; }

  // Adds the marginals of all parts to mu. The chart must have a derivation.
  void outside(double* mu) {
    const Grammar& g = *grammar_;
    const size_t places = static_cast<size_t>(n_) + 1;
    left_adjoint_.assign(left_.size(), A::zero());
    right_adjoint_.assign(right_.size(), A::zero());
    right_adjoint_by_place_.assign(right_by_place_.size(), A::zero());
    bottom_adjoint_.resize(kTogether * static_cast<size_t>(g.bottom_slots()));
    top_adjoint_.assign(g.symbols(), A::zero());
    gradient_row_.assign(kTogether * places, A::zero());
    rule_marginals_.assign(g.binary().size(), 0.0);
    const Value z = total();
    for (size_t k = 0; k < g.roots().size(); ++k) {
      const Value adjoint = root_weight(k) / z;
      mu[parts_->root(static_cast<int32_t>(k))] += A::number(A::times(adjoint, root_top(k)));
      Value& of = top_adjoint_[g.roots()[k]];
      of = A::plus(of, adjoint);
    }
    for (int width = n_; width >= 1; --width)
      for (int s = 0; s + width <= n_; s += kTogether) spread(s, std::min(s + kTogether, n_ + 1 - width), width, mu);
    if (parts_->tied())
      for (size_t k = 0; k < g.binary().size(); ++k)
        mu[g.by_pair()[k]] +=
            A::kScaled && !by_rule_ ? rule_marginals_[k] * A::number(by_pair_[k]) : rule_marginals_[k];
  }

  // ---- single nodes and edges, for top-down searches

  Value top(int32_t symbol, int s, int e) const {
    const Grammar& g = *grammar_;
    if (const int32_t slot = g.left_slot(symbol); slot >= 0) return left_[left_at(s, slot) + static_cast<size_t>(e)];
    if (const int32_t slot = g.right_slot(symbol); slot >= 0) return right_[right_at(e, slot) + static_cast<size_t>(s)];
    return s == 0 && e == n_ ? tops_[symbol] : A::zero();
  }
  Value bottom(int32_t symbol, int s, int e) const {
    const int32_t slot = grammar_->bottom_slot(symbol);
    return slot < 0 ? A::zero() : bottoms_[bottom_at(parts_->cell(s, e), slot)];
  }
  // The weight of a label. With scaled numbers, both ends have the exponent of the cell.
  Value label_weight(int32_t label, int64_t cell) const {
    Value w = labels_[label];
    if (!parts_->tied())
      for (const int32_t rule : grammar_->path(label)) w = A::times(w, A::weight(theta_[parts_->unary(rule, cell)]));
    const int32_t span = grammar_->labels()[label].span;
    if (span >= 0 && !spans_.empty())
      w = A::times(
          w, spans_[static_cast<size_t>(cell) * static_cast<size_t>(grammar_->spans()) + static_cast<size_t>(span)]);
    return w;
  }
  // Calls visit(rule, m, value) for the rules and splits of a bottom symbol that are alive.
  template <class Visit>
  void each_rule(int32_t symbol, int s, int e, const Visit& visit) const {
    for (const int32_t rule : grammar_->rules_of(symbol)) {
      const Grammar::Binary& of = grammar_->binary()[rule];
      for (int m = s + 1; m < e; ++m) {
        const Value l = top(of.left, s, m), r = top(of.right, m, e);
        if (!A::alive(l) || !A::alive(r)) continue;
        const Value value = A::times(inner(rule, s, m, e, A::times(l, split_factor(s, m, e)), r), fixed(rule, s, e));
        if (A::alive(value)) visit(rule, m, value);
      }
    }
  }
  // The score of a rule at a place, without its children.
  double rule_score(int32_t rule, int s, int m, int e) const {
    double score = glue(rule);
    parts_->each_of_rule(rule, s, m, e, [&](int64_t part) { score += theta_[part]; });
    return score;
  }
  double glue(int32_t rule) const { return grammar_->binary()[rule].lhs == grammar_->pieces() ? kPieceScore : 0.0; }
  Value lexical_weight(int32_t rule, int s) const { return A::weight(theta_[parts_->lexical(rule, s)]); }
  Value root_weight(size_t k) const { return A::weight(theta_[parts_->root(static_cast<int32_t>(k))]); }
  Value root_top(size_t k) const { return top(grammar_->roots()[k], 0, n_); }
  bool uses(int32_t label) const { return pieces_ || grammar_->labels()[label].top != grammar_->piece(); }
  int words() const { return n_; }
  const Grammar& grammar() const { return *grammar_; }
  const DerivationParts& parts() const { return *parts_; }
  const double* theta() const { return theta_; }
  const int32_t* terminals() const { return terminals_; }

 private:
  static constexpr double kLog2 = 0.693147180559945309417;
  static constexpr int kTogether = 8;  // cells of one width processed together
  struct Reach {
    int first, last;
    bool empty() const { return first > last; }
  };
  struct Cell {
    int s, e;
    size_t place;  // among those processed together
    Reach reach{1, 0};
  };

  size_t left_at(int s, int32_t slot) const {
    return (static_cast<size_t>(s) * static_cast<size_t>(grammar_->left_slots()) + static_cast<size_t>(slot)) *
           (static_cast<size_t>(n_) + 1);
  }
  size_t right_at(int e, int32_t slot) const {
    return (static_cast<size_t>(e) * static_cast<size_t>(grammar_->right_slots()) + static_cast<size_t>(slot)) *
           (static_cast<size_t>(n_) + 1);
  }
  size_t place_at(int e, int s, int32_t slot) const {
    return (static_cast<size_t>(e) * (static_cast<size_t>(n_) + 1) + static_cast<size_t>(s)) *
               static_cast<size_t>(grammar_->right_slots()) +
           static_cast<size_t>(slot);
  }
  size_t bottom_at(int64_t cell, int32_t slot) const {
    return static_cast<size_t>(cell) * static_cast<size_t>(grammar_->bottom_slots()) + static_cast<size_t>(slot);
  }

  // Whether a score is small enough in size that scaled numbers cannot underflow.
  static bool in_range(double score, double limit) {
    if constexpr (A::kScaled) return score == -kInfinity || std::fabs(score) <= limit;
    return true;
  }

  // Computes the weights of n scores. Returns whether all of them are in range.
  static bool exponentials(const double* theta, int64_t n, std::vector<Value>& weights, bool anchors = false) {
    weights.resize(n);
    if constexpr (A::kScaled) {
      ChainTable table{weights.data(), nullptr, 0, 0, false};
      loops().exp_range(n, theta, &table);
      if (table.top == -kInfinity) {
        std::fill(weights.begin(), weights.end(), A::zero());
        return true;
      }
      const Value factor = A::weight(table.top);
      for (Value& weight : weights) weight *= factor;
      const double most = anchors ? A::kAnchorScore : A::kScore;
      return in_range(table.top, most) && in_range(table.top - table.range, most);
    } else {
      for (int64_t k = 0; k < n; ++k) weights[k] = A::weight(theta[k]);
      return true;
    }
  }
  static constexpr double limit() {
    if constexpr (A::kScaled) return A::kScore;
    return kInfinity;
  }

  // The weights of rules, labels, spans and splits.
  bool weigh() {
    const Grammar& g = *grammar_;
    const DerivationParts& p = *parts_;
    const auto rules = static_cast<int64_t>(g.binary().size());
    bool right = true;
    rules_.assign(rules, A::one());
    tuples_.clear();
    if (p.tied())
      right = exponentials(theta_, rules, rules_);
    else
      right = exponentials(theta_, rules * p.triples(), tuples_);
    if (pieces_)
      for (int64_t r = 0; r < rules; ++r)
        if (const double score = glue(static_cast<int32_t>(r)); score != 0) {
          rules_[r] = A::times(rules_[r], A::weight(score));
          right = right && in_range(score, limit());
        }
    by_pair_.resize(rules);
    for (size_t k = 0; k < static_cast<size_t>(rules); ++k) by_pair_[k] = rules_[g.by_pair()[k]];
    labels_.assign(g.labels().size(), A::one());
    if (p.tied())
      for (size_t k = 0; k < labels_.size(); ++k) {
        double score = 0;
        for (const int32_t rule : g.path(static_cast<int32_t>(k))) score += theta_[p.unary(rule, 0)];
        right = right && in_range(score, limit());
        labels_[k] = A::weight(score);
      }
    else
      for (int64_t k = p.unary(0, 0); k < p.root(0); ++k) right = right && in_range(theta_[k], 1);
    for (size_t k = 0; k < g.roots().size(); ++k)
      right = right && in_range(theta_[p.root(static_cast<int32_t>(k))], limit());
    spans_.clear();
    const double* const first = theta_ + p.first_span();
    const int64_t spans = p.cells() * g.spans();
    if (std::any_of(first, first + spans, [](double x) { return x != 0; }))
      right = exponentials(first, spans, spans_) && right;
    splits_.clear();
    if (p.splits()) right = exponentials(theta_ + p.first_split(), p.triples(), splits_) && right;
    for (int k = 0; k < 3; ++k) {
      anchors_[k].clear();
      if (p.anchors() >> k & 1)
        right = exponentials(theta_ + p.anchor(k, 0, 0), rules * n_, anchors_[k], true) && right;
    }
    by_rule_ = !p.tied() || p.anchors() != 0;
    return right;
  }

  // The weight of a rule without its children: a factor for the cell, and one for the split.
  Value fixed(int32_t rule, int s, int e) const {
    Value w = rules_[rule];
    if (!anchors_[0].empty())
      w = A::times(w, anchors_[0][static_cast<size_t>(rule) * static_cast<size_t>(n_) + static_cast<size_t>(s)]);
    if (!anchors_[2].empty())
      w = A::times(w, anchors_[2][static_cast<size_t>(rule) * static_cast<size_t>(n_) + static_cast<size_t>(e - 1)]);
    return w;
  }
  Value inner(int32_t rule, int s, int m, int e, Value left, Value right) const {
    Value v = A::times(left, right);
    if (!anchors_[1].empty())
      v = A::times(v, anchors_[1][static_cast<size_t>(rule) * static_cast<size_t>(n_) + static_cast<size_t>(m)]);
    if (!tuples_.empty()) v = A::times(v, tuples_[parts_->binary(rule, s, m, e)]);
    return v;
  }
  // The weight of a split, with the exponents of its two cells relative to that of the cell.
  Value split_factor(int s, int m, int e) const {
    Value v = splits_.empty() ? A::one() : splits_[parts_->triple(s, m, e)];
    if constexpr (A::kScaled) v = std::ldexp(v, exponent(s, m) + exponent(m, e) - exponent(s, e));
    return v;
  }
  int32_t exponent(int s, int e) const { return exponents_[parts_->cell(s, e)]; }

  Value* row(const Cell& cell) { return row_.data() + cell.place * (static_cast<size_t>(n_) + 1); }
  Value* splits_row(const Cell& cell) { return splits_row_.data() + cell.place * (static_cast<size_t>(n_) + 1); }
  Value* gradient_row(const Cell& cell) { return gradient_row_.data() + cell.place * (static_cast<size_t>(n_) + 1); }
  Value* bottom_adjoint(const Cell& cell) {
    return bottom_adjoint_.data() + cell.place * static_cast<size_t>(grammar_->bottom_slots());
  }

  // The splits at which both symbols of a pair are alive.
  Reach common(const Cell& cell, const Grammar::Pair& pair) const {
    const Reach& other = right_range_[static_cast<size_t>(cell.e) * static_cast<size_t>(grammar_->right_slots()) +
                                      static_cast<size_t>(pair.right)];
    return {std::max(cell.reach.first, other.first), std::min(cell.reach.last, other.last)};
  }

  // Visits the pairs of cells, in two ways: visit(cell, pair, first m, last m), with row(cell) as top(B, s, m) times
  // the factor of the split; or visit_dense(slot) for all cells and pairs of a slot with many rules per pair.
  template <class Begin, class Visit, class VisitDense, class End>
  void each_pair(const Begin& begin, const Visit& visit, const VisitDense& visit_dense, const End& end) {
    const Grammar& g = *grammar_;
    for (int32_t slot = 0; slot < g.left_slots(); ++slot) {
      bool any = false;
      for (Cell& cell : cells_) {
        const Reach& reach =
            left_range_[static_cast<size_t>(cell.s) * static_cast<size_t>(g.left_slots()) + static_cast<size_t>(slot)];
        cell.reach = {reach.first, std::min(reach.last, cell.e - 1)};
        if (cell.reach.empty()) continue;
        any = true;
        const Value* const left = left_.data() + left_at(cell.s, slot);
        Value* const to = row(cell);
        const Value* const splits = splits_row(cell);
        for (int m = cell.reach.first; m <= cell.reach.last; ++m) to[m] = A::times(left[m], splits[m]);
        begin(cell);
      }
      if (!any) continue;
      if (A::kDense && !by_rule_ && g.dense(slot).pairs > 0) {
        visit_dense(slot);
      } else {
        for (const Grammar::Pair& pair : g.pairs(slot))
          for (const Cell& cell : cells_)
            if (const Reach reach = common(cell, pair); !reach.empty()) visit(cell, pair, reach.first, reach.last);
      }
      for (const Cell& cell : cells_)
        if (!cell.reach.empty()) end(cell, slot);
    }
  }

  // The cells from (first, first + width) up to, but not including, (last, last + width).
  bool fill(int first, int last, int width) {
    cells_.clear();
    for (int s = first; s < last; ++s) {
      const int64_t cell = parts_->cell(s, s + width);
      if (width == 1) {
        if (!fill_word(s)) return false;
      } else if (!cells_left_ || cells_left_[cell]) {
        cells_.push_back({s, s + width, cells_.size()});
        if (!factors(cells_.back())) return false;
      }
    }
    if (!cells_.empty()) fill_bottoms();
    for (int s = first; s < last; ++s) {
      const bool is_left = width == 1 || !cells_left_ || cells_left_[parts_->cell(s, s + width)];
      if (!is_left) std::fill(tops_.begin(), tops_.end(), A::zero());
      if (is_left && !fill_tops(s, s + width)) return false;
    }
    return true;
  }

  bool fill_word(int s) {
    const Grammar& g = *grammar_;
    if (terminals_[s] < 0) return true;
    Value* const bottoms = bottoms_.data() + bottom_at(parts_->cell(s, s + 1), 0);
    for (const int32_t rule : g.words_of(terminals_[s])) {
      Value& of = bottoms[g.bottom_slot(g.lexical()[rule].lhs)];
      of = A::plus(of, lexical_weight(rule, s));
      if (!in_range(theta_[parts_->lexical(rule, s)], limit())) return false;
    }
    return true;
  }

  void fill_bottoms() {
    const size_t slots = grammar_->bottom_slots();
    bottom_rows_.assign(cells_.size() * slots, A::zero());
    const auto bottoms_of = [&](const Cell& cell) { return bottom_rows_.data() + cell.place * slots; };
    const auto nothing = [](const auto&...) {};
    const auto add_pair = [&](const Cell& cell, const Grammar::Pair& pair, int low, int high) {
      add_rules(cell, pair, low, high, bottoms_of(cell));
    };
    const auto add_dense = [&](int32_t slot) {
      if constexpr (A::kDense) {
        const Grammar::Dense dense = grammar_->dense(slot);
        split_sums(dense);
        if constexpr (A::kScaled) {
          loops().rules_forward(rule_matrix(dense), static_cast<int64_t>(cells_.size()), sums_.data(),
                                bottom_rows_.data());
        } else {
          for (const Cell& cell : cells_) {
            const Value* const sums = sums_.data() + cell.place * static_cast<size_t>(dense.pairs);
            for (int64_t p = 0; p < dense.pairs; ++p) {
              const Value* const rules = by_pair_.data() + dense.begin[p];
              Value* const to = bottoms_of(cell) + dense.lhs[p];
              for (int64_t k = 0; k < dense.begin[p + 1] - dense.begin[p]; ++k)
                to[k] = A::plus(to[k], A::times(sums[p], rules[k]));
            }
          }
        }
      }
    };
    each_pair(nothing, add_pair, add_dense, nothing);
    for (const Cell& cell : cells_)
      std::copy_n(bottoms_of(cell), slots, bottoms_.data() + bottom_at(parts_->cell(cell.s, cell.e), 0));
  }

  // bottoms += sum over the splits * rules, for the rules of a pair.
  void add_rules(const Cell& cell, const Grammar::Pair& pair, int low, int high, Value* bottoms) {
    const Grammar& g = *grammar_;
    const auto [s, e, place, reach] = cell;
    const Value* const left = row(cell);
    const Value* const right = right_.data() + right_at(e, pair.right);
    const int32_t* const slots = g.lhs_by_pair().data();
    if (!by_rule_) {
      const Value sum = A::dot(left + low, right + low, high - low + 1);
      if (!A::alive(sum)) return;
      for (int32_t k = pair.begin; k < pair.end; ++k)
        bottoms[slots[k]] = A::plus(bottoms[slots[k]], A::times(sum, by_pair_[k]));
      return;
    }
    for (int32_t k = pair.begin; k < pair.end; ++k) {
      const int32_t rule = g.by_pair()[k];
      Value sum = A::zero();
      for (int m = low; m <= high; ++m) sum = A::plus(sum, inner(rule, s, m, e, left[m], right[m]));
      bottoms[slots[k]] = A::plus(bottoms[slots[k]], A::times(sum, fixed(rule, s, e)));
    }
  }

  // Computes the tops of a cell from its bottoms.
  bool fill_tops(int s, int e) {
    const Grammar& g = *grammar_;
    const int64_t cell = parts_->cell(s, e);
    Value* const bottoms = bottoms_.data() + bottom_at(cell, 0);
    const bool leaf = e - s == 1;
    if (!scale(bottoms, cell, nullptr)) return false;
    std::fill(tops_.begin(), tops_.end(), A::zero());
    for (int32_t symbol = 0; symbol < g.symbols(); ++symbol) {
      const int32_t slot = g.bottom_slot(symbol);
      if (slot < 0 || !A::alive(bottoms[slot])) continue;
      for (const int32_t label : g.above(symbol, leaf)) {
        if (!uses(label)) continue;
        Value& of = tops_[g.labels()[label].top];
        of = A::plus(of, A::times(bottoms[slot], label_weight(label, cell)));
      }
    }
    if (!scale(tops_.data(), cell, bottoms)) return false;
    for (int32_t symbol = 0; symbol < g.symbols(); ++symbol) {
      const Value value = tops_[symbol];
      if (!A::alive(value)) continue;
      filled_[cell] = 1;
      if (const int32_t slot = g.left_slot(symbol); slot >= 0) {
        left_[left_at(s, slot) + static_cast<size_t>(e)] = value;
        Reach& reach =
            left_range_[static_cast<size_t>(s) * static_cast<size_t>(g.left_slots()) + static_cast<size_t>(slot)];
        reach = {std::min(reach.first, e), std::max(reach.last, e)};
      }
      if (const int32_t slot = g.right_slot(symbol); slot >= 0) {
        right_[right_at(e, slot) + static_cast<size_t>(s)] = value;
        if (!right_by_place_.empty()) right_by_place_[place_at(e, s, slot)] = value;
        Reach& reach =
            right_range_[static_cast<size_t>(e) * static_cast<size_t>(g.right_slots()) + static_cast<size_t>(slot)];
        reach = {std::min(reach.first, s), std::max(reach.last, s)};
      }
    }
    return true;
  }

  // The factors of the splits of a cell. With scaled numbers, also its preliminary exponent.
  bool factors(const Cell& of) {
    const auto [s, e, place, reach] = of;
    const int64_t cell = parts_->cell(s, e);
    Value* const row = splits_row(of);
    if constexpr (A::kScaled) {
      int32_t most = INT32_MIN;
      for (int m = s + 1; m < e; ++m)
        if (both_filled(s, m, e)) most = std::max(most, exponent(s, m) + exponent(m, e));
      exponents_[cell] = most == INT32_MIN ? 0 : most;
    }
    for (int m = s + 1; m < e; ++m) {
      const Value factor = both_filled(s, m, e) ? split_factor(s, m, e) : A::zero();
      if constexpr (A::kScaled)
        if (factor != 0 && factor < A::kSplit) return false;
      if constexpr (A::kScaled)
        if (factor == 0 && both_filled(s, m, e) && !split_is_forbidden(s, m, e)) return false;
      row[m] = factor;
    }
    return true;
  }
  bool both_filled(int s, int m, int e) const { return filled_[parts_->cell(s, m)] && filled_[parts_->cell(m, e)]; }
  bool split_is_forbidden(int s, int m, int e) const {
    return !splits_.empty() && !A::alive(splits_[parts_->triple(s, m, e)]);
  }

  // Moves the scale of the values of a cell into its exponent. If `bottoms` are given, the values are tops, and the
  // bottoms are scaled along.
  bool scale(Value* values, int64_t cell, Value* bottoms) {
    if constexpr (A::kScaled) {
      const int32_t slots = grammar_->bottom_slots(), n = bottoms ? grammar_->symbols() : slots;
      double most = 0, least = kInfinity;
      for (int32_t k = 0; k < n; ++k) {
        most = std::max(most, values[k]);
        if (values[k] > 0) least = std::min(least, values[k]);
      }
      if (most == 0) return true;
      if (!(most < kInfinity)) return false;
      const int by = std::ilogb(most);
      if (least < A::kSmallest * most) return false;
      if (by == 0) return true;
      const double factor = std::ldexp(1.0, -by);
      for (int32_t k = 0; k < n; ++k) values[k] *= factor;
      exponents_[cell] += by;
      if (bottoms)
        for (int32_t k = 0; k < slots; ++k)
          if (bottoms[k] > 0) {
            bottoms[k] *= factor;
            if (bottoms[k] < A::kSmallest || bottoms[k] > 1 / A::kSmallest) return false;
          }
    }
    return true;
  }

  // The adjoint of `fill`.
  void spread(int first, int last, int width, double* mu) {
    cells_.clear();
    for (int s = first; s < last; ++s) {
      const Cell cell{s, s + width, cells_.size()};
      if (!spread_tops(cell, mu)) continue;
      if (width == 1) {
        spread_word(cell, mu);
        continue;
      }
      Value* const splits = splits_row(cell);
      for (int m = s + 1; m < cell.e; ++m)
        splits[m] = both_filled(s, m, cell.e) ? split_factor(s, m, cell.e) : A::zero();
      cells_.push_back(cell);
    }
    if (!cells_.empty()) spread_bottoms(mu);
  }

  // The adjoints of the bottoms of a cell. Returns whether there are any.
  bool spread_tops(const Cell& of, double* mu) {
    const Grammar& g = *grammar_;
    const auto [s, e, place, reach] = of;
    const int64_t cell = parts_->cell(s, e);
    const bool whole = s == 0 && e == n_, leaf = e - s == 1;
    const Value* const bottoms = bottoms_.data() + bottom_at(cell, 0);
    Value* const adjoints = bottom_adjoint(of);
    std::fill_n(adjoints, g.bottom_slots(), A::zero());
    bool any = false;
    for (int32_t symbol = 0; symbol < g.symbols(); ++symbol) {
      const int32_t slot = g.bottom_slot(symbol);
      if (slot < 0 || !A::alive(bottoms[slot])) continue;
      for (const int32_t label : g.above(symbol, leaf)) {
        if (!uses(label)) continue;
        const int32_t top = g.labels()[label].top;
        Value adjoint = whole ? top_adjoint_[top] : A::zero();
        if (const int32_t left = g.left_slot(top); left >= 0)
          adjoint = A::plus(adjoint, left_adjoint_[left_at(s, left) + static_cast<size_t>(e)]);
        if (const int32_t right = g.right_slot(top); right >= 0) {
          adjoint = A::plus(adjoint, right_adjoint_[right_at(e, right) + static_cast<size_t>(s)]);
          if (!right_adjoint_by_place_.empty())
            adjoint = A::plus(adjoint, right_adjoint_by_place_[place_at(e, s, right)]);
        }
        if (!A::alive(adjoint)) continue;
        const Value w = A::times(adjoint, label_weight(label, cell));
        if (!A::alive(w)) continue;
        any = true;
        adjoints[slot] = A::plus(adjoints[slot], w);
        const double posterior = A::number(A::times(w, bottoms[slot]));
        parts_->each_of_label(g, label, cell, [&](int64_t part) { mu[part] += posterior; });
      }
    }
    return any;
  }

  void spread_word(const Cell& cell, double* mu) {
    const Grammar& g = *grammar_;
    for (const int32_t rule : g.words_of(terminals_[cell.s])) {
      Value w = lexical_weight(rule, cell.s);
      if constexpr (A::kScaled) w = std::ldexp(w, -exponents_[parts_->cell(cell.s, cell.e)]);
      const int32_t slot = g.bottom_slot(g.lexical()[rule].lhs);
      mu[parts_->lexical(rule, cell.s)] += A::number(A::times(w, bottom_adjoint(cell)[slot]));
    }
  }

  void spread_bottoms(double* mu) {
    each_pair(
        [&](const Cell& cell) {
          std::fill(gradient_row(cell) + cell.reach.first, gradient_row(cell) + cell.reach.last + 1, A::zero());
        },
        [&](const Cell& cell, const Grammar::Pair& pair, int low, int high) {
          const size_t at_right = right_at(cell.e, pair.right);
          const Value* const right = right_.data() + at_right;
          Value* const adjoint = right_adjoint_.data() + at_right;
          if (by_rule_) {
            spread_by_rule(cell, pair, low, high, right, adjoint, mu);
            return;
          }
          const Value* const left = row(cell);
          Value* const gradients = gradient_row(cell);
          const Value gradient = rule_gradient(pair, bottom_adjoint(cell));
          if (!A::alive(gradient)) return;
          add_marginals(pair, A::dot(left + low, right + low, high - low + 1), bottom_adjoint(cell));
          for (int m = low; m <= high; ++m) {
            gradients[m] = A::plus(gradients[m], A::times(gradient, right[m]));
            adjoint[m] = A::plus(adjoint[m], A::times(gradient, left[m]));
          }
        },
        [&](int32_t slot) {
          if constexpr (A::kScaled) spread_dense(slot);
        },
        [&](const Cell& cell, int32_t slot) {
          const auto [s, e, place, reach] = cell;
          Value* const adjoint = left_adjoint_.data() + left_at(s, slot);
          const Value *const gradients = gradient_row(cell), *const splits = splits_row(cell), *const left = row(cell);
          for (int m = reach.first; m <= reach.last; ++m) {
            if (!A::alive(gradients[m])) continue;
            adjoint[m] = A::plus(adjoint[m], A::times(gradients[m], splits[m]));
            if (parts_->splits()) mu[parts_->split(s, m, e)] += A::number(A::times(gradients[m], left[m]));
          }
        });
  }

  // The same for all pairs of a dense slot.
  void spread_dense(int32_t slot) {
    const Grammar::Dense dense = grammar_->dense(slot);
    split_sums(dense);
    pair_gradients_.assign(sums_.size(), A::zero());
    loops().rules_backward(rule_matrix(dense), static_cast<int64_t>(cells_.size()), sums_.data(),
                           bottom_adjoint_.data(), pair_gradients_.data(), rule_marginals_.data());
    for (const Cell& cell : cells_) {
      if (cell.reach.empty()) continue;
      const int first = cell.reach.first;
      const size_t place = place_at(cell.e, first, dense.first_right);
      loops().splits_backward(dense.pairs, cell.reach.last + 1 - first,
                              pair_gradients_.data() + cell.place * static_cast<size_t>(dense.pairs), row(cell) + first,
                              right_by_place_.data() + place, grammar_->right_slots(), gradient_row(cell) + first,
                              right_adjoint_by_place_.data() + place);
    }
  }
  RuleMatrix rule_matrix(const Grammar::Dense& dense) const {
    return {dense.pairs, dense.begin, dense.lhs, by_pair_.data(), grammar_->bottom_slots()};
  }

  // The derivative with respect to the sum over the splits of a pair.
  Value rule_gradient(const Grammar::Pair& pair, const Value* adjoints) const {
    const int32_t* const slots = grammar_->lhs_by_pair().data();
    Value sum = A::zero();
    for (int32_t k = pair.begin; k < pair.end; ++k) sum = A::plus(sum, A::times(adjoints[slots[k]], by_pair_[k]));
    return sum;
  }

  // Adds the marginals of the rules of a pair; with scaled numbers, without the weights of the rules.
  void add_marginals(const Grammar::Pair& pair, Value sum, const Value* adjoints) {
    const int32_t* const slots = grammar_->lhs_by_pair().data();
    for (int32_t k = pair.begin; k < pair.end; ++k) {
      const Value w = A::times(adjoints[slots[k]], sum);
      rule_marginals_[k] += A::kScaled ? A::number(w) : A::number(A::times(w, by_pair_[k]));
    }
  }

  // The sums over the splits of all cells and all pairs of a dense slot.
  void split_sums(const Grammar::Dense& dense) {
    sums_.assign(cells_.size() * static_cast<size_t>(dense.pairs), A::zero());
    for (const Cell& cell : cells_) {
      if (cell.reach.empty()) continue;
      const int first = cell.reach.first, last = cell.reach.last;
      const Value* const left = row(cell);
      const Value* const right = right_by_place_.data() + place_at(cell.e, first, dense.first_right);
      const int64_t step = grammar_->right_slots();
      Value* const sums = sums_.data() + cell.place * static_cast<size_t>(dense.pairs);
      if constexpr (A::kScaled) {
        loops().splits_forward(dense.pairs, last + 1 - first, left + first, right, step, sums);
      } else {
        for (int m = first; m <= last; ++m) {
          if (!A::alive(left[m])) continue;
          const Value* const from = right + (m - first) * step;
          for (int64_t p = 0; p < dense.pairs; ++p) sums[p] = A::plus(sums[p], A::times(left[m], from[p]));
        }
      }
    }
  }

  void spread_by_rule(const Cell& cell, const Grammar::Pair& pair, int low, int high, const Value* right,
                      Value* adjoint, double* mu) {
    const Grammar& g = *grammar_;
    const auto [s, e, place, reach] = cell;
    const Value* const left = row(cell);
    Value* const gradients = gradient_row(cell);
    for (int32_t k = pair.begin; k < pair.end; ++k) {
      const int32_t rule = g.by_pair()[k];
      const Value above = A::times(bottom_adjoint(cell)[g.lhs_by_pair()[k]], fixed(rule, s, e));
      if (!A::alive(above)) continue;
      for (int m = low; m <= high; ++m) {
        const Value of_left = inner(rule, s, m, e, above, right[m]);
        const Value of_right = inner(rule, s, m, e, above, left[m]);
        gradients[m] = A::plus(gradients[m], of_left);
        adjoint[m] = A::plus(adjoint[m], of_right);
        const double posterior = A::number(A::times(of_right, right[m]));
        if (posterior == 0) continue;
        if (parts_->tied())
          rule_marginals_[k] += posterior;
        else
          mu[parts_->binary(rule, s, m, e)] += posterior;
        const int places[3] = {s, m, e - 1};
        for (int j = 0; j < 3; ++j)
          if (parts_->anchors() >> j & 1) mu[parts_->anchor(j, rule, places[j])] += posterior;
      }
    }
  }

  const Grammar* grammar_ = nullptr;
  const DerivationParts* parts_ = nullptr;
  const int32_t* terminals_ = nullptr;
  const double* theta_ = nullptr;
  const char* cells_left_ = nullptr;
  bool pieces_ = false, by_rule_ = false;
  int n_ = 0;
  std::vector<Value> rules_, by_pair_, tuples_, labels_, spans_, splits_, anchors_[3];
  std::vector<Value> left_, right_, bottoms_, tops_, row_, splits_row_;
  std::vector<Value> bottom_rows_;  // the bottoms of the cells processed together
  std::vector<Reach> left_range_, right_range_;
  std::vector<int32_t> exponents_;
  std::vector<char> filled_;  // by cell: whether anything is alive in it
  std::vector<Value> left_adjoint_, right_adjoint_, bottom_adjoint_, top_adjoint_, gradient_row_;
  std::vector<double> rule_marginals_;  // in the order of by_pair
  std::vector<Cell> cells_;
  // For dense slots: the tops that end at e, by begin, with all symbols contiguous, and their adjoints.
  std::vector<Value> right_by_place_, right_adjoint_by_place_;
  std::vector<Value> sums_, pair_gradients_;  // by cell and pair of a slot
};

// A derivation from the top down. choose.root() returns the number of a root, choose.label(symbol, s, e) a label below
// a symbol, and choose.rule(symbol, s, e) a binary rule and a split, or a lexical rule with split -1.
template <class Chooser>
void derive(const Grammar& grammar, const DerivationParts& parts, Chooser& choose, Output& y) {
  struct Open {
    int32_t top;
    int s, e;
  };
  const auto add = [&](int64_t part) { y.push_back(static_cast<int32_t>(part)); };
  y.clear();
  const int32_t root = choose.root();
  add(parts.root(root));
  std::vector<Open> open{{grammar.roots()[root], 0, parts.words()}};
  while (!open.empty()) {
    const auto [top, s, e] = open.back();
    open.pop_back();
    const int32_t label = choose.label(top, s, e);
    parts.each_of_label(grammar, label, parts.cell(s, e), add);
    const auto [rule, m] = choose.rule(grammar.labels()[label].bottom, s, e);
    if (m < 0) {
      add(parts.lexical(rule, s));
      continue;
    }
    parts.each_of_rule(rule, s, m, e, add);
    const Grammar::Binary& of = grammar.binary()[rule];
    open.push_back({of.left, s, m});
    open.push_back({of.right, m, e});
  }
  std::sort(y.begin(), y.end());
}

struct RuleAt {
  int32_t rule;
  int split;
};

// The choices of the best derivation: those that attain its value.
class Best {
 public:
  explicit Best(const Chart<Max>& chart) : chart_(chart) {}

  int32_t root() const {
    const double best = chart_.total();
    for (size_t k = 0; k < chart_.grammar().roots().size(); ++k)
      if (chart_.root_top(k) + chart_.root_weight(k) == best) return static_cast<int32_t>(k);
    return -1;  // never: the total is one of them
  }
  int32_t label(int32_t top, int s, int e) const {
    const int64_t cell = chart_.parts().cell(s, e);
    const double best = chart_.top(top, s, e);
    for (const int32_t label : chart_.grammar().below(top, e - s == 1))
      if (chart_.uses(label) &&
          chart_.bottom(chart_.grammar().labels()[label].bottom, s, e) + chart_.label_weight(label, cell) == best)
        return label;
    return -1;
  }
  RuleAt rule(int32_t bottom, int s, int e) const {
    const double best = chart_.bottom(bottom, s, e);
    RuleAt found{-1, -1};
    if (e - s == 1) {
      for (const int32_t rule : chart_.grammar().words_of(chart_.terminals()[s]))
        if (chart_.grammar().lexical()[rule].lhs == bottom && chart_.lexical_weight(rule, s) == best) return {rule, -1};
      return found;
    }
    chart_.each_rule(bottom, s, e, [&](int32_t rule, int m, double value) {
      if (found.rule < 0 && value == best) found = {rule, m};
    });
    return found;
  }

 private:
  const Chart<Max>& chart_;
};

}  // namespace margrave::cky
