// Labeled segmentations (semi-Markov chains; Sarawagi and Cohen 2004): Viterbi, forward-backward, k best, samples, best
// by cost. The parts of a sequence of n tokens are its segments (engines/segments.h), then the pairs of neighboring
// labels: once for the whole sequence (tied), or once for each boundary between two tokens (untied).
//
// A segmentation is a path through two kinds of states. in(e, l): a segment of label l ends at e; begin(s, l): one
// begins at s. Pairs of labels lead from in(s, k) to begin(s, l), and segments from begin(s, l) to in(e, l). So every
// operation takes n (labels^2 + sum of the longest lengths) steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engines/hypergraph.h"
#include "engines/lazy_kbest.h"
#include "engines/segments.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "simd/loops.h"

namespace margrave {

class Segmentations {
 public:
  Segmentations(Segments segments, bool tied) : segments_(std::move(segments)), tied_(tied) {}

  const Segments& segments() const { return segments_; }
  bool tied() const { return tied_; }
  int64_t labels() const { return segments_.labels(); }
  int64_t parts(int64_t n) const { return segments_.count(n) + tables(n) * pairs(); }
  // The pairs of neighboring labels at the boundary s of n tokens: (left, right), row by row.
  int64_t table(int64_t n, int64_t s) const { return segments_.count(n) + (tied_ ? 0 : (s - 1) * pairs()); }

  template <typename Visit>
  void each_segment(int64_t n, const Visit& visit) const {
    for (int64_t e = 1; e <= n; ++e)
      for (int64_t l = 0; l < labels(); ++l)
        for (int64_t m = 1; m <= segments_.lengths(e, l); ++m) visit(segments_.first(e, l) + m - 1, e - m, e, l);
  }

  // Turns segments, from last to first, into an output: sorted, followed by the pairs of neighbors.
  void finish(int64_t n, Output& y) const {
    std::sort(y.begin(), y.end());
    add_pairs(n, y);
  }
  void add_pairs(int64_t n, Output& y) const {
    const size_t count = y.size();
    if (count == 0) return;
    Segments::Segment before = segments_.segment(y[0]);
    for (size_t k = 1; k < count; ++k) {
      const Segments::Segment after = segments_.segment(y[k]);
      y.push_back(static_cast<int32_t>(table(n, after.start) + before.label * labels() + after.label));
      before = after;
    }
  }

  double argmax(int64_t n, const double* theta, Output& y, Scratch& scratch) const {
    const Best best = viterbi(n, theta, scratch);
    y.clear();
    const int64_t last = std::max_element(best.in_at(n), best.in_at(n) + labels()) - best.in_at(n);
    if (best.in_at(n)[last] == -kInfinity) return -kInfinity;
    int64_t l = last;
    for (int64_t e = n; e > 0;) {
      const auto m = static_cast<int64_t>(best.length[e * labels() + l]);
      y.push_back(static_cast<int32_t>(segments_.first(e, l) + m - 1));
      e -= m;
      if (e > 0) l = static_cast<int64_t>(best.before[e * labels() + l]);
    }
    finish(n, y);
    return best.in_at(n)[last];
  }

  double logsum(int64_t n, const double* theta, double* mu, Scratch& scratch) const {
    double log_z = 0;
    if (scaled(n, theta, mu, &log_z, scratch)) return log_z;
    return log_space(n, theta, mu, scratch);
  }

  // The best output at each cost, in tables with one entry per cost.
  void argmax_by_cost(int64_t n, const double* theta, const double* delta, std::vector<CostedOutput>& ys,
                      Scratch& scratch) const {
    const int64_t L = labels();
    const std::vector<int64_t> costs = whole_costs(delta, parts(n));
    ys.clear();
    const auto [low, high] = cost_range(n, theta, delta, scratch);
    if (low > high) return;  // everything is forbidden
    // Costs of prefixes are between the sums of the smallest and of the largest costs, which both begin at 0.
    const int64_t floor = std::min<int64_t>(low, 0);
    const int64_t width = std::max<int64_t>(high, 0) - floor + 1;
    if (width > kMostCells / (2 * (n + 1) * L))
      throw InputError("argmax_by_cost would need tables of more than " + std::to_string(kMostCells) +
                       " entries for a sequence of " + std::to_string(n) + " tokens: use smaller costs.");
    const auto size = (n + 1) * L * width;
    std::vector<double> in(size, -kInfinity), begin(size, -kInfinity);
    const auto cell = [&](int64_t t, int64_t l) { return static_cast<size_t>((t * L + l) * width); };
    const auto raise = [&](double* to, const double* from, int64_t paid, double score) {
      if (score == -kInfinity) return;
      for (int64_t c = std::max<int64_t>(0, -paid); c < width - std::max<int64_t>(0, paid); ++c)
        to[c + paid] = std::max(to[c + paid], from[c] + score);
    };
    for (int64_t l = 0; l < L; ++l) begin[cell(0, l) + static_cast<size_t>(-floor)] = 0;
    for (int64_t e = 1; e <= n; ++e) {
      for (int64_t l = 0; l < L; ++l)
        for (int64_t m = 1; m <= segments_.lengths(e, l); ++m) {
          const int64_t part = segments_.first(e, l) + m - 1;
          raise(&in[cell(e, l)], &begin[cell(e - m, l)], costs[part], theta[part]);
        }
      for (int64_t q = 0; e < n && q < pairs(); ++q) {
        const int64_t part = table(n, e) + q;
        raise(&begin[cell(e, q % L)], &in[cell(e, q / L)], costs[part], theta[part]);
      }
    }
    for (int64_t c = 0; c < width; ++c) {
      int64_t l = 0;
      for (int64_t k = 1; k < L; ++k)
        if (in[cell(n, k) + static_cast<size_t>(c)] > in[cell(n, l) + static_cast<size_t>(c)]) l = k;
      const double value = in[cell(n, l) + static_cast<size_t>(c)];
      if (value == -kInfinity) continue;
      CostedOutput found{c + floor, value, {}};
      int64_t left = c;
      for (int64_t e = n; e > 0;) {
        const double here = in[cell(e, l) + static_cast<size_t>(left)];
        for (int64_t m = 1;; ++m) {
          const int64_t part = segments_.first(e, l) + m - 1;
          const int64_t from = left - costs[part];
          if (theta[part] == -kInfinity || from < 0 || from >= width) continue;
          if (begin[cell(e - m, l) + static_cast<size_t>(from)] + theta[part] != here) continue;
          found.y.push_back(static_cast<int32_t>(part));
          e -= m;
          left = from;
          break;
        }
        if (e == 0) break;
        const double there = begin[cell(e, l) + static_cast<size_t>(left)];
        for (int64_t k = 0;; ++k) {
          const int64_t part = table(n, e) + k * L + l;
          const int64_t from = left - costs[part];
          if (theta[part] == -kInfinity || from < 0 || from >= width) continue;
          if (in[cell(e, k) + static_cast<size_t>(from)] + theta[part] != there) continue;
          l = k;
          left = from;
          break;
        }
      }
      finish(n, found.y);
      ys.push_back(std::move(found));
    }
  }

  void kbest(int64_t n, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch& scratch) const {
    const Ranked ranked{*this, n, theta, viterbi(n, theta, scratch)};
    const auto add = [&](int64_t edge, Output& y) {
      const int64_t part = ranked.segment_of(edge);
      if (part >= 0) y.push_back(static_cast<int32_t>(part));
    };
    kbest_outputs(ranked, ranked.goal(), k, add, ys);
    for (ScoredOutput& each : ys) finish(n, each.y);
  }

  // Forward once, then backward for every draw.
  void sample_many(int64_t n, const double* theta, Random& random, std::vector<Output>& ys, Scratch& scratch) const {
    const int64_t L = labels();
    const Prefixes prefixes = log_forward(n, theta, scratch);
    const double log_z = log_sum(prefixes.in + n * L, L);
    if (log_z == -kInfinity) throw InputError("every output is forbidden.");
    std::vector<double> weights;
    for (Output& y : ys) {
      y.clear();
      weights.assign(L, 0.0);
      for (int64_t l = 0; l < L; ++l) weights[l] = std::exp(prefixes.in[n * L + l] - log_z);
      int64_t l = random.choose(weights.data(), L);
      for (int64_t e = n; e > 0;) {
        const int64_t first = segments_.first(e, l);
        const int64_t lengths = segments_.lengths(e, l);
        weights.assign(lengths, 0.0);
        for (int64_t m = 1; m <= lengths; ++m)
          weights[m - 1] = std::exp(prefixes.begin[(e - m) * L + l] + theta[first + m - 1] - prefixes.in[e * L + l]);
        const int64_t m = random.choose(weights.data(), lengths) + 1;
        y.push_back(static_cast<int32_t>(first + m - 1));
        e -= m;
        if (e == 0) break;
        weights.assign(L, 0.0);
        for (int64_t k = 0; k < L; ++k)
          weights[k] = std::exp(prefixes.in[e * L + k] + theta[table(n, e) + k * L + l] - prefixes.begin[e * L + l]);
        l = random.choose(weights.data(), L);
      }
      finish(n, y);
    }
  }

  // For untied pairs. A path is Markov in its states; t are the logs of the conditionals of its steps.
  double entropy(int64_t n, const double* mu, double* t) const {
    const int64_t L = labels();
    std::vector<double> begin(n * L, 0.0), in((n + 1) * L, 0.0);
    each_segment(n, [&](int64_t part, int64_t s, int64_t e, int64_t l) {
      begin[s * L + l] += mu[part];
      in[e * L + l] += mu[part];
    });
    double sum = 0;
    const auto step = [&](int64_t part, double from) {
      t[part] = mu[part] > 0 ? std::log(mu[part] / from) : -kInfinity;
      if (mu[part] > 0) sum -= mu[part] * t[part];
    };
    each_segment(n, [&](int64_t part, int64_t s, int64_t, int64_t l) { step(part, s > 0 ? begin[s * L + l] : 1.0); });
    for (int64_t s = 1; s < n; ++s)
      for (int64_t q = 0; q < pairs(); ++q) step(table(n, s) + q, in[s * L + q / L]);
    return sum;
  }

 private:
  static constexpr int64_t kMostCells = 200'000'000;

  int64_t pairs() const { return labels() * labels(); }
  int64_t tables(int64_t n) const { return tied_ ? 1 : n - 1; }

  // The best prefixes, with the length of the last segment and the label before.
  struct Best {
    int64_t labels;
    double* in;      // (n + 1, labels)
    double* begin;   // (n + 1, labels)
    double* length;  // of in
    double* before;  // of begin
    const double* in_at(int64_t e) const { return in + e * labels; }
  };
  Best viterbi(int64_t n, const double* theta, Scratch& scratch) const {
    const int64_t L = labels();
    double* room = scratch.take(4 * (n + 1) * L);
    const int64_t size = (n + 1) * L;
    const Best best{L, room, room + size, room + 2 * size, room + 3 * size};
    std::fill(best.begin, best.begin + L, 0.0);
    std::fill(best.in, best.in + L, -kInfinity);
    for (int64_t e = 1; e <= n; ++e) {
      for (int64_t l = 0; l < L; ++l) {
        const double* of = theta + segments_.first(e, l);
        const double* begin = best.begin + e * L + l;
        const int64_t lengths = segments_.lengths(e, l);
        double top = -kInfinity;
        int64_t choice = 1;
        for (int64_t m = 1; m <= lengths; ++m) {
          const double here = begin[-m * L] + of[m - 1];
          if (here > top) {
            top = here;
            choice = m;
          }
        }
        best.in[e * L + l] = top;
        best.length[e * L + l] = static_cast<double>(choice);
      }
      if (e == n) break;
      const double* of = theta + table(n, e);
      double* begin = best.begin + e * L;
      double* before = best.before + e * L;
      std::fill(begin, begin + L, -kInfinity);
      std::fill(before, before + L, 0.0);
      for (int64_t k = 0; k < L; ++k)
        for (int64_t l = 0; l < L; ++l) {
          const double here = best.in[e * L + k] + of[k * L + l];
          if (here > begin[l]) {
            begin[l] = here;
            before[l] = static_cast<double>(k);
          }
        }
    }
    return best;
  }

  // The states as nodes of a graph for LazyKbest: in(e, l) has one edge per length, begin(s, l) one per label before,
  // and the goal one per last label.
  struct Ranked {
    const Segmentations& of;
    int64_t n;
    const double* theta;
    Best found;

    int64_t L() const { return of.labels(); }
    int64_t width() const { return std::max(of.segments_.most(), L()); }
    int64_t nodes() const { return 2 * (n + 1) * L() + 1; }
    int64_t goal() const { return nodes() - 1; }
    int64_t in(int64_t e, int64_t l) const { return 2 * (e * L() + l); }
    int64_t begin(int64_t s, int64_t l) const { return 2 * (s * L() + l) + 1; }
    double best(int64_t v) const {
      if (v == goal()) return *std::max_element(found.in_at(n), found.in_at(n) + L());
      return v % 2 == 0 ? found.in[v / 2] : found.begin[v / 2];
    }
    int64_t best_edge(int64_t v) const {
      if (v == goal()) return v * width() + (std::max_element(found.in_at(n), found.in_at(n) + L()) - found.in_at(n));
      if (v % 2 == 0) return v * width() + static_cast<int64_t>(found.length[v / 2]) - 1;
      return v * width() + (v / 2 < L() ? 0 : static_cast<int64_t>(found.before[v / 2]));
    }
    template <class Visit>
    void each_edge(int64_t v, const Visit& visit) const {
      int64_t edges = L();
      if (v != goal() && v % 2 == 0) edges = of.segments_.lengths(v / 2 / L(), v / 2 % L());
      if (v != goal() && v % 2 == 1 && v / 2 < L()) edges = 1;  // at the beginning there is no label before
      for (int64_t j = 0; j < edges; ++j) visit(v * width() + j);
    }
    int64_t tail_count(int64_t edge) const {
      const int64_t v = edge / width();
      return v != goal() && v % 2 == 1 && v / 2 < L() ? 0 : 1;
    }
    int64_t tail(int64_t edge, int64_t) const {
      const int64_t v = edge / width();
      const int64_t j = edge % width();
      if (v == goal()) return in(n, j);
      const int64_t t = v / 2 / L();
      return v % 2 == 0 ? begin(t - j - 1, v / 2 % L()) : in(t, j);
    }
    double score(int64_t edge) const {
      const int64_t v = edge / width();
      if (v == goal() || tail_count(edge) == 0) return 0;
      if (v % 2 == 0) return theta[segment_of(edge)];
      return theta[of.table(n, v / 2 / L()) + edge % width() * L() + v / 2 % L()];
    }
    int64_t segment_of(int64_t edge) const {
      const int64_t v = edge / width();
      if (v == goal() || v % 2 == 1) return -1;
      return of.segments_.first(v / 2 / L(), v / 2 % L()) + edge % width();
    }
  };

  // The lowest and the highest cost of an allowed output, and of its prefixes; low > high if there is none.
  std::pair<int64_t, int64_t> cost_range(int64_t n, const double* theta, const double* delta, Scratch& scratch) const {
    const int64_t count = segments_.count(n) + tables(n) * pairs();
    double* costs = scratch.take(count);
    double bounds[2];
    for (const int side : {0, 1}) {
      for (int64_t k = 0; k < count; ++k)
        costs[k] = theta[k] == -kInfinity ? -kInfinity : side == 0 ? -delta[k] : delta[k];
      const Scratch::Frame frame(scratch);
      const Best best = viterbi(n, costs, scratch);
      if (*std::max_element(best.in_at(n), best.in_at(n) + labels()) == -kInfinity) return {1, 0};
      double top = 0;
      for (int64_t k = 0; k < (n + 1) * labels(); ++k) top = std::max(top, best.in[k]);
      for (int64_t k = 0; k < n * labels(); ++k) top = std::max(top, best.begin[k]);
      bounds[side] = top;
    }
    return {-static_cast<int64_t>(bounds[0]), static_cast<int64_t>(bounds[1])};
  }

  static double log_sum(const double* x, int64_t n) {
    const double top = *std::max_element(x, x + n);
    if (top == -kInfinity) return top;
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += std::exp(x[k] - top);
    return top + std::log(sum);
  }

  // The log-sums of all prefixes: in (n + 1, labels), begin (n, labels).
  struct Prefixes {
    double* in;
    double* begin;
  };
  Prefixes log_forward(int64_t n, const double* theta, Scratch& scratch) const {
    const int64_t L = labels();
    const Prefixes sums{scratch.take((n + 1) * L), scratch.take((n + 1) * L)};
    double* terms = scratch.take(std::max(segments_.most(), L));
    std::fill(sums.begin, sums.begin + L, 0.0);
    for (int64_t e = 1; e <= n; ++e) {
      for (int64_t l = 0; l < L; ++l) {
        const double* of = theta + segments_.first(e, l);
        const int64_t lengths = segments_.lengths(e, l);
        for (int64_t m = 1; m <= lengths; ++m) terms[m - 1] = sums.begin[(e - m) * L + l] + of[m - 1];
        sums.in[e * L + l] = log_sum(terms, lengths);
      }
      for (int64_t l = 0; e < n && l < L; ++l) {
        const double* of = theta + table(n, e);
        for (int64_t k = 0; k < L; ++k) terms[k] = sums.in[e * L + k] + of[k * L + l];
        sums.begin[e * L + l] = log_sum(terms, L);
      }
    }
    return sums;
  }

  // Forward-backward in log space: exact for any scores.
  double log_space(int64_t n, const double* theta, double* mu, Scratch& scratch) const {
    const int64_t L = labels();
    std::fill(mu, mu + parts(n), 0.0);
    const Prefixes prefixes = log_forward(n, theta, scratch);
    const double log_z = log_sum(prefixes.in + n * L, L);
    if (log_z == -kInfinity) return log_z;
    // Log-sums, (n + 1, labels). after: of what follows a segment that ends at e. start: of what follows begin(s, l).
    double* after = scratch.take((n + 1) * L);
    double* start = scratch.take((n + 1) * L);
    std::fill(start, start + (n + 1) * L, -kInfinity);
    std::fill(after + n * L, after + (n + 1) * L, 0.0);
    for (int64_t e = n; e > 0; --e) {
      if (e < n) {
        const double* of = theta + table(n, e);
        double* mu_of = mu + table(n, e);
        for (int64_t k = 0; k < L; ++k) {
          double sum = -kInfinity;
          for (int64_t l = 0; l < L; ++l) {
            const double rest = of[k * L + l] + start[e * L + l];
            if (rest == -kInfinity) continue;
            sum = log_add(sum, rest);
            mu_of[k * L + l] += std::exp(prefixes.in[e * L + k] + rest - log_z);
          }
          after[e * L + k] = sum;
        }
      }
      for (int64_t l = 0; l < L; ++l) {
        const int64_t first = segments_.first(e, l);
        for (int64_t m = 1; m <= segments_.lengths(e, l); ++m) {
          const double rest = theta[first + m - 1] + after[e * L + l];
          if (rest == -kInfinity) continue;
          double& sum = start[(e - m) * L + l];
          sum = log_add(sum, rest);
          mu[first + m - 1] = std::exp(prefixes.begin[(e - m) * L + l] + rest - log_z);
        }
      }
    }
    return log_z;
  }

  // Forward-backward in scaled probability space. Every token is in one segment of an output, so subtracting c_t for
  // each token t of a segment changes all outputs equally. c_t is the best score of a segment of this token alone.
  // in(e, .) is divided by its sum, total(e). begin(s, .) has the scale of s, so a segment from s to e is multiplied by
  // 1 / (total(s + 1) ... total(e - 1)). Returns false if a value leaves the range where this is exact; the example is
  // then repeated in log space. Backward values are bounded by the inverses of forward ones. If one underflows, so does
  // its marginal.
  bool scaled(int64_t n, const double* theta, double* mu, double* log_z, Scratch& scratch) const {
    const int64_t L = labels();
    const int64_t count = segments_.count(n);
    const int64_t most = std::min(segments_.most(), n);
    // Scores minus c_t (in the memory of mu), and their exponentials.
    double* sums = scratch.take(n + 1);  // of c_t over the tokens before
    sums[0] = 0;
    for (int64_t e = 1; e <= n; ++e) {
      double top = -kInfinity;
      for (int64_t l = 0; l < L; ++l) top = std::max(top, theta[segments_.first(e, l)]);
      sums[e] = sums[e - 1] + (top == -kInfinity ? 0.0 : top);
    }
    for (int64_t e = 1; e <= n; ++e) {
      const double* from = sums + e;
      for (int64_t l = 0; l < L; ++l) {
        const int64_t first = segments_.first(e, l);
        const int64_t lengths = segments_.lengths(e, l);
        for (int64_t m = 1; m <= lengths; ++m) mu[first + m - 1] = theta[first + m - 1] - (*from - from[-m]);
      }
    }
    ChainTable weights{scratch.take(count), nullptr, 0, 0, false};
    loops().exp_range(count, mu, &weights);
    double* x = weights.forward;
    ChainTable moves{scratch.take(std::max<int64_t>(tables(n), 1) * pairs()), nullptr, 0, 0, false};
    if (n > 1) {
      loops().exp_range(tables(n) * pairs(), theta + count, &moves);
      if (moves.top == -kInfinity) return false;
    }
    if (weights.top == -kInfinity || weights.range + moves.range > kScaledRange) return false;
    if (std::fabs(weights.top) > kLargestStep || std::fabs(weights.top + moves.top) > kLargestStep) return false;
    const double step = std::exp(weights.top + moves.top);  // factor of each segment but the first, with its pair

    // begin is stored by label and backwards, i.e. in order of length.
    double* in = scratch.take((n + 1) * L);
    double* begin = scratch.take(L * (n + 1));
    double* total = scratch.take(n + 1);
    double* scale = scratch.take(most + 1);  // by length, for a segment that ends at e
    double* row = scratch.take(L);
    std::fill(begin, begin + L * (n + 1), 0.0);
    for (int64_t l = 0; l < L; ++l) begin[l * (n + 1) + n] = std::exp(weights.top);
    std::fill(scale, scale + most + 1, 0.0);
    scale[1] = 1;
    double log_total = 0;
    for (int64_t e = 1; e <= n; ++e) {
      double sum = 0;
      for (int64_t l = 0; l < L; ++l) {
        double* of = x + segments_.first(e, l);
        const double* from = begin + l * (n + 1) + n - e;
        const int64_t lengths = segments_.lengths(e, l);
        double parts[2] = {0, 0};
        int64_t m = 1;
        for (; m + 1 <= lengths; m += 2)
          for (int64_t k = 0; k < 2; ++k) {
            of[m + k - 1] *= scale[m + k];
            parts[k] += of[m + k - 1] * from[m + k];
          }
        if (m <= lengths) {
          of[m - 1] *= scale[m];
          parts[0] += of[m - 1] * from[m];
        }
        in[e * L + l] = parts[0] + parts[1];
        sum += in[e * L + l];
      }
      if (!(sum > kSmallestTotal) || sum > kLargestTotal) return false;
      total[e] = sum;
      log_total += std::log(sum);
      for (int64_t l = 0; l < L; ++l) {
        double& of = in[e * L + l];
        of /= sum;
        if (of > 0 && of < kSmallestShare) return false;
      }
      if (e == n) break;
      for (int64_t m = most; m > 1; --m) {
        scale[m] = scale[m - 1] / sum;
        if (scale[m] != 0 && !(scale[m] > kSmallestTotal && scale[m] < kLargestTotal)) return false;
      }
      scale[1] = 1;
      const double* of = moves.forward + (tied_ ? 0 : (e - 1) * pairs());
      std::fill(row, row + L, 0.0);
      for (int64_t k = 0; k < L; ++k) {
        const double left = in[e * L + k] * step;
        for (int64_t l = 0; l < L; ++l) row[l] += left * of[k * L + l];
      }
      for (int64_t l = 0; l < L; ++l) {
        if (row[l] > 0 && row[l] < kSmallestShare) return false;
        begin[l * (n + 1) + n - e] = row[l];
      }
    }
    *log_z = log_total + sums[n];

    // start is stored like begin.
    double* start = scratch.take(L * (n + 1));
    double* after = scratch.take(L);
    std::fill(start, start + L * (n + 1), 0.0);
    std::fill(mu + count, mu + parts(n), 0.0);
    std::fill(after, after + L, 1.0);
    for (int64_t e = n; e > 0; --e) {
      if (e < n) {
        const double* of = moves.forward + (tied_ ? 0 : (e - 1) * pairs());
        double* mu_of = mu + table(n, e);
        for (int64_t l = 0; l < L; ++l) {
          const int64_t k = l * (n + 1) + n - e;
          row[l] = begin[k] > 0 ? start[k] : 0.0;
        }
        for (int64_t k = 0; k < L; ++k) {
          const double left = in[e * L + k];
          double sum = 0;
          for (int64_t l = 0; l < L; ++l) {
            mu_of[k * L + l] += left * row[l];
            sum += of[k * L + l] * row[l];
          }
          after[k] = left > 0 ? sum * step : 0.0;
        }
      }
      for (int64_t l = 0; l < L; ++l) {
        const int64_t first = segments_.first(e, l);
        const int64_t lengths = segments_.lengths(e, l);
        double* of = mu + first;
        const double right = after[l] / total[e];
        if (right == 0) {
          std::fill(of, of + lengths, 0.0);
          continue;
        }
        const double* weight = x + first;
        const double* from = begin + l * (n + 1) + n - e;
        double* to = start + l * (n + 1) + n - e;
        for (int64_t m = 1; m <= lengths; ++m) {
          const double rest = weight[m - 1] * right;
          of[m - 1] = from[m] * rest;
          to[m] += rest;
        }
      }
    }
    const int64_t all = n > 1 ? tables(n) * pairs() : 0;
    for (int64_t q = 0; q < all; ++q) mu[count + q] *= moves.forward[q] * step;
    return true;
  }

  // The limits of scaled space: for the sums of the segments that end at one position and products of a few of them,
  // for the shares of labels in them, and for the log factor of each segment. The product of a share, a weight
  // (kScaledRange) and a scale does not underflow.
  static constexpr double kSmallestTotal = 1e-50;
  static constexpr double kLargestTotal = 1e50;
  static constexpr double kSmallestShare = 1e-150;
  static constexpr double kLargestStep = 100.0;

  Segments segments_;
  bool tied_;
};

}  // namespace margrave
