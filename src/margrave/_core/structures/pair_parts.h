// The order of the parts of an alignment of two sequences, and how their scores become those of the engine.
//
// Tied parts belong to letters: every pair of letters; then for x and for y, opening and extending a gap, by letter.
// Untied parts belong to places: every pair of positions, and gaps by position. Linear gaps have one part per letter
// instead of two. Global and semi-global alignments have the same parts once more for the gaps before the first and
// after the last match. Tied parts of local and semi-global alignments do not determine where these begin. So there are
// parts for the positions of the first match in x and in y.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engines/alignment.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"

namespace margrave {

enum class AlignmentMode { kGlobal, kLocal, kSemiGlobal };

// Two sequences of letters. Letters are not read if parts are untied.
struct SequencePair {
  const int32_t *x, *y;
  int64_t n, m;
};

class PairParts {
 public:
  PairParts(AlignmentMode mode, bool affine, bool tied, int64_t letters, bool begins)
      : mode_(mode), affine_(affine), tied_(tied), letters_(letters), begins_(begins && tied && !global()) {}

  bool global() const { return mode_ == AlignmentMode::kGlobal; }
  bool local() const { return mode_ == AlignmentMode::kLocal; }
  bool semi_global() const { return mode_ == AlignmentMode::kSemiGlobal; }
  bool tied() const { return tied_; }
  bool affine() const { return affine_; }
  AlignmentMode mode() const { return mode_; }
  int64_t letters() const { return letters_; }

  int64_t pairs(int64_t n, int64_t m) const { return tied_ ? letters_ * letters_ : n * m; }
  int64_t count(int64_t n, int64_t m) const { return first_begin(n, m) + (begins_ ? n + m : 0); }

  // Where parts begin; k is added for letter (or position) k.
  enum Kind { kXOpen, kXExtend, kYOpen, kYExtend };
  int64_t gap(int64_t n, int64_t m, Kind kind, bool end) const {
    const int64_t x = tied_ ? letters_ : n, y = tied_ ? letters_ : m;
    const int64_t first = pairs(n, m) + (end ? kinds() * (x + y) : 0);
    if (!affine_) return kind == kXOpen || kind == kXExtend ? first : first + x;
    switch (kind) {
      case kXOpen: return first;
      case kXExtend: return first + x;
      case kYOpen: return first + 2 * x;
      default: return first + 2 * x + y;
    }
  }
  int64_t first_begin(int64_t n, int64_t m) const {
    const int64_t x = tied_ ? letters_ : n, y = tied_ ? letters_ : m;
    return pairs(n, m) + kinds() * (x + y) * (local() ? 1 : 2);
  }

  alignment::Scores scores(const SequencePair& p, const double* theta, Scratch& scratch) const {
    alignment::Scores s;
    s.n = p.n;
    s.m = p.m;
    s.pair.resize(p.n);
    s.row.resize(p.n);
    s.distinct_rows = tied_ ? std::min(letters_, p.n) : p.n;
    if (tied_) {
      double* memory = nullptr;
      each_row(p, [&](int64_t i, int64_t row, int64_t rows, bool fresh) {
        if (!memory) memory = scratch.take(rows * p.m);
        double* to = memory + row * p.m;
        s.row[i] = row;
        if (fresh)
          for (int64_t j = 0; j < p.m; ++j) to[j] = theta[int64_t{p.x[i]} * letters_ + p.y[j]];
        s.pair[i] = to;
      });
    } else {
      for (int64_t i = 0; i < p.n; ++i) {
        s.pair[i] = theta + i * p.m;
        s.row[i] = i;
      }
    }
    s.x_open = by_letter(p, theta, kXOpen, false, scratch);
    s.x_extend = by_letter(p, theta, kXExtend, false, scratch);
    s.y_open = by_letter(p, theta, kYOpen, false, scratch);
    s.y_extend = by_letter(p, theta, kYExtend, false, scratch);
    double* zeros = scratch.take(std::max(p.n, p.m));
    std::fill_n(zeros, std::max(p.n, p.m), 0.0);
    s.begin_x = s.begin_y = s.end_x = s.end_y = s.lead_x = s.lead_y = s.trail_x = s.trail_y = zeros;
    if (begins_) {
      s.begin_x = theta + first_begin(p.n, p.m);
      s.begin_y = s.begin_x + p.n;
    }
    if (local()) return s;
    s.lead_x = led(p, theta, true, scratch);
    s.lead_y = led(p, theta, false, scratch);
    s.trail_x = trailed(p, theta, true, scratch);
    s.trail_y = trailed(p, theta, false, scratch);
    s.shorter = semi_global();
    if (global()) {
      s.begin_x = s.lead_x;
      s.begin_y = s.lead_y;
      s.end_x = s.trail_x;
      s.end_y = s.trail_y;
      s.empty = s.lead_x[p.n] + s.lead_y[p.m];
    }
    return s;
  }

  // Memory for posteriors, all 0. `add` then adds them to the parts.
  alignment::Posteriors posteriors(const SequencePair& p, double* mu, Scratch& scratch) const {
    alignment::Posteriors q{};
    q.pair.resize(p.n);
    if (tied_) {
      double* memory = nullptr;
      each_row(p, [&](int64_t i, int64_t row, int64_t rows, bool fresh) {
        if (!memory) memory = scratch.take(rows * p.m);
        q.pair[i] = memory + row * p.m;
        if (fresh) std::fill_n(q.pair[i], p.m, 0.0);
      });
    } else {
      for (int64_t i = 0; i < p.n; ++i) q.pair[i] = mu + i * p.m;
    }
    set_gaps(p, q, scratch);
    return q;
  }
  // The same with one row for the pairs of all letters of x, which whoever reads a row sets to 0 again.
  alignment::Posteriors posteriors_by_row(const SequencePair& p, Scratch& scratch) const {
    alignment::Posteriors q{};
    double* row = scratch.take(p.m);
    std::fill_n(row, p.m, 0.0);
    q.pair.assign(p.n, row);
    set_gaps(p, q, scratch);
    return q;
  }

 private:
  static void set_gaps(const SequencePair& p, alignment::Posteriors& q, Scratch& scratch) {
    double* memory = scratch.take(6 * (p.n + p.m));
    std::fill_n(memory, 6 * (p.n + p.m), 0.0);
    for (double** each : {&q.x_open, &q.x_extend, &q.begin_x, &q.end_x, &q.lead_x, &q.trail_x}) {
      *each = memory;
      memory += p.n;
    }
    for (double** each : {&q.y_open, &q.y_extend, &q.begin_y, &q.end_y, &q.lead_y, &q.trail_y}) {
      *each = memory;
      memory += p.m;
    }
  }

 public:
  void add(const SequencePair& p, const alignment::Posteriors& q, double* mu) const {
    if (tied_)
      each_row(p, [&](int64_t i, int64_t, int64_t, bool fresh) {
        if (!fresh) return;
        for (int64_t j = 0; j < p.m; ++j) mu[int64_t{p.x[i]} * letters_ + p.y[j]] += q.pair[i][j];
      });
    const auto add_gap = [&](Kind kind, bool end, const double* values) {
      const bool of_x = kind == kXOpen || kind == kXExtend;
      double* to = mu + gap(p.n, p.m, kind, end);
      for (int64_t k = 0; k < (of_x ? p.n : p.m); ++k) to[index(p, of_x, k)] += values[k];
    };
    add_gap(kXOpen, false, q.x_open);
    add_gap(kXExtend, false, q.x_extend);
    add_gap(kYOpen, false, q.y_open);
    add_gap(kYExtend, false, q.y_extend);
    if (begins_) {
      double* to = mu + first_begin(p.n, p.m);
      for (int64_t i = 0; i < p.n; ++i) to[i] += q.begin_x[i];
      for (int64_t j = 0; j < p.m; ++j) to[p.n + j] += q.begin_y[j];
    }
    if (local()) return;
    add_ends(p, true, global() ? q.begin_x : q.lead_x, global() ? q.end_x : q.trail_x, global() ? q.empty : 0, mu);
    add_ends(p, false, global() ? q.begin_y : q.lead_y, global() ? q.end_y : q.trail_y, global() ? q.empty : 0, mu);
  }

  // The parts of an alignment, in the order of its steps.
  void to_parts(const SequencePair& p, const alignment::Path& path, Output& y) const {
    using namespace alignment;
    const auto push = [&](int64_t part) { y.push_back(static_cast<int32_t>(part)); };
    const auto run = [&](bool of_x, int64_t first, int64_t last, bool end) {  // letters first .. last - 1
      for (int64_t k = first; k < last; ++k) {
        const Kind kind = of_x ? (k == first ? kXOpen : kXExtend) : (k == first ? kYOpen : kYExtend);
        push(gap(p.n, p.m, kind, end) + index(p, of_x, k));
      }
    };
    if (path.empty()) {
      if (global()) {
        run(true, 0, p.n, true);
        run(false, 0, p.m, true);
      }
      return;
    }
    const int64_t i0 = path.front().i, j0 = path.front().j, i1 = path.back().i, j1 = path.back().j;
    if (global() || (!local() && i0 <= j0)) run(true, 0, i0, true);
    if (global() || (!local() && i0 > j0)) run(false, 0, j0, true);
    if (begins_) {
      push(first_begin(p.n, p.m) + i0);
      push(first_begin(p.n, p.m) + p.n + j0);
    }
    State before = kM;
    for (const Step& step : path) {
      if (step.state == kM)
        push(tied_ ? int64_t{p.x[step.i]} * letters_ + p.y[step.j] : step.i * p.m + step.j);
      else if (step.state == kX)
        push(gap(p.n, p.m, before == kX ? kXExtend : kXOpen, false) + index(p, true, step.i));
      else
        push(gap(p.n, p.m, before == kY ? kYExtend : kYOpen, false) + index(p, false, step.j));
      before = step.state;
    }
    const bool x_trails = p.n - i1 <= p.m - j1;
    if (global() || (!local() && x_trails)) run(true, i1 + 1, p.n, true);
    if (global() || (!local() && !x_trails)) run(false, j1 + 1, p.m, true);
  }

  // The matches of an output. Tied parts must be in the order of its steps.
  void matches(const SequencePair& p, const int32_t* parts, int64_t size, std::vector<int32_t>& found) const {
    const auto match = [&](int64_t i, int64_t j) {
      if (i >= p.n || j >= p.m) throw InputError("these parts are not an alignment.");
      found.push_back(static_cast<int32_t>(i));
      found.push_back(static_cast<int32_t>(j));
    };
    const int64_t of_pairs = pairs(p.n, p.m), of_begins = first_begin(p.n, p.m), all = count(p.n, p.m);
    const int64_t width = kinds() * (tied_ ? letters_ : p.n), both = width + kinds() * (tied_ ? letters_ : p.m);
    int64_t i = 0, j = 0;
    for (int64_t k = 0; k < size; ++k) {
      const int64_t part = parts[k];
      if (part < 0 || part >= all)
        throw InputError("there is no part " + std::to_string(part) + " of " + std::to_string(all) + ".");
      if (!tied_) {
        if (part < of_pairs) match(part / p.m, part % p.m);
      } else if (part < of_pairs) {
        match(i++, j++);
      } else if (part >= of_begins) {
        (part - of_begins < p.n ? i : j) = part - of_begins - (part - of_begins < p.n ? 0 : p.n);
      } else {
        ++((part - of_pairs) % both < width ? i : j);
      }
    }
  }

 private:
  int64_t kinds() const { return affine_ ? 2 : 1; }
  int64_t index(const SequencePair& p, bool of_x, int64_t k) const { return tied_ ? (of_x ? p.x : p.y)[k] : k; }

  // Rows of pairs with the same letter of x are equal. Calls visit(i, index of the distinct row, upper bound of their
  // number, whether it is the first with this letter).
  template <class Visit>
  void each_row(const SequencePair& p, const Visit& visit) const {
    thread_local std::vector<int32_t> row_of;
    row_of.assign(letters_, -1);
    int32_t rows = 0;
    for (int64_t i = 0; i < p.n; ++i) {
      int32_t& row = row_of[p.x[i]];
      const bool fresh = row < 0;
      if (fresh) row = rows++;
      visit(i, row, std::min(letters_, p.n), fresh);
    }
  }

  const double* by_letter(const SequencePair& p, const double* theta, Kind kind, bool end, Scratch& scratch) const {
    const double* from = theta + gap(p.n, p.m, kind, end);
    if (!tied_) return from;
    const bool of_x = kind == kXOpen || kind == kXExtend;
    const int64_t length = of_x ? p.n : p.m;
    double* values = scratch.take(length);
    for (int64_t k = 0; k < length; ++k) values[k] = from[index(p, of_x, k)];
    return values;
  }

  // The scores of the first k letters as one gap, for all k.
  const double* led(const SequencePair& p, const double* theta, bool of_x, Scratch& scratch) const {
    const int64_t length = of_x ? p.n : p.m;
    const double* open = theta + gap(p.n, p.m, of_x ? kXOpen : kYOpen, true);
    const double* extend = theta + gap(p.n, p.m, of_x ? kXExtend : kYExtend, true);
    double* sums = scratch.take(length + 1);
    sums[0] = 0;
    for (int64_t k = 0; k < length; ++k) sums[k + 1] = sums[k] + (k == 0 ? open : extend)[index(p, of_x, k)];
    return sums;
  }
  // The scores of the letters after letter k as one gap.
  const double* trailed(const SequencePair& p, const double* theta, bool of_x, Scratch& scratch) const {
    const int64_t length = of_x ? p.n : p.m;
    const double* open = theta + gap(p.n, p.m, of_x ? kXOpen : kYOpen, true);
    const double* extend = theta + gap(p.n, p.m, of_x ? kXExtend : kYExtend, true);
    double* sums = scratch.take(length);
    sums[length - 1] = 0;
    double after = 0;
    for (int64_t k = length - 2; k >= 0; --k) {
      sums[k] = open[index(p, of_x, k + 1)] + after;
      after += extend[index(p, of_x, k + 1)];
    }
    return sums;
  }
  // The adjoint of both. lead[k]: letter k is the first one after the gap at the beginning. trail[k]: it is the last
  // one before the gap at the end. whole: all letters are one gap.
  void add_ends(const SequencePair& p, bool of_x, const double* lead, const double* trail, double whole,
                double* mu) const {
    const int64_t length = of_x ? p.n : p.m;
    double* open = mu + gap(p.n, p.m, of_x ? kXOpen : kYOpen, true);
    double* extend = mu + gap(p.n, p.m, of_x ? kXExtend : kYExtend, true);
    double longer = whole;  // the gap extends beyond letter k
    for (int64_t k = length - 1; k >= 0; --k) {
      (k == 0 ? open : extend)[index(p, of_x, k)] += longer;
      longer += lead[k];
    }
    double begun = 0;  // the gap began before letter k
    for (int64_t k = 1; k < length; ++k) {
      open[index(p, of_x, k)] += trail[k - 1];
      extend[index(p, of_x, k)] += begun;
      begun += trail[k - 1];
    }
  }

  AlignmentMode mode_;
  bool affine_, tied_;
  int64_t letters_;
  bool begins_;
};

}  // namespace margrave
