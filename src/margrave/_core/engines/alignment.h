// Alignments of two sequences (003, section 4.4): the best one, k best, samples, log-sum with posteriors.
//
// An alignment of x (n letters) and y (m letters) is a set of matched pairs that ascend in both. Between two matches,
// the unmatched letters of x come before those of y. A state of the trellis is a cell (i, j), the last letters
// consumed, and how the last letter was consumed. M: i and j are matched. X: letter i of x is unmatched. Y: letter j of
// y is unmatched. With sums over alternatives and products of exponentials of scores,
//
//   M(i, j) = pair(i, j) (begin(i, j) + M(i-1, j-1) + X(i-1, j-1) + Y(i-1, j-1))
//   X(i, j) = x_open(i) M(i-1, j) + x_extend(i) X(i-1, j)
//   Y(i, j) = y_open(j) (M(i, j-1) + X(i, j-1)) + y_extend(j) Y(i, j-1)
//   total   = empty + sum of M(i, j) end(i, j)
//
// `begin` and `end` hold the scores before the first match and after the last one. Global, local and semi-global
// alignments differ only in these two.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "engines/hypergraph.h"
#include "engines/lazy_kbest.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "simd/loops.h"

namespace margrave::alignment {

enum State : int { kM = 0, kX = 1, kY = 2 };

struct Step {
  State state;
  int32_t i, j;  // the last letters consumed after this step
};
using Path = std::vector<Step>;  // from the first match to the last one; empty: no matches

// The scores of one pair of sequences.
struct Scores {
  int64_t n = 0, m = 0;
  std::vector<const double*> pair;  // by letter of x: m scores
  std::vector<int64_t> row;         // by letter of x: index among the distinct rows of scores
  int64_t distinct_rows = 0;        // an upper bound
  const double *x_open = nullptr, *x_extend = nullptr, *y_open = nullptr, *y_extend = nullptr;  // by letter
  // Score of a first match (i, j): begin_x[i] + begin_y[j]. With `shorter`, also that of the shorter run of letters
  // before it: lead_x[i] if i <= j, else lead_y[j]. The same holds for the letters after the last match.
  const double *begin_x = nullptr, *begin_y = nullptr, *end_x = nullptr, *end_y = nullptr;
  const double *lead_x = nullptr, *lead_y = nullptr, *trail_x = nullptr, *trail_y = nullptr;
  bool shorter = false;
  double empty = 0;  // score of the alignment without matches

  bool leads_x(int64_t i, int64_t j) const { return i <= j; }
  bool trails_x(int64_t i, int64_t j) const { return n - i <= m - j; }
  double begin(int64_t i, int64_t j) const {
    const double both = begin_x[i] + begin_y[j];
    return shorter ? both + (leads_x(i, j) ? lead_x[i] : lead_y[j]) : both;
  }
  double end(int64_t i, int64_t j) const {
    const double both = end_x[i] + end_y[j];
    return shorter ? both + (trails_x(i, j) ? trail_x[i] : trail_y[j]) : both;
  }
};

// Expected counts, in the same form as the scores. All start at 0. Rows of pairs may be shared.
struct Posteriors {
  std::vector<double*> pair;
  double *x_open, *x_extend, *y_open, *y_extend;
  double *begin_x, *begin_y, *end_x, *end_y, *lead_x, *lead_y, *trail_x, *trail_y;
  double empty = 0;

  void clear(int64_t n, int64_t m) {
    for (double* row : pair) std::fill_n(row, m, 0.0);
    for (double* each : {x_open, x_extend, begin_x, end_x, lead_x, trail_x}) std::fill_n(each, n, 0.0);
    for (double* each : {y_open, y_extend, begin_y, end_y, lead_y, trail_y}) std::fill_n(each, m, 0.0);
    empty = 0;
  }
  // Adds the probabilities that (i, j) is the first match and that it is the last one.
  void add_outside(const Scores& s, int64_t i, int64_t j, double begins, double ends) {
    begin_x[i] += begins;
    begin_y[j] += begins;
    end_x[i] += ends;
    end_y[j] += ends;
    if (!s.shorter) return;
    *(s.leads_x(i, j) ? lead_x + i : lead_y + j) += begins;
    *(s.trails_x(i, j) ? trail_x + i : trail_y + j) += ends;
  }
};

// Takes the posteriors of the pairs of a row, from the last row up. Where it is not given, they stay in `Posteriors`.
struct KeepRows {
  void operator()(int64_t, double*) const {}
};

// Forward sums that are kept: all rows, or the last row before each block of `stride` rows and the rows of one block.
// The rows of the other blocks are then computed twice, and memory grows with the square root of their number.
inline int64_t short_stride(int64_t n) { return std::max<int64_t>(1, std::llround(std::sqrt(static_cast<double>(n)))); }

// Values of all states of the cells of a block, row by row. Cells outside have the neutral value of the sum.
class Table {
 public:
  Table(int64_t n, int64_t m, double nothing, int64_t stride)
      : m_(m), stride_(stride), nothing_(nothing), values_(3 * (stride + 1) * m, nothing) {
    kept_.resize((n + stride - 1) / stride);
  }
  Table(int64_t n, int64_t m, double nothing) : Table(n, m, nothing, n) {}
  void set(State s, int64_t i, int64_t j, double value) { values_[place(s, i, j)] = value; }
  double operator()(State s, int64_t i, int64_t j) const { return i < 0 || j < 0 ? nothing_ : values_[place(s, i, j)]; }
  int64_t first() const { return first_; }
  bool ends_before(int64_t i) const { return i == first_ + stride_; }
  // Moves on to the next block, which begins after the last row.
  void next() {
    kept_[first_ / stride_ + 1].assign(values_.end() - 3 * m_, values_.end());
    load(first_ + stride_);
  }
  // Moves to the block with row i; its rows must be computed again.
  void load(int64_t i) {
    first_ = i / stride_ * stride_;
    const std::vector<double>& before = kept_[first_ / stride_];
    if (before.empty())
      std::fill_n(values_.begin(), 3 * m_, nothing_);
    else
      std::copy(before.begin(), before.end(), values_.begin());
  }

 private:
  size_t place(State s, int64_t i, int64_t j) const { return ((i - first_ + 1) * 3 + s) * m_ + j; }

  int64_t m_, stride_, first_ = 0;
  double nothing_;
  std::vector<double> values_;
  std::vector<std::vector<double>> kept_;
};

// ---- sums in log space: exact for any scores ------------------------------------------------------------------------

inline double log_add(double a, double b, double c) { return margrave::log_add(margrave::log_add(a, b), c); }

inline void forward_row(const Scores& s, int64_t i, Table& f) {
  for (int64_t j = 0; j < s.m; ++j) {
    const double before = log_add(f(kM, i - 1, j - 1), f(kX, i - 1, j - 1), f(kY, i - 1, j - 1));
    f.set(kM, i, j, s.pair[i][j] + margrave::log_add(s.begin(i, j), before));
    f.set(kX, i, j, -kInfinity);  // of the first row, whose memory may have been another row's
    if (i > 0) f.set(kX, i, j, margrave::log_add(s.x_open[i] + f(kM, i - 1, j), s.x_extend[i] + f(kX, i - 1, j)));
    if (j > 0)
      f.set(kY, i, j,
            log_add(s.y_open[j] + f(kM, i, j - 1), s.y_open[j] + f(kX, i, j - 1), s.y_extend[j] + f(kY, i, j - 1)));
  }
}

// Returns log Z.
inline double forward_logs(const Scores& s, Table& f) {
  double total = s.empty;
  for (int64_t i = 0; i < s.n; ++i) {
    if (f.ends_before(i)) f.next();
    forward_row(s, i, f);
    for (int64_t j = 0; j < s.m; ++j) total = margrave::log_add(total, f(kM, i, j) + s.end(i, j));
  }
  return total;
}

template <class Take = KeepRows>
double logsum_logs(const Scores& s, Posteriors& mu, int64_t stride, const Take& take = {}) {
  Table f(s.n, s.m, -kInfinity, stride);
  const double log_z = forward_logs(s, f);
  if (log_z == -kInfinity) return log_z;
  mu.empty += std::exp(s.empty - log_z);
  // Backward sums by state, for the row below and for this one.
  std::vector<double> below[3], here[3];
  for (int k = 0; k < 3; ++k) {
    below[k].assign(s.m + 1, -kInfinity);
    here[k].assign(s.m + 1, -kInfinity);
  }
  for (int64_t i = s.n - 1; i >= 0; --i) {
    const bool last = i + 1 == s.n;
    if (i < f.first()) {
      f.load(i);
      for (int64_t k = f.first(); k <= i; ++k) forward_row(s, k, f);
    }
    for (int64_t j = s.m - 1; j >= 0; --j) {
      const bool final = j + 1 == s.m;
      const double next = last || final ? -kInfinity : s.pair[i + 1][j + 1] + below[kM][j + 1];
      const double to_x = last ? -kInfinity : below[kX][j];
      const double to_y = final ? -kInfinity : here[kY][j + 1];
      const double open_x = last ? -kInfinity : s.x_open[i + 1] + to_x;
      const double extend_x = last ? -kInfinity : s.x_extend[i + 1] + to_x;
      const double open_y = final ? -kInfinity : s.y_open[j + 1] + to_y;
      const double extend_y = final ? -kInfinity : s.y_extend[j + 1] + to_y;
      const double finish = s.end(i, j);
      here[kM][j] = margrave::log_add(log_add(next, open_x, open_y), finish);
      here[kX][j] = log_add(next, extend_x, open_y);
      here[kY][j] = margrave::log_add(next, extend_y);
      const double m_here = f(kM, i, j) - log_z, x_here = f(kX, i, j) - log_z, y_here = f(kY, i, j) - log_z;
      mu.pair[i][j] += std::exp(m_here + here[kM][j]);
      if (!last) {
        mu.x_open[i + 1] += std::exp(m_here + open_x);
        mu.x_extend[i + 1] += std::exp(x_here + extend_x);
      }
      if (!final) {
        mu.y_open[j + 1] += std::exp(m_here + open_y) + std::exp(x_here + open_y);
        mu.y_extend[j + 1] += std::exp(y_here + extend_y);
      }
      mu.add_outside(s, i, j, std::exp(s.begin(i, j) + s.pair[i][j] + here[kM][j] - log_z), std::exp(m_here + finish));
    }
    take(i, mu.pair[i]);
    for (int k = 0; k < 3; ++k) std::swap(below[k], here[k]);
  }
  return log_z;
}

// Rows of all states for the kernels. Each row has room for the cell before the first one and for one vector after the
// last. These cells hold the neutral value of the sum.
class Rows {
 public:
  Rows(int64_t rows, int64_t m, Scratch& scratch, double nothing = -kInfinity)
      : width_(padded(m) + 8), nothing_(nothing), values_(scratch.take(3 * rows * width_ + 8)) {
    for (int64_t r = 0; r <= 3 * rows; ++r) std::fill_n(values_ + r * width_, 8, nothing);
  }
  double* operator()(State s, int64_t r) { return values_ + (3 * r + s) * width_ + 8; }
  void clear(int64_t r) { std::fill_n(values_ + 3 * r * width_, 3 * width_, nothing_); }
  void copy(int64_t from, Rows& to, int64_t r) const {
    std::copy_n(values_ + 3 * from * width_, 3 * width_, to.values_ + 3 * r * width_);
  }

 private:
  int64_t width_;
  double nothing_;
  double* values_;
};

// ---- sums in scaled space -------------------------------------------------------------------------------------------

// Forward and backward sums over rows, in exponentials of scores. Every row has an exponent e: its sums are 2^e times
// the stored values. e is chosen such that the neighboring row has a sum of about 2^kLevel. The loss to underflow is
// bounded, so a check of every row decides whether all results are exact. Returns false if they are not; the caller
// then repeats the example in log space.
//
// The bound: factors of one step are at most exp(kLargest) < 2^123. So a value lost in a row, or in the exponentials of
// its row, is at most 2^(kLevel + 124 - 1021) < 2^kLost. The alignments through it have at most 2^kLost times the sum
// of the other direction or, if all of that is lost too, 2^kLost times 2^kLost. Each direction has 3 n m values.
class ScaledSums {
 public:
  ScaledSums(const Scores& s, int64_t stride, Scratch& scratch)
      : s_(s),
        scratch_(scratch),
        frame_(scratch),
        width_(padded(s.m) + 8),
        stride_(stride),
        sums_(stride + 1, s.m, scratch, 0.0),
        kept_((s.n - 1) / stride, s.m, scratch, 0.0) {}

  // Posteriors must start at 0. They are invalid if this returns false.
  template <class Take>
  bool logsum(Posteriors& mu, double& log_z, const Take& take) {
    return prepare() && downwards(log_z) && upwards(log_z, mu, take);
  }

 private:
  static constexpr double kLargest = 85, kMostLog = 1e6;
  static constexpr int kLevel = 350, kMostShift = 900;
  static constexpr double kMost = 0x1p500;  // for the sum of a row: keeps products of both directions finite
  static constexpr double kLost = -540, kExact = -46;
  static constexpr double kLog2 = 0x1.62e42fefa39efp-1;

  // Exponentials of the first entries of a row, or of the last ones, relative to the largest of them. They are
  // recomputed only if the largest one changes. It does not change while longer runs have lower scores.
  class Window {
   public:
    void set(bool first_ones, int64_t m, const double* logs, double* exps, double* tops) {
      first_ones_ = first_ones, logs_ = logs, exps_ = exps, tops_ = tops;
      tops_[first_ones ? 0 : m] = -kInfinity;
      for (int64_t k = 0; k < m; ++k) {
        const int64_t j = first_ones ? k : m - 1 - k, to = first_ones ? j + 1 : j;
        tops_[to] = std::max(tops_[first_ones ? j : j + 1], logs[j]);
      }
      begin_ = end_ = first_ones ? 0 : m;
    }
    double top(int64_t begin, int64_t end) const { return tops_[first_ones_ ? end : begin]; }
    // Writes exp(log - top) for the columns begin .. end - 1, where top is at least the largest of their logs.
    void write(int64_t begin, int64_t end, double top, double* to) {
      const double own = this->top(begin, end);
      if (own == -kInfinity) {
        std::fill(to + begin, to + end, 0.0);
        return;
      }
      if (own != top_) {
        ChainTable table{exps_ + begin, nullptr, 0, 0, false};
        loops().exp_range(end - begin, logs_ + begin, &table);
        top_ = own, begin_ = begin, end_ = end;
      }
      for (; begin_ > begin; --begin_) exps_[begin_ - 1] = std::exp(logs_[begin_ - 1] - top_);
      for (; end_ < end; ++end_) exps_[end_] = std::exp(logs_[end_] - top_);
      const double factor = std::exp(own - top);
      for (int64_t j = begin; j < end; ++j) to[j] = exps_[j] * factor;
    }

   private:
    bool first_ones_ = true;
    const double* logs_ = nullptr;
    double *exps_ = nullptr, *tops_ = nullptr;
    double top_ = kInfinity;
    int64_t begin_ = 0, end_ = 0;  // columns whose exponentials are known
  };

  // Scores before the first match or after the last one of a row: exp(top) times by_y. With `shorter`, one window has
  // the columns where the run of x counts and the other those where the run of y counts. Each row has its own top,
  // because long runs, which only some rows have, can exceed the range of doubles.
  struct Outside {
    double top = -kInfinity, *by_y = nullptr;
    Window of_x, of_y;
  };

  double* zeros() {
    double* row = scratch_.take(width_);
    std::fill_n(row, width_, 0.0);
    return row;
  }

  bool prepare() {
    y_open_ = zeros(), y_extend_ = zeros();
    x_open_.resize(s_.n), x_extend_.resize(s_.n);
    if (!factors(s_.y_open, s_.m, y_open_) || !factors(s_.y_extend, s_.m, y_extend_)) return false;
    if (!factors(s_.x_open, s_.n, x_open_.data()) || !factors(s_.x_extend, s_.n, x_extend_.data())) return false;
    const int64_t rows = s_.distinct_rows;
    pairs_ = scratch_.take(rows * width_);
    std::fill_n(pairs_, rows * width_, 0.0);
    tops_.assign(rows, 0.0);
    std::vector<bool> known(rows, false);
    for (int64_t i = 0; i < s_.n; ++i) {
      const int64_t r = s_.row[i];
      if (known[r]) continue;
      known[r] = true;
      ChainTable table{pairs_ + r * width_, nullptr, 0, 0, false};
      loops().exp_range(s_.m, s_.pair[i], &table);
      if (table.top == -kInfinity) continue;  // the row stays 0
      if (table.top > kLargest || table.top < -kMostLog) return false;
      tops_[r] = std::exp(table.top);
    }
    prepare(s_.begin_y, s_.lead_y, false, begin_);
    prepare(s_.end_y, s_.trail_y, true, end_);
    return true;
  }

  static bool factors(const double* scores, int64_t n, double* values) {
    for (int64_t k = 0; k < n; ++k) {
      if (scores[k] != -kInfinity && std::fabs(scores[k]) > kLargest) return false;
      values[k] = std::exp(scores[k]);
    }
    return true;
  }

  // x_first: the run of x counts in the first columns of a row, that of y in the last ones.
  void prepare(const double* by_y, const double* run_y, bool x_first, Outside& o) {
    o.by_y = zeros();
    if (!s_.shorter) {
      ChainTable table{o.by_y, nullptr, 0, 0, false};
      loops().exp_range(s_.m, by_y, &table);
      o.top = table.top;
      return;
    }
    double* both = scratch_.take(s_.m);
    for (int64_t j = 0; j < s_.m; ++j) both[j] = by_y[j] + run_y[j];
    o.of_x.set(x_first, s_.m, by_y, scratch_.take(s_.m), scratch_.take(s_.m + 1));
    o.of_y.set(!x_first, s_.m, both, scratch_.take(s_.m), scratch_.take(s_.m + 1));
  }

  // If the top is -inf, everything is forbidden, and stale values in by_y are multiplied by 0.
  void begin_row(int64_t i, AlignmentSums& row) {
    row.begin_y = begin_.by_y;
    if (!s_.shorter) return;
    const int64_t first = std::min(i, s_.m);  // first column where the run of x counts
    const double run_x = s_.lead_x[i];
    begin_.top = std::max(begin_.of_y.top(0, first), begin_.of_x.top(first, s_.m) + run_x);
    if (begin_.top == -kInfinity) return;
    begin_.of_y.write(0, first, begin_.top, begin_.by_y);
    begin_.of_x.write(first, s_.m, begin_.top - run_x, begin_.by_y);
  }
  void end_row(int64_t i, AlignmentSums& row) {
    row.end_y = end_.by_y;
    if (!s_.shorter) return;
    const int64_t last = std::clamp<int64_t>(s_.m - s_.n + i + 1, 0, s_.m);  // first column where the run of y counts
    const double run_x = s_.trail_x[i];
    end_.top = std::max(end_.of_x.top(0, last) + run_x, end_.of_y.top(last, s_.m));
    if (end_.top == -kInfinity) return;
    end_.of_x.write(0, last, end_.top - run_x, end_.by_y);
    end_.of_y.write(last, s_.m, end_.top, end_.by_y);
  }

  // Sets the exponent of a row from the sum of the neighboring row and from the score outside. `carry` is the factor
  // for the values of the neighboring row.
  static bool settle(int64_t next, double sum, double outside, int64_t& e, double& carry) {
    constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
    if (outside != -kInfinity && std::fabs(outside) > kMostLog) return false;
    const int64_t inner = sum > 0 ? next + std::ilogb(sum) : kNone;
    const int64_t outer = outside == -kInfinity ? kNone : static_cast<int64_t>(std::floor(outside / kLog2));
    const int64_t larger = std::max(inner, outer);
    e = larger == kNone ? next : larger - kLevel;
    carry = 0;
    if (sum > 0) {
      if (next - e > kMostShift || e - next > kMostShift) return false;
      carry = std::ldexp(1.0, static_cast<int>(next - e));
    }
    return true;
  }

  // The row of letter i in `sums_`, and that of the letter before it.
  int64_t here(int64_t i) const { return i % stride_ + 1; }
  int64_t before(int64_t i) const { return i % stride_; }

  // The forward sums of a row; returns their sum, and in `ends` those of alignments that end here.
  double sum_row(int64_t i, AlignmentSums& row, double& ends) {
    const double top = tops_[s_.row[i]], carry = carries_[i];
    row.pair = pairs_ + s_.row[i] * width_;
    row.begin_x = begins_[i];
    row.x_open = x_open_[i] * carry;
    row.x_extend = x_extend_[i] * carry;
    row.carry = carry * top;
    row.m_next = sums_(kM, before(i)), row.x_next = sums_(kX, before(i)), row.y_next = sums_(kY, before(i));
    row.m_here = sums_(kM, here(i)), row.x_here = sums_(kX, here(i)), row.y_here = sums_(kY, here(i));
    return loops().alignment_sum_row(row, &ends);
  }

  // The rows of the block that ends with letter i, once more. They are those of `downwards` up to rounding.
  void sum_block(int64_t i, AlignmentSums& row) {
    const int64_t first = i / stride_ * stride_;
    if (first == 0)
      sums_.clear(0);
    else
      kept_.copy(first / stride_ - 1, sums_, 0);
    row.end_y = end_.by_y;  // not used
    double ends = 0;
    for (int64_t k = first; k <= i; ++k) {
      begin_row(k, row);
      sum_row(k, row, ends);
    }
  }

  bool downwards(double& log_z) {
    sums_.clear(0);
    exponents_.assign(s_.n, 0);
    carries_.assign(s_.n, 0.0);
    logs_.assign(s_.n, -kInfinity);
    begins_.assign(s_.n, 0.0);
    log_z = s_.empty;
    AlignmentSums row{};
    row.m = s_.m;
    row.y_open = y_open_;
    row.y_extend = y_extend_;
    int64_t next = 0;
    double sum = 0, ends = 0;
    for (int64_t i = 0; i < s_.n; ++i) {
      int64_t& e = exponents_[i];
      if (i > 0 && before(i) == 0) {
        sums_.copy(stride_, kept_, i / stride_ - 1);
        sums_.copy(stride_, sums_, 0);
      }
      begin_row(i, row);
      end_row(i, row);
      const double first = s_.begin_x[i] + begin_.top;
      if (!settle(next, sum, first, e, carries_[i])) return false;
      begins_[i] = std::exp(first - static_cast<double>(e) * kLog2) * tops_[s_.row[i]];
      sum = sum_row(i, row, ends);
      if (!(sum < kMost)) return false;
      logs_[i] = std::log2(sum);
      if (ends > 0)
        log_z = margrave::log_add(log_z, std::log(ends) + s_.end_x[i] + end_.top + static_cast<double>(e) * kLog2);
      next = e;
    }
    return log_z > -kInfinity;
  }

  template <class Take>
  bool upwards(double log_z, Posteriors& mu, const Take& take) {
    mu.empty += std::exp(s_.empty - log_z);
    Rows sums(2, s_.m, scratch_, 0.0);
    sums.clear(0), sums.clear(1);
    const double values = std::log2(3.0 * static_cast<double>(s_.n) * static_cast<double>(s_.m));
    AlignmentSums row{};
    row.m = s_.m;
    row.y_open = y_open_;
    row.y_extend = y_extend_;
    AlignmentShares shares{};
    shares.y_open = zeros(), shares.y_extend = zeros(), shares.begin_y = zeros(), shares.end_y = zeros();
    int64_t next = 0, e = 0;
    double sum = 0, carry = 0;
    for (int64_t i = s_.n - 1; i >= 0; --i) {
      const bool last = i + 1 == s_.n;
      if (!last && before(i + 1) == 0) sum_block(i, row);
      begin_row(i, row);
      end_row(i, row);
      const double final = s_.end_x[i] + end_.top;
      if (!settle(next, sum, final, e, carry)) return false;
      const size_t below = s_.row[last ? i : i + 1];
      row.pair = pairs_ + s_.row[i] * width_;
      row.pair_next = pairs_ + static_cast<int64_t>(below) * width_;
      row.begin_x = begins_[i];
      row.end_x = std::exp(final - static_cast<double>(e) * kLog2);
      row.x_open = last ? 0.0 : x_open_[i + 1] * carry;
      row.x_extend = last ? 0.0 : x_extend_[i + 1] * carry;
      row.carry = last ? 0.0 : carry * tops_[below];
      row.m_next = sums(kM, (i + 1) % 2), row.x_next = sums(kX, (i + 1) % 2);
      row.m_here = sums(kM, i % 2), row.x_here = sums(kX, i % 2);
      shares.m = sums_(kM, here(i)), shares.x = sums_(kX, here(i)), shares.y = sums_(kY, here(i));
      const double both = static_cast<double>(exponents_[i] + e);
      shares.share = std::exp(both * kLog2 - log_z);
      shares.pair = mu.pair[i];
      if (s_.shorter) std::fill_n(shares.begin_y, s_.m, 0.0), std::fill_n(shares.end_y, s_.m, 0.0);
      sum = loops().alignment_share_row(row, shares);
      if (!(sum < kMost) || !std::isfinite(shares.share)) return false;
      const double most = std::max({logs_[i], std::log2(sum), kLost});
      if (values + kLost + most + both > log_z / kLog2 + kExact) return false;
      if (!last) {
        mu.x_open[i + 1] += shares.x_open;
        mu.x_extend[i + 1] += shares.x_extend;
      }
      if (s_.shorter) {
        for (int64_t j = 0; j < s_.m; ++j) mu.add_outside(s_, i, j, shares.begin_y[j], shares.end_y[j]);
      } else {
        mu.begin_x[i] += shares.begin_x;
        mu.end_x[i] += shares.end_x;
      }
      take(i, mu.pair[i]);
      next = e;
    }
    for (int64_t j = 0; j < s_.m; ++j) {
      if (j > 0) {
        mu.y_open[j] += shares.y_open[j - 1];
        mu.y_extend[j] += shares.y_extend[j - 1];
      }
      if (s_.shorter) continue;
      mu.begin_y[j] += shares.begin_y[j];
      mu.end_y[j] += shares.end_y[j];
    }
    return true;
  }

  const Scores& s_;
  Scratch& scratch_;
  Scratch::Frame frame_;
  int64_t width_, stride_;
  Rows sums_;  // forward sums of a block; the first row is that before the block
  Rows kept_;  // the last rows before all blocks but the first
  double *y_open_ = nullptr, *y_extend_ = nullptr, *pairs_ = nullptr;
  std::vector<double> x_open_, x_extend_, tops_, logs_, begins_, carries_;
  std::vector<int64_t> exponents_;
  Outside begin_, end_;
};

inline double logsum(const Scores& s, Posteriors& mu, Scratch& scratch) {
  double log_z = 0;
  if (ScaledSums(s, s.n, scratch).logsum(mu, log_z, KeepRows())) return log_z;
  mu.clear(s.n, s.m);
  return logsum_logs(s, mu, s.n);
}

// The alignment whose matches have the largest sum of posteriors minus `caution`. It is found from the last row up, as
// the posteriors of a row are known, so only the choice in each cell is stored. Of equal sums it takes the earlier
// match.
class MostAccurate {
 public:
  MostAccurate(int64_t n, int64_t m, double caution)
      : n_(n), m_(m), caution_(caution), ways_(static_cast<size_t>(n * m)), best_(static_cast<size_t>(m + 1)) {}

  void restart() { std::fill(best_.begin(), best_.end(), 0.0); }
  // The posteriors of a row, which are set to 0.
  void take(int64_t i, double* posteriors) {
    uint8_t* ways = ways_.data() + i * m_;
    double diagonal = 0;  // the best of cell (i + 1, j + 1)
    for (int64_t j = m_ - 1; j >= 0; --j) {
      const double below = best_[j], gain = posteriors[j] - caution_, match = diagonal + gain;
      ways[j] = kX;
      if (best_[j + 1] > best_[j]) best_[j] = best_[j + 1], ways[j] = kY;
      if (gain > 0 && match >= best_[j]) best_[j] = match, ways[j] = kM;
      diagonal = below;
      posteriors[j] = 0;
    }
  }
  void matches(std::vector<int32_t>& found) const {
    found.clear();
    for (int64_t i = 0, j = 0; i < n_ && j < m_;) {
      const uint8_t way = ways_[i * m_ + j];
      if (way == kM) found.push_back(static_cast<int32_t>(i)), found.push_back(static_cast<int32_t>(j));
      if (way != kY) ++i;
      if (way != kX) ++j;
    }
  }

 private:
  int64_t n_, m_;
  double caution_;
  std::vector<uint8_t> ways_;
  std::vector<double> best_;
};

// The matches of the alignment with the highest expected accuracy. All pairs of `mu` are one row of zeros. Returns
// log Z; if it is -inf, there is no alignment.
inline double most_accurate(const Scores& s, Posteriors& mu, double caution, std::vector<int32_t>& found,
                            Scratch& scratch) {
  MostAccurate best(s.n, s.m, caution);
  const auto take = [&](int64_t i, double* row) { best.take(i, row); };
  const int64_t stride = short_stride(s.n);
  double log_z = 0;
  if (!ScaledSums(s, stride, scratch).logsum(mu, log_z, take)) {
    mu.clear(s.n, s.m);
    best.restart();
    log_z = logsum_logs(s, mu, stride, take);
  }
  best.matches(found);
  return log_z;
}

// Draws alignments and calls take(path) for each. False if no alignment is allowed.
template <class Take>
bool sample(const Scores& s, int64_t draws, Random& random, const Take& take) {
  Table f(s.n, s.m, -kInfinity);
  const double log_z = forward_logs(s, f);
  if (log_z == -kInfinity) return false;
  std::vector<double> rows(s.n + 1), weights(s.m);
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t j = 0; j < s.m; ++j) rows[i] += std::exp(f(kM, i, j) + s.end(i, j) - log_z);
  rows.back() = std::exp(s.empty - log_z);
  Path path;
  for (int64_t k = 0; k < draws; ++k) {
    path.clear();
    int64_t i = random.choose(rows.data(), s.n + 1);
    if (i < s.n) {
      for (int64_t j = 0; j < s.m; ++j) weights[j] = std::exp(f(kM, i, j) + s.end(i, j) - log_z);
      int64_t j = random.choose(weights.data(), s.m);
      State state = kM;
      while (true) {
        path.push_back({state, static_cast<int32_t>(i), static_cast<int32_t>(j)});
        std::array<double, 4> ways{-kInfinity, -kInfinity, -kInfinity, -kInfinity};  // from M, X, Y; begin
        int64_t i0 = i, j0 = j;
        if (state == kM) {
          --i0, --j0;
          for (int q = 0; q < 3; ++q) ways[q] = s.pair[i][j] + f(static_cast<State>(q), i0, j0);
          ways[3] = s.pair[i][j] + s.begin(i, j);
        } else if (state == kX) {
          --i0;
          ways[0] = s.x_open[i] + f(kM, i0, j);
          ways[1] = s.x_extend[i] + f(kX, i0, j);
        } else {
          --j0;
          ways[0] = s.y_open[j] + f(kM, i, j0);
          ways[1] = s.y_open[j] + f(kX, i, j0);
          ways[2] = s.y_extend[j] + f(kY, i, j0);
        }
        for (double& way : ways) way = std::exp(way - f(state, i, j));
        const int64_t way = random.choose(ways.data(), 4);
        if (way == 3) break;
        state = static_cast<State>(way);
        i = i0;
        j = j0;
      }
    }
    std::reverse(path.begin(), path.end());
    take(path);
  }
  return true;
}

// ---- the best alignments --------------------------------------------------------------------------------------------

// Scores of beginning and ending at row i, as the kernel expects them: a number for the row and one for each column.
class Ends {
 public:
  explicit Ends(const Scores& s)
      : s_(s),
        begin_(s.shorter ? static_cast<size_t>(s.m) : 0, 0.0),
        end_(s.shorter ? static_cast<size_t>(s.m) : 0, 0.0) {}
  void of_row(int64_t i, AlignmentRow& row) {
    row.begin_x = s_.begin_x[i];
    row.end_x = s_.end_x[i];
    row.begin_y = s_.begin_y;
    row.end_y = s_.end_y;
    if (!s_.shorter) return;
    for (int64_t j = 0; j < s_.m; ++j) {
      begin_[j] = s_.begin_y[j] + (s_.leads_x(i, j) ? s_.lead_x[i] : s_.lead_y[j]);
      end_[j] = s_.end_y[j] + (s_.trails_x(i, j) ? s_.trail_x[i] : s_.trail_y[j]);
    }
    row.begin_y = begin_.data();
    row.end_y = end_.data();
  }

 private:
  const Scores& s_;
  std::vector<double> begin_, end_;
};

inline void gaps_of_row(const Scores& s, int64_t i, int64_t first, AlignmentRow& row) {
  row.pair = s.pair[i] + first;
  row.x_open = s.x_open[i];
  row.x_extend = s.x_extend[i];
  row.y_open = s.y_open + first;
  row.y_extend = s.y_extend + first;
}

inline void states_of_row(Rows& rows, int64_t above, int64_t here, AlignmentRow& row) {
  row.m_above = rows(kM, above);
  row.x_above = rows(kX, above);
  row.y_above = rows(kY, above);
  row.m_here = rows(kM, here);
  row.x_here = rows(kX, here);
  row.y_here = rows(kY, here);
}

struct Cell {
  int64_t i, j;
};

// The score of the best alignment in linear memory. `last`, unless null, is set to its last match ({-1, -1}: no
// matches).
inline double best_score(const Scores& s, Scratch& scratch, Cell* last = nullptr) {
  Scratch::Frame frame(scratch);
  Rows rows(2, s.m, scratch);
  rows.clear(1);
  Ends ends(s);
  AlignmentRow row{};
  row.m = s.m;
  double best = s.empty;
  if (last) *last = {-1, -1};
  for (int64_t i = 0; i < s.n; ++i) {
    gaps_of_row(s, i, 0, row);
    ends.of_row(i, row);
    states_of_row(rows, (i + 1) % 2, i % 2, row);
    const double top = loops().alignment_best_row(row);
    if (!(top > best)) continue;
    best = top;
    if (!last) continue;
    for (int64_t j = 0; j < s.m; ++j)
      if (row.m_here[j] + (row.end_x + row.end_y[j]) == top) *last = {i, j};
  }
  return best;
}

// Paths between given cells when tables of all cells would be too large. Splits at the middle row that an optimal path
// crosses (Hirschberg 1975; Myers and Miller 1988).
class Divider {
 public:
  Divider(const Scores& s, Scratch& scratch) : s_(s), scratch_(scratch) {}

  // The best path that ends with a match of this cell, from its first match on.
  void before(Cell last, Path& path) {
    const Cell first = first_match(last);
    path.push_back({kM, static_cast<int32_t>(first.i), static_cast<int32_t>(first.j)});
    between({kM, first}, {kM, last}, path);
  }

 private:
  static constexpr int64_t kCells = 1 << 18;  // per table
  struct Point {
    State state;
    Cell cell;
  };

  // Best score from each cell of one row, columns first .. last, to `goal`. Rows are computed from the row of `goal`
  // upwards.
  void follow(int64_t i, int64_t first, const Point& goal, Rows& rows, int64_t below, int64_t here) {
    const bool end = i == goal.cell.i;
    for (int64_t j = goal.cell.j; j >= first; --j) {
      const int64_t k = j - first;
      const bool final = j == goal.cell.j;
      const double next = end || final ? -kInfinity : s_.pair[i + 1][j + 1] + rows(kM, below)[k + 1];
      const double to_x = end ? -kInfinity : rows(kX, below)[k];
      const double to_y = final ? -kInfinity : rows(kY, here)[k + 1];
      const double open_y = final ? -kInfinity : s_.y_open[j + 1] + to_y;
      double m = std::max({next, open_y, end ? -kInfinity : s_.x_open[i + 1] + to_x});
      double x = std::max({next, open_y, end ? -kInfinity : s_.x_extend[i + 1] + to_x});
      double y = std::max(next, final ? -kInfinity : s_.y_extend[j + 1] + to_y);
      if (end && final) (goal.state == kM ? m : goal.state == kX ? x : y) = 0;
      rows(kM, here)[k] = m;
      rows(kX, here)[k] = x;
      rows(kY, here)[k] = y;
    }
  }

  Cell first_match(Cell last) {
    Scratch::Frame frame(scratch_);
    Rows rows(2, last.j + 1, scratch_);
    Ends ends(s_);
    AlignmentRow row{};
    double best = -kInfinity;
    Cell first = last;
    for (int64_t i = last.i; i >= 0; --i) {
      follow(i, 0, {kM, last}, rows, (i + 1) % 2, i % 2);
      ends.of_row(i, row);
      for (int64_t j = 0; j <= last.j; ++j) {
        const double value = row.begin_x + row.begin_y[j] + s_.pair[i][j] + rows(kM, i % 2)[j];
        if (value > best) {
          best = value;
          first = {i, j};
        }
      }
    }
    return first;
  }

  // The rows of the trellis of paths that begin at `from`; row r is stored at place(r).
  template <class Place>
  void lead(const Point& from, int64_t to_row, int64_t to_column, Rows& rows, const Place& place) {
    const int64_t width = to_column - from.cell.j + 1;
    const int64_t top = place(from.cell.i);
    rows.clear(top);
    rows(from.state, top)[0] = 0;
    for (int64_t k = 1; k < width; ++k)
      rows(kY, top)[k] = std::max(std::max(rows(kM, top)[k - 1], rows(kX, top)[k - 1]) + s_.y_open[from.cell.j + k],
                                  rows(kY, top)[k - 1] + s_.y_extend[from.cell.j + k]);
    AlignmentRow row{};
    row.m = width;
    row.begin_x = row.end_x = -kInfinity;
    row.begin_y = row.end_y = s_.y_open;  // any values: the -inf of the row rules them out
    for (int64_t i = from.cell.i + 1; i <= to_row; ++i) {
      gaps_of_row(s_, i, from.cell.j, row);
      states_of_row(rows, place(i - 1), place(i), row);
      loops().alignment_best_row(row);
    }
  }

  // Appends the steps after `from`, up to `to`.
  void between(const Point& from, const Point& to, Path& path) {
    const int64_t height = to.cell.i - from.cell.i + 1, width = to.cell.j - from.cell.j + 1;
    if (height <= 2 || height <= kCells / width) return by_table(from, to, path);
    Point middle{kM, {from.cell.i + height / 2, 0}};
    {
      Scratch::Frame frame(scratch_);
      Rows rows(2, width, scratch_), after(2, width, scratch_);
      lead(from, middle.cell.i, to.cell.j, rows, [](int64_t i) { return i % 2; });
      for (int64_t i = to.cell.i; i >= middle.cell.i; --i) follow(i, from.cell.j, to, after, (i + 1) % 2, i % 2);
      double best = -kInfinity;
      for (const State state : {kM, kX, kY})
        for (int64_t k = 0; k < width; ++k) {
          const double value = rows(state, middle.cell.i % 2)[k] + after(state, middle.cell.i % 2)[k];
          if (!(value > best)) continue;
          best = value;
          middle = {state, {middle.cell.i, from.cell.j + k}};
        }
    }
    between(from, middle, path);
    between(middle, to, path);
  }

  void by_table(const Point& from, const Point& to, Path& path) {
    Scratch::Frame frame(scratch_);
    Rows rows(to.cell.i - from.cell.i + 1, to.cell.j - from.cell.j + 1, scratch_);
    lead(from, to.cell.i, to.cell.j, rows, [&](int64_t i) { return i - from.cell.i; });
    const auto value = [&](State state, int64_t i, int64_t j) {
      return i < from.cell.i || j < from.cell.j ? -kInfinity : rows(state, i - from.cell.i)[j - from.cell.j];
    };
    const auto length = static_cast<std::ptrdiff_t>(path.size());
    Point now = to;
    while (now.state != from.state || now.cell.i != from.cell.i || now.cell.j != from.cell.j) {
      const auto [i, j] = now.cell;
      path.push_back({now.state, static_cast<int32_t>(i), static_cast<int32_t>(j)});
      const int64_t i0 = now.state == kY ? i : i - 1, j0 = now.state == kX ? j : j - 1;
      double ways[3];
      for (const State state : {kM, kX, kY}) {
        ways[state] = value(state, i0, j0);
        if (now.state == kX) ways[state] += state == kM ? s_.x_open[i] : state == kX ? s_.x_extend[i] : -kInfinity;
        if (now.state == kY) ways[state] += state == kY ? s_.y_extend[j] : s_.y_open[j];
      }
      const auto way = static_cast<State>(std::max_element(ways, ways + 3) - ways);
      if (ways[way] == -kInfinity) throw InputError("an alignment has no path.");
      now = {way, {i0, j0}};
    }
    std::reverse(path.begin() + length, path.end());
  }

  const Scores& s_;
  Scratch& scratch_;
};

// The best score up to every state of every cell.
inline void fill_best(const Scores& s, Rows& rows) {
  rows.clear(0);
  Ends ends(s);
  AlignmentRow row{};
  row.m = s.m;
  for (int64_t i = 0; i < s.n; ++i) {
    gaps_of_row(s, i, 0, row);
    ends.of_row(i, row);
    states_of_row(rows, i, i + 1, row);
    loops().alignment_best_row(row);
  }
}

// The trellis as a graph for LazyKbest: a node for every state of every cell, and a root.
class Graph {
 public:
  static constexpr int64_t kBegins = 3;  // edge into a match that begins an alignment; 0 to 2: after M, X, Y

  Graph(const Scores& s, Scratch& scratch) : s_(s), rows_(s.n + 1, s.m, scratch) {
    fill_best(s, rows_);
    best_ = s.empty;
    best_edge_ = nothing();
    for (int64_t i = 0; i < s.n; ++i)
      for (int64_t j = 0; j < s.m; ++j)
        if (const double value = best_of(kM, i, j) + s.end(i, j); value > best_) {
          best_ = value;
          best_edge_ = 4 * root() + i * s.m + j;
        }
  }

  struct Place {
    State state;
    int64_t i, j;
  };
  int64_t root() const { return 3 * s_.n * s_.m; }
  int64_t nodes() const { return root() + 1; }
  bool is_empty(int64_t e) const { return e == nothing(); }
  Place place(int64_t v) const { return {static_cast<State>(v % 3), v / 3 / s_.m, v / 3 % s_.m}; }
  int64_t node(State state, int64_t i, int64_t j) const { return 3 * (i * s_.m + j) + state; }

  double best(int64_t v) const {
    if (v == root()) return best_;
    const Place p = place(v);
    return best_of(p.state, p.i, p.j);
  }
  int64_t best_edge(int64_t v) const {
    if (v == root()) return best_edge_;
    int64_t found = -1;
    double top = -kInfinity;
    each_edge(v, [&](int64_t e) {
      const double value = score(e) + (tail_count(e) > 0 ? best(tail(e, 0)) : 0.0);
      if (value > top) {
        top = value;
        found = e;
      }
    });
    return found;
  }
  template <class Visit>
  void each_edge(int64_t v, const Visit& visit) const {
    if (v == root()) {
      visit(nothing());
      for (int64_t cell = 0; cell < s_.n * s_.m; ++cell) visit(4 * root() + cell);
      return;
    }
    const Place p = place(v);
    if (p.state == kM) visit(4 * v + kBegins);
    if (p.state == kM ? p.i == 0 || p.j == 0 : p.state == kX ? p.i == 0 : p.j == 0) return;
    visit(4 * v + kM);
    visit(4 * v + kX);
    if (p.state != kX) visit(4 * v + kY);
  }
  int64_t tail_count(int64_t e) const { return is_empty(e) || (e < 4 * root() && e % 4 == kBegins) ? 0 : 1; }
  int64_t tail(int64_t e, int64_t) const {
    if (e >= 4 * root()) return 3 * (e - 4 * root()) + kM;
    const Place p = place(e / 4);
    return node(static_cast<State>(e % 4), p.state == kY ? p.i : p.i - 1, p.state == kX ? p.j : p.j - 1);
  }
  double score(int64_t e) const {
    if (is_empty(e)) return s_.empty;
    if (e >= 4 * root()) return s_.end((e - 4 * root()) / s_.m, (e - 4 * root()) % s_.m);
    const Place p = place(e / 4);
    switch (p.state) {
      case kM: return s_.pair[p.i][p.j] + (e % 4 == kBegins ? s_.begin(p.i, p.j) : 0.0);
      case kX: return e % 4 == kM ? s_.x_open[p.i] : s_.x_extend[p.i];
      default: return e % 4 == kY ? s_.y_extend[p.j] : s_.y_open[p.j];
    }
  }
  // Adds the step of an edge, unless it is an edge of the root.
  void step(int64_t e, Path& path) const {
    if (e >= 4 * root()) return;
    const Place p = place(e / 4);
    path.push_back({p.state, static_cast<int32_t>(p.i), static_cast<int32_t>(p.j)});
  }

 private:
  int64_t nothing() const { return 4 * root() + s_.n * s_.m; }  // the edge of the alignment without matches
  double best_of(State state, int64_t i, int64_t j) const { return const_cast<Rows&>(rows_)(state, i + 1)[j]; }

  const Scores& s_;
  Rows rows_;
  double best_;
  int64_t best_edge_;
};

// The best alignment; its score is -inf if there is none.
inline double best(const Scores& s, Path& path, Scratch& scratch) {
  constexpr int64_t kCells = 1 << 20;  // in tables of all cells, 24 bytes each
  path.clear();
  if (s.n <= kCells / s.m) {
    Scratch::Frame frame(scratch);
    const Graph graph(s, scratch);
    int64_t v = graph.root();
    if (graph.best(v) == -kInfinity) return -kInfinity;
    const double value = graph.best(v);
    while (true) {
      const int64_t e = graph.best_edge(v);
      graph.step(e, path);
      if (graph.tail_count(e) == 0) break;
      v = graph.tail(e, 0);
    }
    std::reverse(path.begin(), path.end());
    return value;
  }
  Cell last;
  const double value = best_score(s, scratch, &last);
  if (last.i >= 0) Divider(s, scratch).before(last, path);
  return value;
}

// The k best alignments; take(score, path) is called for each, best first.
template <class Take>
void kbest(const Scores& s, int64_t k, Scratch& scratch, const Take& take) {
  Scratch::Frame frame(scratch);
  const Graph graph(s, scratch);
  if (graph.best(graph.root()) == -kInfinity) return;
  LazyKbest<Graph> lazy(graph);
  Path path;
  for (int64_t rank = 0; rank < k && lazy.request(graph.root(), rank); ++rank) {
    path.clear();
    lazy.each_edge(graph.root(), rank, [&](int64_t e) { graph.step(e, path); });
    std::reverse(path.begin(), path.end());
    take(lazy.value(graph.root(), rank), path);
  }
}

// The best alignment at each total cost; `c` contains integer costs in the form of scores. Every state of every cell
// keeps the best path at each cost that a path to it can have. take(cost, score, path) is called in order of cost.
template <class Take>
void best_by_cost(const Scores& s, const Scores& c, const Take& take) {
  struct Counted {
    int64_t cost;
    double value;
    int32_t way;     // the state before; 3: the alignment begins here
    int32_t before;  // index of the path to that state
  };
  using List = std::vector<Counted>;
  List merged;
  // Both lists ascend in cost. Of equal costs, the better one stays.
  const auto add = [&](List& to, const List& from, double cost, double value, int way) {
    if (!(value > -kInfinity) || from.empty()) return;
    const auto more = static_cast<int64_t>(cost);
    merged.clear();
    size_t a = 0, b = 0;
    while (a < to.size() || b < from.size()) {
      const int64_t of_a = a < to.size() ? to[a].cost : std::numeric_limits<int64_t>::max();
      const int64_t of_b = b < from.size() ? from[b].cost + more : std::numeric_limits<int64_t>::max();
      const Counted other{of_b, b < from.size() ? from[b].value + value : 0.0, way, static_cast<int32_t>(b)};
      if (of_a < of_b) {
        merged.push_back(to[a++]);
      } else if (of_b < of_a) {
        merged.push_back(other);
        ++b;
      } else {
        merged.push_back(other.value > to[a].value ? other : to[a]);
        ++a, ++b;
      }
    }
    std::swap(to, merged);
  };
  std::vector<List> lists(3 * s.n * s.m);
  const auto list = [&](int state, int64_t i, int64_t j) -> List& { return lists[3 * (i * s.m + j) + state]; };
  const List nothing{{0, 0.0, 3, 0}};
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t j = 0; j < s.m; ++j) {
      const double pair = s.pair[i][j], pair_cost = c.pair[i][j];
      add(list(kM, i, j), nothing, pair_cost + c.begin(i, j), pair + s.begin(i, j), 3);
      if (i > 0 && j > 0)
        for (const State q : {kM, kX, kY}) add(list(kM, i, j), list(q, i - 1, j - 1), pair_cost, pair, q);
      if (i > 0) {
        add(list(kX, i, j), list(kM, i - 1, j), c.x_open[i], s.x_open[i], kM);
        add(list(kX, i, j), list(kX, i - 1, j), c.x_extend[i], s.x_extend[i], kX);
      }
      if (j > 0) {
        add(list(kY, i, j), list(kM, i, j - 1), c.y_open[j], s.y_open[j], kM);
        add(list(kY, i, j), list(kX, i, j - 1), c.y_open[j], s.y_open[j], kX);
        add(list(kY, i, j), list(kY, i, j - 1), c.y_extend[j], s.y_extend[j], kY);
      }
    }
  struct Last {
    double value;
    int64_t cell;  // -1: no matches
    size_t which;
  };
  std::map<int64_t, Last> found;
  const auto offer = [&](int64_t cost, const Last& last) {
    if (!(last.value > -kInfinity)) return;
    const auto [place, fresh] = found.emplace(cost, last);
    if (!fresh && last.value > place->second.value) place->second = last;
  };
  offer(static_cast<int64_t>(c.empty), {s.empty, -1, 0});
  for (int64_t cell = 0; cell < s.n * s.m; ++cell) {
    const List& ends = lists[3 * cell + kM];
    const double value = s.end(cell / s.m, cell % s.m);
    if (!(value > -kInfinity)) continue;
    const auto more = static_cast<int64_t>(c.end(cell / s.m, cell % s.m));
    for (size_t k = 0; k < ends.size(); ++k) offer(ends[k].cost + more, {ends[k].value + value, cell, k});
  }
  Path path;
  for (const auto& [cost, last] : found) {
    path.clear();
    if (last.cell >= 0) {
      Step now{kM, static_cast<int32_t>(last.cell / s.m), static_cast<int32_t>(last.cell % s.m)};
      size_t which = last.which;
      while (true) {
        path.push_back(now);
        const Counted& here = list(now.state, now.i, now.j)[which];
        if (here.way == 3) break;
        which = static_cast<size_t>(here.before);
        now = {static_cast<State>(here.way), now.state == kY ? now.i : now.i - 1, now.state == kX ? now.j : now.j - 1};
      }
      std::reverse(path.begin(), path.end());
    }
    take(cost, last.value, path);
  }
}

}  // namespace margrave::alignment
