// A quadratic program over all blocks of dual variables together, warm-started: the optimization over S in Algorithm 1
// of 003, step 10, variant (a).
//
//   maximize  h'a - 1/2 a'Ga - sum_i q_i/2 (sum_{k in i} a_k)^2    over a >= 0, sum_{k in i} a_k <= cap_i
//
// with cap and q as in block_qp.h. Blocks are coupled through G, so solving them one after another converges slowly.
// Here all variables with mass move at once. With a finite cap, its unused rest is an additional variable, without
// slope and curvature. One variable with mass of each such block is its pivot: it pays for the gains of the others. The
// other variables with mass are then unconstrained. The Cholesky factor of their matrix is updated as variables enter
// and leave. A variable that enters an optimum changes few others, so few steps follow.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "simd/loops.h"

namespace margrave {

// U with U'U = A, for a matrix A that grows at its end and loses rows anywhere.
class GrowingCholesky {
 public:
  size_t size() const { return size_; }
  void clear() { size_ = 0; }

  // x <- inverse of U' times x
  void forward(double* x) const {
    for (size_t j = 0; j < size_; ++j) {
      x[j] /= at(j, j);
      loops().add_scaled(row(j) + j + 1, -x[j], x + j + 1, count(j));
    }
  }
  // x <- inverse of U times x
  void backward(double* x) const {
    for (size_t j = size_; j-- > 0;) x[j] = (x[j] - loops().dot(row(j) + j + 1, x + j + 1, count(j))) / at(j, j);
  }

  // Appends a row and column to A: `column` is the result of `forward`, `pivot` the square of the last entry.
  void append(const double* column, double pivot) {
    if (size_ == stride_) widen();
    for (size_t j = 0; j < size_; ++j) values_[j * stride_ + size_] = column[j];
    values_[size_ * stride_ + size_] = std::sqrt(pivot);
    ++size_;
  }

  // Subtracts column `from` of the factor from the later column `to`: variable `to` is replaced by the difference.
  void subtract(size_t from, size_t to) {
    for (size_t j = 0; j <= from; ++j) values_[j * stride_ + to] -= values_[j * stride_ + from];
  }

  // Removes this row and column. Rotations make the rest triangular again.
  void remove(size_t gone) {
    for (size_t j = 0; j < gone; ++j) std::copy(row(j) + gone + 1, row(j) + size_, values_.data() + j * stride_ + gone);
    std::vector<double> carried(row(gone), row(gone) + size_);
    for (size_t j = gone + 1; j < size_; ++j) {
      const double* here = row(j);
      double* to = values_.data() + (j - 1) * stride_ - 1;
      const double length = std::hypot(carried[j], here[j]);
      const double c = carried[j] / length, s = here[j] / length;
      for (size_t k = j; k < size_; ++k) {
        const double above = carried[k];
        to[k] = c * above + s * here[k];
        carried[k] = c * here[k] - s * above;
      }
    }
    --size_;
  }

 private:
  const double* row(size_t j) const { return values_.data() + j * stride_; }
  double at(size_t j, size_t k) const { return values_[j * stride_ + k]; }
  int64_t count(size_t j) const { return static_cast<int64_t>(size_ - j - 1); }
  void widen() {
    const size_t stride = 2 * stride_ + 16;
    std::vector<double> wider(stride * stride);
    for (size_t j = 0; j < size_; ++j)
      std::copy(row(j), row(j) + size_, wider.begin() + static_cast<int64_t>(j * stride));
    values_ = std::move(wider);
    stride_ = stride;
  }

  std::vector<double> values_;  // row by row
  size_t stride_ = 0;
  size_t size_ = 0;
};

class JointQP {
 public:
  struct Outcome {
    bool solved;    // false: limit of precision
    double gain;    // of the objective
    int64_t steps;  // each moves all variables; usually one enters or leaves
  };

  // q and cap of every block; `poll` is called now and then, and may throw.
  JointQP(
      const std::vector<double>& q, const std::vector<double>& cap, std::function<void()> poll = [] {})
      : blocks_(q.size()), poll_(std::move(poll)) {
    for (size_t i = 0; i < q.size(); ++i) {
      blocks_[i].q = q[i];
      blocks_[i].cap = blocks_[i].rest = cap[i];
      if (cap[i] < kInfinity) blocks_[i].pivot = rest_of(static_cast<int64_t>(i));
    }
  }

  int64_t size() const { return size_; }                                     // number of variables
  int64_t slots() const { return static_cast<int64_t>(variables_.size()); }  // the largest number so far
  bool live(int64_t k) const { return at(k).block >= 0; }
  double mass(int64_t k) const { return k >= 0 ? at(k).mass : block_of(k).rest; }
  const std::vector<int64_t>& members(int64_t i) const { return blocks_[i].members; }

  // Adds a variable to a block and returns its number. Its inner products follow.
  int64_t add(int64_t i, double mass) {
    const int64_t k = take_number();
    at(k) = {i, mass, -1};
    blocks_[i].members.push_back(k);
    ++size_;
    return k;
  }
  // Sets the inner products of a variable with itself and with all others, by number.
  void set_products(int64_t k, const double* products) {
    for (int64_t l = 0; l < slots(); ++l)
      if (live(l)) set(k, l, products[l]);
  }

  // Removes a variable without mass.
  void drop(int64_t k) {
    release(k);
    Block& block = block_of(k);
    block.members.erase(std::find(block.members.begin(), block.members.end(), k));
    at(k).block = -1;
    numbers_.push_back(k);
    --size_;
  }

  // After adding variables with mass: finds the pivots and the factor. False on failure.
  bool factorize(std::vector<double>& slopes, double rounding) {
    slope_ = slopes.data();
    rounding_ = rounding;
    for (size_t i = 0; i < blocks_.size(); ++i) choose_pivot(static_cast<int64_t>(i));
    for (int64_t k = 0; k < slots(); ++k)
      if (live(k) && mass(k) > 0 && pivot(k) != k && !enter(k)) return false;
    return true;
  }

  // Improves the masses until no slope allows a gain above its block's `tol` per unit of mass. Updates the slopes.
  Outcome solve(std::vector<double>& slopes, const std::vector<double>& tol, double rounding) {
    const std::vector<double> slopes_before = slopes, before = masses();
    slope_ = slopes.data();
    tol_ = tol.data();
    rounding_ = rounding;
    steps_ = 0;
    const bool solved = climb();
    double gain = 0;  // of a quadratic function, by the mean of its slopes
    for (int64_t k = 0; k < slots(); ++k) {
      const auto n = static_cast<size_t>(k);
      if (live(k)) gain += 0.5 * (mass(k) - before[n]) * (slope_[n] + slopes_before[n]);
    }
    return {solved, gain, steps_};
  }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  static constexpr double kDependent = 1e-12;  // relative curvature below which a variable depends on others
  static constexpr double kFlat = 1e5;         // times rounding: a slope that may lead nowhere
  static constexpr double kRounding = 1e-14;   // relative to a cap
  static constexpr int64_t kSteps = 20;        // per variable
  static constexpr int64_t kPoll = 16;         // steps
  static constexpr int64_t kWhole = 3;         // consecutive Newton steps that only rounding can cause

  struct Variable {
    int64_t block = -1;
    double mass = 0;
    int64_t place = -1;  // in the factor
  };
  struct Move {
    int64_t variable;
    double by;
  };
  struct Limit {
    double share = kInfinity;
    int64_t variable = kNone;  // the one that reaches zero there
  };
  struct Block {
    double q = 0;
    double cap = 0;
    double rest = 0;  // unused part of the cap
    int64_t pivot = kNone;
    int64_t place = -1;  // of the rest, in the factor
    int64_t move = -1;   // of the pivot, among the moves
    std::vector<int64_t> members;
  };

  // The rest of block i has the number -1 - i.
  static int64_t rest_of(int64_t i) { return -1 - i; }
  Variable& at(int64_t k) { return variables_[k]; }
  const Variable& at(int64_t k) const { return variables_[k]; }
  int64_t number_of_block(int64_t k) const { return k >= 0 ? at(k).block : -1 - k; }
  Block& block_of(int64_t k) { return blocks_[number_of_block(k)]; }
  const Block& block_of(int64_t k) const { return blocks_[number_of_block(k)]; }
  double& mass_of(int64_t k) { return k >= 0 ? at(k).mass : block_of(k).rest; }
  int64_t& place_of(int64_t k) { return k >= 0 ? at(k).place : block_of(k).place; }
  int64_t place(int64_t k) const { return k >= 0 ? at(k).place : block_of(k).place; }
  int64_t pivot(int64_t k) const { return block_of(k).pivot; }
  double slope(int64_t k) const { return k >= 0 ? slope_[k] : 0.0; }  // 0 also for no pivot
  double reduced(int64_t k) const { return slope(k) - slope(pivot(k)); }

  double entry(int64_t k, int64_t l) const {
    if (k < 0 || l < 0) return 0;
    const double bend = at(k).block == at(l).block ? block_of(k).q : 0.0;
    return gram_[static_cast<size_t>(k) * stride_ + static_cast<size_t>(l)] + bend;
  }
  double reduced_entry(int64_t k, int64_t l) const {
    const int64_t p = pivot(k), o = pivot(l);
    return entry(k, l) - entry(k, o) - entry(p, l) + entry(p, o);
  }
  void set(int64_t k, int64_t l, double value) {
    gram_[static_cast<size_t>(k) * stride_ + static_cast<size_t>(l)] = value;
    gram_[static_cast<size_t>(l) * stride_ + static_cast<size_t>(k)] = value;
  }
  int64_t take_number() {
    if (!numbers_.empty()) {
      const int64_t k = numbers_.back();
      numbers_.pop_back();
      return k;
    }
    const size_t n = variables_.size();
    variables_.emplace_back();
    if (n < stride_) return static_cast<int64_t>(n);
    const size_t stride = 2 * stride_ + 16;
    std::vector<double> wider(stride * stride);
    for (size_t j = 0; j < n; ++j)
      std::copy_n(gram_.begin() + static_cast<int64_t>(j * stride_), n,
                  wider.begin() + static_cast<int64_t>(j * stride));
    gram_ = std::move(wider);
    stride_ = stride;
    return static_cast<int64_t>(n);
  }
  // The rest if it is positive, otherwise the variable with the most mass.
  void choose_pivot(int64_t i) {
    Block& block = blocks_[i];
    if (block.pivot == kNone) return;
    block.pivot = rest_of(i);
    block.rest = block.cap;
    for (const int64_t k : block.members) block.rest -= mass(k);
    if (block.rest > kRounding * block.cap) return;
    block.rest = 0;
    for (const int64_t k : block.members)
      if (mass(k) > mass(block.pivot)) block.pivot = k;
  }
  std::vector<double> masses() const {
    std::vector<double> a;
    for (const Variable& variable : variables_) a.push_back(variable.mass);
    return a;
  }

  bool climb() {
    int64_t whole = 0;  // consecutive unrestricted Newton steps
    for (int64_t step = 0; step < kSteps * (size_ + 10); ++step) {
      if (!stationary()) {
        if (whole == kWhole || (whole == kWhole - 1 && !refactorize())) return false;
        whole = newton() ? whole + 1 : 0;
        continue;
      }
      whole = 0;
      const int64_t best = steepest();
      if (best == kNone) return true;
      if (!enter(best)) return false;
    }
    return false;
  }

  double tolerance(int64_t k) const { return std::max(tol_[number_of_block(k)], rounding_); }
  bool stationary() const {
    return std::all_of(free_.begin(), free_.end(),
                       [&](int64_t k) { return std::fabs(reduced(k)) <= 0.5 * tolerance(k); });
  }

  // The variable outside of the factor with the largest possible gain; kNone if there is none.
  int64_t steepest() const {
    int64_t best = kNone;
    double most = 0;
    const auto offer = [&](int64_t k) {
      if (place(k) >= 0 || pivot(k) == k) return;
      const double left = reduced(k);
      if (left <= tolerance(k) || left <= most) return;
      most = left;
      best = k;
    };
    for (int64_t k = 0; k < slots(); ++k)
      if (live(k)) offer(k);
    for (size_t i = 0; i < blocks_.size(); ++i)
      if (blocks_[i].pivot >= 0) offer(rest_of(static_cast<int64_t>(i)));
    return best;
  }

  // Makes a variable free. If it depends on the free ones, it replaces one of them: mass moves uphill along the
  // direction without curvature until a variable reaches zero. False if the direction is unbounded.
  bool enter(int64_t k) {
    while (!append(k)) {
      const Limit limit = find_flat_moves(k);
      if (limit.share == kInfinity) return false;
      move(limit.share);
      mass_of(limit.variable) = 0;
      if (limit.variable == k) return true;
      if (limit.variable == pivot(k) && first_free(k) == kNone) {
        block_of(k).pivot = k;
        return true;
      }
      release(limit.variable);
    }
    return true;
  }

  // Moves along the direction without curvature. If it has almost no slope, the variable gives away its mass.
  Limit find_flat_moves(int64_t k) {
    factor_.backward(column_.data());
    double uphill = reduced(k), length = 1;
    for (size_t x = 0; x < column_.size(); ++x) {
      uphill -= column_[x] * reduced(free_[x]);
      length += std::fabs(column_[x]);
    }
    const bool down = mass(k) > 0 && uphill <= kFlat * rounding_ * length;
    if (!down)
      for (double& d : column_) d = -d;
    return find_moves(column_, k, down ? -1.0 : 1.0);
  }

  // Adds a variable to the factor. False if it depends on the others; `column_` then has the coefficients.
  bool append(int64_t k) {
    poll_now_and_then();
    const size_t m = free_.size();
    column_.resize(m);
    for (size_t x = 0; x < m; ++x) column_[x] = reduced_entry(free_[x], k);
    factor_.forward(column_.data());
    const int64_t p = pivot(k);
    const double left = reduced_entry(k, k) - loops().dot(column_.data(), column_.data(), static_cast<int64_t>(m));
    if (!(left > kDependent * (entry(k, k) + entry(p, p)))) return false;
    factor_.append(column_.data(), left);
    place_of(k) = static_cast<int64_t>(m);
    free_.push_back(k);
    return true;
  }

  bool refactorize() {
    const std::vector<int64_t> all = std::move(free_);
    free_.clear();
    factor_.clear();
    for (const int64_t k : all) place_of(k) = -1;
    return std::all_of(all.begin(), all.end(), [&](int64_t k) { return pivot(k) == k || enter(k); });
  }

  // Moves towards the optimum over the free variables until one would turn negative. Returns whether it got there.
  bool newton() {
    direction_.resize(free_.size());
    for (size_t x = 0; x < free_.size(); ++x) direction_[x] = reduced(free_[x]);
    factor_.forward(direction_.data());
    factor_.backward(direction_.data());
    const Limit limit = find_moves(direction_, kNone, 0.0);
    move(std::min(limit.share, 1.0));
    if (limit.share >= 1) return true;
    mass_of(limit.variable) = 0;
    release(limit.variable);
    return false;
  }

  void poll_now_and_then() {
    if (++since_poll_ % kPoll == 0) poll_();
  }

  // Moves of the free variables, of `extra` and of the pivots, which compensate for them. Returns how far they can go.
  Limit find_moves(const std::vector<double>& direction, int64_t extra, double by) {
    moves_.clear();
    for (size_t x = 0; x < free_.size(); ++x) moves_.push_back({free_[x], direction[x]});
    if (extra != kNone) moves_.push_back({extra, by});
    const size_t own = moves_.size();
    for (size_t n = 0; n < own; ++n) {
      const int64_t p = pivot(moves_[n].variable);
      if (p == kNone) continue;
      Block& block = block_of(p);
      if (block.move < 0) {
        block.move = static_cast<int64_t>(moves_.size());
        moves_.push_back({p, 0.0});
      }
      moves_[block.move].by -= moves_[n].by;
    }
    for (size_t n = own; n < moves_.size(); ++n) block_of(moves_[n].variable).move = -1;
    Limit limit;
    for (const Move& one : moves_)
      if (one.by < 0 && mass(one.variable) < -limit.share * one.by)
        limit = {mass(one.variable) / -one.by, one.variable};
    return limit;
  }

  void move(double share) {
    ++steps_;
    poll_now_and_then();
    for (const Move& one : moves_) {
      const double by = share * one.by;
      if (by == 0) continue;
      double& mass = mass_of(one.variable);
      mass = std::max(mass + by, 0.0);
      if (one.variable < 0) continue;
      loops().add_scaled(gram_.data() + static_cast<size_t>(one.variable) * stride_, -by, slope_, slots());
      const Block& block = block_of(one.variable);
      if (block.q == 0) continue;
      for (const int64_t k : block.members) slope_[k] -= block.q * by;
    }
  }

  // The free variable of this block that comes first in the factor, except the pivot.
  int64_t first_free(int64_t k) const {
    const int64_t i = number_of_block(k);
    int64_t first = place(rest_of(i)) >= 0 ? rest_of(i) : kNone;
    for (const int64_t l : members(i))
      if (place(l) >= 0 && (first == kNone || place(l) < place(first))) first = l;
    return first;
  }

  // A variable without mass is no longer free. If it is the pivot, the first free one of its block replaces it.
  // Differences with it are then subtracted only from later columns, and the factor stays triangular.
  void release(int64_t k) {
    if (pivot(k) != k) {
      if (place(k) >= 0) remove(k);
      return;
    }
    Block& block = block_of(k);
    const int64_t next = first_free(k), i = number_of_block(k);
    block.pivot = next == kNone ? rest_of(i) : next;
    if (next == kNone) return;
    const auto subtract = [&](int64_t l) {
      if (l != next && place(l) >= 0) factor_.subtract(static_cast<size_t>(place(next)), static_cast<size_t>(place(l)));
    };
    for (const int64_t l : block.members) subtract(l);
    subtract(rest_of(i));
    remove(next);
  }
  void remove(int64_t k) {
    const auto gone = static_cast<size_t>(place(k));
    factor_.remove(gone);
    free_.erase(free_.begin() + static_cast<int64_t>(gone));
    place_of(k) = -1;
    for (size_t x = gone; x < free_.size(); ++x) place_of(free_[x]) = static_cast<int64_t>(x);
  }

  std::vector<Block> blocks_;
  std::vector<Variable> variables_;
  std::vector<int64_t> numbers_;  // available for reuse
  std::vector<double> gram_;      // row by row
  size_t stride_ = 0;
  int64_t size_ = 0;
  std::vector<int64_t> free_;  // in the order of the factor
  GrowingCholesky factor_;
  std::vector<double> column_;
  std::vector<double> direction_;
  std::vector<Move> moves_;
  double* slope_ = nullptr;
  const double* tol_ = nullptr;
  double rounding_ = 0;
  int64_t steps_ = 0;
  std::function<void()> poll_;
  int64_t since_poll_ = 0;
};

}  // namespace margrave
