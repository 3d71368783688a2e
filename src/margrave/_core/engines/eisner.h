// Arc-factored projective dependency trees (Eisner 1996): best tree, partition function and marginals, samples. The k
// best trees are in eisner_kbest.h, and the best of every cost in eisner_by_cost.h.
//
// Words are 1..n and the root is position 0. Arcs and parts are numbered as in engines/tree_arcs.h. A tree is
// projective if no two arcs cross when all are drawn above the positions 0..n. There are five kinds of items over the
// positions i..j:
//
//   Right(i, j)     i with descendants up to j             Left(i, j)     j with descendants down to i
//   RightArc(i, j)  the same with the arc i -> j as last   LeftArc(i, j)  the same with the arc j -> i
//   Join(i, j)      two adjacent halves, between which an arc can be drawn
//
// With the weights of the arcs, and Right(i, i) = Left(i, i) = 1,
//
//   Join(i, j)     = sum_{i <= k < j}  Right(i, k) Left(k + 1, j)
//   RightArc(i, j) = w(i -> j) Join(i, j),     LeftArc(i, j) = w(j -> i) Join(i, j)
//   Right(i, j)    = sum_{i < k <= j}  RightArc(i, k) Right(k, j)
//   Left(i, j)     = sum_{i <= k < j}  Left(i, k) LeftArc(k, j)
//
// and the partition function is Right(0, n). No arc points to the root: w(j -> 0) = 0. A second arc from the root needs
// Right(0, k) with 0 < k < n inside a Join(0, j). Leaving these out enforces a single root. With max for + and + for
// the product, Right(0, n) is the score of the best tree. Every tree has exactly one derivation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "engines/hypergraph.h"
#include "engines/lazy_kbest.h"
#include "engines/semirings.h"
#include "engines/tree_arcs.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "simd/loops.h"

namespace margrave::eisner {

// ---- Items and rules -----------------------------------------------------------------------------------------------

enum Kind : int { kRight, kLeft, kRightArc, kLeftArc, kJoin, kKinds, kRightWeight = kKinds, kLeftWeight, kTables };

struct Item {
  Kind kind;
  int i, j;
};

// Split t of an item over i..j, 0 <= t < j - i. The left part ends at i + t + ends; the right one begins at i + t +
// begins.
struct Rule {
  Kind whole, left, right;
  int ends, begins;

  Item left_of(int i, int t) const { return {left, i, i + t + ends}; }
  Item right_of(int i, int j, int t) const { return {right, i + t + begins, j}; }
};
inline constexpr Rule kJoinRule{kJoin, kRight, kLeft, 0, 1};
inline constexpr Rule kRightRule{kRight, kRightArc, kRight, 1, 1};
inline constexpr Rule kLeftRule{kLeft, kLeft, kLeftArc, 0, 0};

inline const Rule& rule_of(Kind kind) { return kind == kJoin ? kJoinRule : kind == kRight ? kRightRule : kLeftRule; }
inline bool is_arc(Kind kind) { return kind == kRightArc || kind == kLeftArc; }
inline Kind weight_of(Kind arc) { return arc == kRightArc ? kRightWeight : kLeftWeight; }

// A table stores the items of one width j - i in a row, by i. Rows are padded to let loops run to the next multiple of
// 8. Cells after the last item hold the zero of the semiring.
struct Shape {
  explicit Shape(int words) : size(words + 1), stride(padded(words + 1) + 8) {}

  int64_t cells() const { return size * stride + 8; }
  int64_t cell(int i, int j) const { return (j - i) * stride + i; }

  int64_t size;  // positions
  int64_t stride;
};

template <class T>
struct Chart {
  Shape shape;
  T* tables;

  T* table(Kind kind) const { return tables + kind * shape.cells(); }
  T* row(Kind kind, int64_t width) const { return table(kind) + width * shape.stride; }
  T& at(const Item& item) const { return table(item.kind)[shape.cell(item.i, item.j)]; }
};

// Calls visit(k, arc) for the n arcs into word m, in the order of their parts. each_arc calls visit(part, arc) for all
// arcs.
template <class Visit>
void each_arc_into(int n, int m, const Visit& visit) {
  for (int h = 0; h < m; ++h) visit(h, Item{kRightArc, h, m});
  for (int h = m + 1; h <= n; ++h) visit(h - 1, Item{kLeftArc, m, h});
}
template <class Visit>
void each_arc(int n, const Visit& visit) {
  for (int m = 1; m <= n; ++m) each_arc_into(n, m, [&](int k, const Item& arc) { visit(int64_t{m - 1} * n + k, arc); });
}
inline size_t part_of(int n, const Item& arc) {
  return arc.kind == kRightArc ? tree::part(n, arc.i, arc.j) : tree::part(n, arc.j, arc.i);
}

// ---- From narrow to wide spans, and back ---------------------------------------------------------------------------

// How whole rows of values are combined.
struct Sums : semiring::Sum {
  static void combine(int64_t n, int64_t terms, const double* a, int64_t a_step, const double* b, int64_t b_step,
                      double* out) {
    loops().sum_products(n, terms, a, a_step, b, b_step, out);
  }
  static void spread(int64_t n, int64_t terms, const double* g, const double* a, int64_t a_step, const double* b,
                     int64_t b_step, double* ga, double* gb) {
    loops().spread_products(n, terms, g, a, a_step, b, b_step, ga, gb);
  }
};

struct WideSums : semiring::WideSum {
  static void combine(int64_t n, int64_t terms, const Wide* a, int64_t a_step, const Wide* b, int64_t b_step,
                      Wide* out) {
    std::fill_n(out, n, Wide());
    for (int64_t t = 0; t < terms; ++t)
      for (int64_t i = 0; i < n; ++i) out[i] = out[i] + a[t * a_step + i] * b[t * b_step + i];
  }
  static void spread(int64_t n, int64_t terms, const Wide* g, const Wide* a, int64_t a_step, const Wide* b,
                     int64_t b_step, Wide* ga, Wide* gb) {
    for (int64_t t = 0; t < terms; ++t) {
      for (int64_t i = 0; i < n; ++i) {
        Wide& left = ga[t * a_step + i];
        Wide& right = gb[t * b_step + i];
        left = left + g[i] * b[t * b_step + i];
        right = right + g[i] * a[t * a_step + i];
      }
    }
  }
};

struct Maxima : semiring::Max {
  static void combine(int64_t n, int64_t terms, const double* a, int64_t a_step, const double* b, int64_t b_step,
                      double* out) {
    loops().max_sums(n, terms, a, a_step, b, b_step, out);
  }
};

// Where the operands of a rule begin for all items of a width, and the distance between their splits.
struct Operands {
  Operands(const Shape& shape, const Rule& rule, int64_t width)
      : a(rule.ends * shape.stride),
        a_step(shape.stride),
        b((width - rule.begins) * shape.stride + rule.begins),
        b_step(1 - shape.stride) {}

  int64_t a, a_step, b, b_step;
};

// Computes all items from the weights of the arcs.
template <class S>
void inside(const Chart<typename S::Value>& chart, bool single_root) {
  const Shape& shape = chart.shape;
  const auto apply = [&](const Rule& rule, int64_t width) {
    const Operands at(shape, rule, width);
    S::combine(shape.size - width, width, chart.table(rule.left) + at.a, at.a_step, chart.table(rule.right) + at.b,
               at.b_step, chart.row(rule.whole, width));
  };
  std::fill_n(chart.table(kRight), shape.size, S::one());
  std::fill_n(chart.table(kLeft), shape.size, S::one());
  for (int64_t width = 1; width < shape.size; ++width) {
    apply(kJoinRule, width);
    const auto* join = chart.row(kJoin, width);
    for (const Kind arc : {kRightArc, kLeftArc}) {
      const auto* weights = chart.row(weight_of(arc), width);
      auto* items = chart.row(arc, width);
      for (int64_t i = 0; i < shape.size - width; ++i) items[i] = S::times(weights[i], join[i]);
    }
    apply(kRightRule, width);
    apply(kLeftRule, width);
    if (single_root && width < shape.size - 1) chart.row(kRight, width)[0] = S::zero();
  }
}

// The derivatives of Right(0, n) with respect to all items, added to zeroed tables: the same loops backwards.
template <class S>
void outside(const Chart<typename S::Value>& chart, bool single_root, const Chart<typename S::Value>& derivatives) {
  const Shape& shape = chart.shape;
  const auto apply = [&](const Rule& rule, int64_t width) {
    const Operands at(shape, rule, width);
    S::spread(shape.size - width, width, derivatives.row(rule.whole, width), chart.table(rule.left) + at.a, at.a_step,
              chart.table(rule.right) + at.b, at.b_step, derivatives.table(rule.left) + at.a,
              derivatives.table(rule.right) + at.b);
  };
  derivatives.row(kRight, shape.size - 1)[0] = S::one();
  for (int64_t width = shape.size - 1; width > 0; --width) {
    if (single_root && width < shape.size - 1) derivatives.row(kRight, width)[0] = S::zero();
    apply(kRightRule, width);
    apply(kLeftRule, width);
    auto* join = derivatives.row(kJoin, width);
    for (const Kind arc : {kRightArc, kLeftArc}) {
      const auto* weights = chart.row(weight_of(arc), width);
      const auto* of_arcs = derivatives.row(arc, width);
      for (int64_t i = 0; i < shape.size - width; ++i) join[i] = join[i] + of_arcs[i] * weights[i];
    }
    apply(kJoinRule, width);
  }
}

// The heads of one derivation of Right(0, n), top down; choose(rule, item) returns the split of an item.
template <class Choose>
void derive(int n, const Choose& choose, std::vector<int32_t>& heads) {
  heads.resize(static_cast<size_t>(n));
  std::vector<Item> open{{kRight, 0, n}};
  while (!open.empty()) {
    Item item = open.back();
    open.pop_back();
    if (item.i == item.j) continue;
    if (is_arc(item.kind)) {
      const bool right = item.kind == kRightArc;
      heads[(right ? item.j : item.i) - 1] = right ? item.i : item.j;
      item.kind = kJoin;
    }
    const Rule& rule = rule_of(item.kind);
    const int t = choose(rule, item);
    open.push_back(rule.left_of(item.i, t));
    open.push_back(rule.right_of(item.i, item.j, t));
  }
}

// Whether some projective tree only has arcs for which has_arc(head, word) is true. Items are bits, and all splits of
// an item are tested at once: the bits of row i and of column j that a split needs have the same index.
template <class HasArc>
bool any_tree(int n, const HasArc& has_arc, bool single_root) {
  const int64_t blocks = n / 64 + 1;
  const auto at = [blocks](int row, int k) { return static_cast<size_t>(row * blocks + k / 64); };
  struct Bits {
    std::vector<uint64_t> rows;
  };
  const Bits none{std::vector<uint64_t>(static_cast<size_t>((n + 1) * blocks))};
  // By left end: the right ends of Right, RightArc and Left. By right end: the left ends of Right, LeftArc and, minus
  // one, Left.
  Bits right = none, right_arc = none, left = none, right_to = none, left_arc_to = none, left_to = none;
  const auto set = [&](Bits& bits, int row, int k) { bits.rows[at(row, k)] |= uint64_t{1} << (k % 64); };
  const auto meet = [&](const Bits& a, int row, const Bits& b, int other) {
    for (int k = 0; k <= n; k += 64)
      if (a.rows[at(row, k)] & b.rows[at(other, k)]) return true;
    return false;
  };
  const auto add_right = [&](int i, int j) {
    set(right, i, j);
    set(right_to, j, i);
  };
  const auto add_left = [&](int i, int j) {
    set(left, i, j);
    if (i > 0) set(left_to, j, i - 1);
  };
  for (int i = 0; i <= n; ++i) {
    add_right(i, i);
    add_left(i, i);
  }
  for (int width = 1; width <= n; ++width) {
    for (int i = 0; i + width <= n; ++i) {
      const int j = i + width;
      if (meet(right, i, left_to, j)) {
        if (has_arc(i, j)) set(right_arc, i, j);
        if (i > 0 && has_arc(j, i)) set(left_arc_to, j, i);
      }
      if (!(single_root && i == 0 && j < n) && meet(right_arc, i, right_to, j)) add_right(i, j);
      if (meet(left, i, left_arc_to, j)) add_left(i, j);
    }
  }
  return right.rows[at(0, n)] >> (n % 64) & 1;
}

// ---- The best trees ------------------------------------------------------------------------------------------------

inline Chart<double> best_items(int n, const double* theta, bool single_root, Scratch& scratch) {
  const Shape shape(n);
  const Chart<double> chart{shape, scratch.take(kTables * shape.cells())};
  std::fill_n(chart.tables, kTables * shape.cells(), -kInfinity);
  each_arc(n, [&](int64_t part, Item arc) {
    arc.kind = weight_of(arc.kind);
    chart.at(arc) = theta[part];
  });
  inside<Maxima>(chart, single_root);
  return chart;
}

// The first split that attains the value of the item.
inline int best_split(const Chart<double>& chart, const Rule& rule, const Item& item) {
  const double value = chart.at(item);
  int t = 0;
  while (chart.at(rule.left_of(item.i, t)) + chart.at(rule.right_of(item.i, item.j, t)) != value) ++t;
  return t;
}

// Writes the best tree to `heads` and returns its score; -inf if there is none.
inline double argmax(int n, const double* theta, bool single_root, Scratch& scratch, std::vector<int32_t>& heads) {
  const Chart<double> chart = best_items(n, theta, single_root, scratch);
  if (chart.at({kRight, 0, n}) == -kInfinity) return -kInfinity;
  derive(n, [&](const Rule& rule, const Item& item) { return best_split(chart, rule, item); }, heads);
  return tree::score(n, theta, heads.data());
}

// ---- The partition function ----------------------------------------------------------------------------------------

inline double to_double(double x) { return x; }
inline double to_double(Wide x) { return x.value(); }
inline double log_of(double x) { return std::log(x); }
inline double log_of(Wide x) { return x.zero() ? -kInfinity : x.log(); }

// The weights of the arcs into word m are exp(theta - c_m), with c_m such that the largest is 1 / s_m, where s_m =
// min(27/4, the sum of all exp(theta - largest theta)). There are about (27/4)^n trees. With these weights and usual
// scores, the partition function Z stays within the range of doubles up to some hundred words.
//
// Underflow is harmless if Z is large enough. The products that underflow are below 1e-307 each. An error e in an item
// changes Z by e times the sum of all contexts of that item. There are at most (27/4)^c contexts of c words, up to a
// small factor, in which every arc weighs at most 1 / s_m. Every word of a context has one head. The sum is therefore
// at most prod_m (27/4) / s_m and at most prod_m sum_h w_hm. So
//
//   Z > 1e-250 min(these two products)
//
// leaves more than 25 digits of Z, and of each marginal above about 1e-30. If this fails, or something overflowed,
// everything is repeated in Wide.
class Scaling {
 public:
  // s_m, from the largest score of a word and the sum of all exp(theta - largest theta).
  double divisor(double top, double sum) {
    const double chosen = std::min(kGrowth, sum);
    const double log_chosen = std::log(chosen);
    log_scale_ += top + log_chosen;
    log_contexts_ += std::log(kGrowth) - log_chosen;
    if (sum > chosen) log_heads_ += std::log(sum) - log_chosen;
    return chosen;
  }

  // Whether a partition function of the scaled weights is large enough to be accurate.
  bool trusts(double z) const {
    return z < kInfinity && std::log(z) > kLogSmallest + std::min(log_contexts_, log_heads_);
  }
  double log_scale() const { return log_scale_; }  // sum_m c_m

 private:
  static constexpr double kGrowth = 6.75;               // growth of the number of trees per word
  static constexpr double kLogSmallest = -575.6462732;  // log 1e-250

  double log_scale_ = 0, log_contexts_ = 0, log_heads_ = 0;
};

template <class S>
class Partition {
 public:
  using T = typename S::Value;

  // Returns false if doubles do not suffice. `memory` has room for kTables tables.
  bool run(int n, const double* theta, bool single_root, T* memory) {
    chart_ = {Shape(n), memory};
    const int64_t cells = chart_.shape.cells();
    std::fill_n(memory, kTables * cells, S::zero());
    log_z_ = -kInfinity;
    if (!load(n, theta)) return true;
    inside<S>(chart_, single_root);
    z_ = chart_.at({kRight, 0, n});
    log_z_ = log_of(z_) + scaling_.log_scale();
    if constexpr (kDouble) return scaling_.trusts(z_);
    return true;
  }

  double log_z() const { return log_z_; }

  // `memory` has room for kKinds tables.
  void marginals(int n, bool single_root, T* memory, double* mu) const {
    const Chart<T> derivatives{chart_.shape, memory};
    std::fill_n(memory, kKinds * chart_.shape.cells(), S::zero());
    outside<S>(chart_, single_root, derivatives);
    each_arc(n,
             [&](int64_t part, const Item& arc) { mu[part] = to_double(derivatives.at(arc) * chart_.at(arc) / z_); });
  }

  void sample(int n, Random& random, std::vector<int32_t>& heads) const {
    std::vector<double> shares;
    const auto draw = [&](const Rule& rule, const Item& item) {
      shares.clear();
      for (int t = 0; t < item.j - item.i; ++t)
        shares.push_back(to_double(chart_.at(rule.left_of(item.i, t)) * chart_.at(rule.right_of(item.i, item.j, t)) /
                                   chart_.at(item)));
      return static_cast<int>(random.choose(shares.data(), item.j - item.i));
    };
    derive(n, draw, heads);
  }

 private:
  static constexpr bool kDouble = std::is_same_v<T, double>;

  // Computes the weights of all arcs; false if a word has no possible head.
  bool load(int n, const double* theta) {
    scaling_ = {};
    std::vector<double> weights(static_cast<size_t>(n));
    ChainTable exps{weights.data(), nullptr, 0, 0, false};
    for (int m = 1; m <= n; ++m) {
      const double* scores = theta + int64_t{m - 1} * n;
      loops().exp_range(n, scores, &exps);
      if (exps.top == -kInfinity) return false;
      const double divisor = scaling_.divisor(exps.top, std::accumulate(weights.begin(), weights.end(), 0.0));
      each_arc_into(n, m, [&](int k, Item arc) {
        arc.kind = weight_of(arc.kind);
        if constexpr (kDouble)
          chart_.at(arc) = weights[k] / divisor;
        else
          chart_.at(arc) = Wide::exp(scores[k] - exps.top) / Wide(divisor);
      });
    }
    return true;
  }

  Chart<T> chart_{Shape(1), nullptr};
  T z_{};
  Scaling scaling_;
  double log_z_ = 0;
};

// Calls answer(partition, memory) with the first partition function that succeeds, and room for kKinds more tables.
template <class Answer>
auto with_partition(int n, const double* theta, bool single_root, Scratch& scratch, const Answer& answer) {
  const int64_t cells = Shape(n).cells();
  double* memory = scratch.take((kTables + kKinds) * cells);
  Partition<Sums> plain;
  if (plain.run(n, theta, single_root, memory)) return answer(plain, memory + kTables * cells);
  std::vector<Wide> wide_memory(static_cast<size_t>((kTables + kKinds) * cells));
  Partition<WideSums> wide;
  wide.run(n, theta, single_root, wide_memory.data());
  return answer(wide, wide_memory.data() + kTables * cells);
}

// Returns log sum over trees of exp(score) and the marginal of every part; -inf and zeros if there is no tree.
inline double logsum(int n, const double* theta, bool single_root, Scratch& scratch, double* mu) {
  return with_partition(n, theta, single_root, scratch, [&](const auto& partition, auto* memory) {
    if (partition.log_z() == -kInfinity)
      std::fill_n(mu, int64_t{n} * n, 0.0);
    else
      partition.marginals(n, single_root, memory, mu);
    return partition.log_z();
  });
}

// Calls take(heads) for `count` trees, each drawn with probability exp(score) / Z; false if there is no tree.
template <class Take>
bool sample(int n, const double* theta, bool single_root, int64_t count, Random& random, Scratch& scratch,
            const Take& take) {
  return with_partition(n, theta, single_root, scratch, [&](const auto& partition, auto*) {
    if (partition.log_z() == -kInfinity) return false;
    std::vector<int32_t> heads;
    for (int64_t k = 0; k < count; ++k) {
      partition.sample(n, random, heads);
      take(heads);
    }
    return true;
  });
}

}  // namespace margrave::eisner
