// Loopy belief propagation over the arcs of non-projective trees and pairs of arcs (001, appendix A; Smith and Eisner
// 2008).
//
// Every arc a is a binary variable with the score s_a. A pair p of arcs (a, b) is a soft factor with the score s_p if
// both are present. One hard factor, TREE, connects all arcs. Messages are log-odds. With the messages r_pa of the
// pairs to the arcs,
//
//   total_a = s_a + sum_p r_pa                             the message to TREE from arc a
//   x_pa    = logit mu_a - r_pa                            the message to pair p from arc a
//   r_pb   <- log(1 + exp(x_pa + s_p)) - log(1 + exp(x_pa))
//
// where mu are the marginals of trees with the scores `total`, by the matrix-tree theorem in O(n^3). They include
// TREE's message to arc a, logit mu_a - total_a. At a fixed point z_a = mu_a, and z_p is the probability of both arcs
// in the distribution of the pair, which is proportional to exp(x_pa y_a + x_pb y_b + s_p y_a y_b), and
//
//   log Z ~ sum_a s_a z_a + sum_p s_p z_p + H_tree - sum_p I_p
//         = log Z_tree(total) + sum_p log [(1 + e^x_pa + e^x_pb + e^(x_pa + x_pb + s_p)) (1 - mu_a) (1 - mu_b)]
//
// with H_tree = log Z_tree(total) - <total, z>. The second form is stationary in all messages. So an error of size e in
// them causes an error of size e^2 in log Z, and its derivative by the scores is z.
//
// The code uses odds R = e^r, O = mu / (1 - mu) and S = e^s instead of logs, so a message takes one division:
//
//   R_pb <- (R_pa + O_a S_p) / (R_pa + O_a)
//
// T is double, or Wide if scores or log-odds are so large that the products would overflow a double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "engines/arborescence.h"
#include "engines/wide.h"

namespace margrave::tree {

struct ArcPair {
  int32_t first, second;  // arc numbers
};

// The arcs of a sentence, by word, then by head, and pairs of them.
struct ArcGraph {
  int n;
  bool single_root;
  const Arc* arcs;
  int64_t arc_count;
  const ArcPair* pairs;
  int64_t pair_count;
};

struct MessageSettings {
  int sweeps = 100;         // at most
  double tolerance = 1e-6;  // of the largest relative change of a message in odds
  double damping = 0;       // the share of the old message that is kept
};

struct MessageResult {
  double value = kForbidden;  // the Bethe approximation of log Z
  bool converged = true;
  int sweeps = 0;
};

class ArcMessages {
 public:
  // theta: arcs, then pairs; finite or -inf. mu: their pseudo-marginals, in the same order. start: the messages of an
  // earlier run, as returned by `messages`, pair by pair; empty: all are 0.
  MessageResult run(const ArcGraph& graph, const double* theta, const MessageSettings& settings, double* mu,
                    const std::vector<double>& start = {}) {
    MessageResult result;
    is_wide_ = !attempt<double>(graph, theta, settings, mu, start, result);
    if (is_wide_) attempt<Wide>(graph, theta, settings, mu, start, result);
    return result;
  }

  // The messages of a pair to its arcs at the end of the last run, as logs.
  struct Logs {
    double to_first, to_second;
  };
  Logs messages(int64_t pair) const {
    const size_t p = pair;
    return is_wide_ ? Logs{log(wide_.to_first[p]), log(wide_.to_second[p])}
                    : Logs{log(plain_.to_first[p]), log(plain_.to_second[p])};
  }

 private:
  // Products of three numbers up to e^230 stay within the range of a double.
  static constexpr double kLargest = 115;
  // If the largest change did not fall to this share within kPatience sweeps, damping increases.
  static constexpr double kProgress = 0.5, kMostDamping = 0.9;
  static constexpr int kPatience = 10;

  template <class T>
  struct Memory {
    std::vector<T> to_first, to_second, pair, odds;  // R, R, S, O
    std::vector<T> product;                          // of the messages to an arc
  };

  template <class T>
  static T exp(double x) {
    if constexpr (std::is_same_v<T, Wide>)
      return Wide::exp(x);
    else
      return std::exp(x);
  }
  template <class T>
  static bool zero(T x) {
    if constexpr (std::is_same_v<T, Wide>)
      return x.zero();
    else
      return x == 0;
  }
  template <class T>
  static double log(T x) {
    if constexpr (std::is_same_v<T, Wide>)
      return x.zero() ? kForbidden : x.log();
    else
      return std::log(x);
  }
  template <class T>
  static double value(T x) {
    if constexpr (std::is_same_v<T, Wide>)
      return x.value();
    else
      return x;
  }
  template <class T>
  static bool log_less(T x, T y) {
    if constexpr (std::is_same_v<T, Wide>)
      return log(x) < log(y);
    else
      return x < y;
  }

  template <class T>
  Memory<T>& memory() {
    if constexpr (std::is_same_v<T, Wide>)
      return wide_;
    else
      return plain_;
  }

  // The message of an earlier run, unless it forbade something: that may be allowed now.
  template <class T>
  static T first_message(double log) {
    return std::fabs(log) <= kLargest ? exp<T>(log) : T(1.0);
  }

  // Returns false if the numbers exceed the range of T.
  template <class T>
  bool attempt(const ArcGraph& graph, const double* theta, const MessageSettings& settings, double* mu,
               const std::vector<double>& start, MessageResult& result) {
    Memory<T>& m = memory<T>();
    const double* const of_pairs = theta + graph.arc_count;
    m.to_first.assign(graph.pair_count, T(1.0));
    m.to_second.assign(graph.pair_count, T(1.0));
    for (size_t p = 0; 2 * p < start.size(); ++p) {
      m.to_first[p] = first_message<T>(start[2 * p]);
      m.to_second[p] = first_message<T>(start[2 * p + 1]);
    }
    m.pair.resize(graph.pair_count);
    m.odds.resize(graph.arc_count);
    for (int64_t p = 0; p < graph.pair_count; ++p) {
      if (!std::is_same_v<T, Wide> && std::fabs(of_pairs[p]) > kLargest && of_pairs[p] != kForbidden) return false;
      m.pair[p] = exp<T>(of_pairs[p]);
    }
    result = {};
    double damping = settings.damping, last = kInfinite;
    for (result.sweeps = 0;;) {
      if (!ask_tree<T>(graph, theta, result.value)) return false;
      if (result.value == kForbidden) {
        std::fill(mu, mu + graph.arc_count + graph.pair_count, 0.0);
        return true;
      }
      if (result.sweeps == settings.sweeps || graph.pair_count == 0) break;
      ++result.sweeps;
      const double change = sweep<T>(graph, damping);
      result.converged = change <= settings.tolerance;
      if (result.converged) {
        if (!ask_tree<T>(graph, theta, result.value)) return false;
        break;
      }
      if (result.sweeps % kPatience == 0) {
        if (change > kProgress * last) damping = std::min(kMostDamping, 0.5 * (1 + damping));
        last = change;
      }
    }
    result.value += read<T>(graph, mu);
    return true;
  }

  // Computes totals, their log Z, and log-odds and odds of all arcs. False if they exceed the range of T.
  template <class T>
  bool ask_tree(const ArcGraph& graph, const double* theta, double& log_z) {
    const int n = graph.n;
    Memory<T>& m = memory<T>();
    total_.assign(theta, theta + graph.arc_count);
    m.product.assign(graph.arc_count, T(1.0));
    const auto add = [&](int32_t arc, T message) {
      T& product = m.product[arc];
      product = product * message;
      if constexpr (std::is_same_v<T, double>) {
        if (product > 1e-100 && product < 1e100) return;
        total_[arc] += std::log(product);
        product = 1;
      }
    };
    for (int64_t p = 0; p < graph.pair_count; ++p) {
      add(graph.pairs[p].first, m.to_first[p]);
      add(graph.pairs[p].second, m.to_second[p]);
    }
    every_.assign(static_cast<size_t>(n) * static_cast<size_t>(n), kForbidden);
    for (int64_t a = 0; a < graph.arc_count; ++a) {
      if (total_[a] > kForbidden) total_[a] += log(m.product[a]);
      every_[part(n, graph.arcs[a].head, graph.arcs[a].word)] = total_[a];
    }
    odds_.resize(static_cast<size_t>(n) * static_cast<size_t>(n));
    log_z = log_odds(n, every_.data(), graph.single_root, workspace_, odds_.data());
    logit_.resize(graph.arc_count);
    for (int64_t a = 0; a < graph.arc_count; ++a) {
      logit_[a] = odds_[part(n, graph.arcs[a].head, graph.arcs[a].word)];
      if (!std::is_same_v<T, Wide> && std::isfinite(logit_[a]) && std::fabs(logit_[a]) > kLargest) return false;
      if (logit_[a] < kInfinite) m.odds[a] = exp<T>(logit_[a]);
    }
    return true;
  }

  bool certain(int32_t arc) const { return logit_[arc] == kInfinite; }

  // Updates all messages of pairs. Returns the largest relative change.
  template <class T>
  double sweep(const ArcGraph& graph, double damping) {
    Memory<T>& m = memory<T>();
    double largest = 0;
    const T keep(damping), take(1 - damping);
    const auto update = [&](T& message, T next) {
      if (!zero(message) || !zero(next)) {
        const bool grows = log_less(message, next);
        const double ratio = grows ? value(message / next) : value(next / message);
        largest = std::max(largest, 1 - ratio);
      }
      message = damping == 0 ? next : keep * message + take * next;
    };
    for (int64_t p = 0; p < graph.pair_count; ++p) {
      const auto [a, b] = graph.pairs[p];
      const T to_a = m.to_first[p], to_b = m.to_second[p], pair = m.pair[p];
      update(m.to_second[p], certain(b) && !certain(a) ? T(1.0) : message<T>(a, to_a, pair));
      update(m.to_first[p], certain(a) ? T(1.0) : message<T>(b, to_b, pair));
    }
    return largest;
  }

  // The message to the other arc, where this one received `sent`. An arc in every tree passes on the score of the pair.
  // Messages to such an arc have no effect, unless both arcs are in every tree: then the second arc gets the score.
  template <class T>
  T message(int32_t arc, T sent, T pair) {
    if (certain(arc)) return pair;
    const T odds = memory<T>().odds[arc];
    return zero(odds) ? T(1.0) : (sent + odds * pair) / (sent + odds);
  }

  // Pseudo-marginals, and the sum over the pairs of the last term of log Z.
  template <class T>
  double read(const ArcGraph& graph, double* mu) {
    Memory<T>& m = memory<T>();
    for (int64_t a = 0; a < graph.arc_count; ++a)
      mu[a] = logit_[a] < 0 ? std::exp(logit_[a]) / (1 + std::exp(logit_[a])) : 1 / (1 + std::exp(-logit_[a]));
    double sum = 0;
    double* const of_pairs = mu + graph.arc_count;
    for (int64_t p = 0; p < graph.pair_count; ++p) {
      const auto [a, b] = graph.pairs[p];
      if (certain(a) || certain(b)) {
        of_pairs[p] = certain(a) ? mu[b] : mu[a];
        if (zero(m.pair[p])) of_pairs[p] = 0;
        continue;
      }
      const T odds_a = m.odds[a], odds_b = m.odds[b];
      if (zero(odds_a) || zero(odds_b)) {
        of_pairs[p] = 0;
        continue;
      }
      const T x_a = odds_a / m.to_first[p], x_b = odds_b / m.to_second[p];
      const T both = x_a * x_b * m.pair[p];
      const T all = T(1.0) + x_a + x_b + both;
      of_pairs[p] = value(both / all);
      sum += log(all / ((T(1.0) + odds_a) * (T(1.0) + odds_b)));
    }
    return sum;
  }

  static constexpr double kInfinite = -kForbidden;

  Workspace workspace_;
  bool is_wide_ = false;
  Memory<double> plain_;
  Memory<Wide> wide_;
  std::vector<double> total_, every_, odds_, logit_;
};

}  // namespace margrave::tree
