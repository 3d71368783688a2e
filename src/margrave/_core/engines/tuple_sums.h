// Sums over label sequences of any order above 0: log partition function and marginals by forward-backward over the
// trellis.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "engines/hypergraph.h"
#include "engines/trellis.h"
#include "protocol/checks.h"
#include "simd/loops.h"

namespace margrave {

// The sums of one sequence. theta: by part.
class TupleSums {
 public:
  TupleSums(const Grams& grams, int64_t length, bool tied, const double* theta)
      : grams_(grams), length_(length), tied_(tied), theta_(theta) {}

  // Forward-backward over label tuples in scaled probability space, by the rules of simd/loops.h. False if a value
  // leaves the range where it is exact.
  bool scaled(double* mu, double* log_z) const {
    const int64_t T = length_;
    const int64_t L = grams_.labels();
    const int64_t order = grams_.order();
    const Trellis trellis(grams_, T, tied_, theta_);
    const auto starving = [&](const std::vector<double>& x, double total) {
      return std::any_of(x.begin(), x.end(), [&](double v) { return v > 0 && v < kScaledSmallest * total; });
    };
    // exp of the grams that end at t. Tied ones are computed once per gram length.
    std::vector<std::vector<double>> memory(tied_ ? order + 1 : std::max<int64_t>(T, 1));
    std::vector<ChainTable> tables(memory.size());
    const auto table_at = [&](int64_t t) -> const ChainTable& {
      const size_t which = tied_ ? std::min(t, order) : t;
      if (memory[which].empty()) {
        const int64_t n = grams_.level(grams_.gram_length(t)).size();
        memory[which].resize(n);
        trellis.tuples(t, memory[which].data());
        tables[which].forward = memory[which].data();
        loops().exp_range(n, memory[which].data(), &tables[which]);
      }
      return tables[which];
    };
    const auto last_label = [&](int64_t t) -> const std::vector<int32_t>& {
      return grams_.level(std::min(t + 1, order)).last;
    };
    std::vector<std::vector<double>> emission(T, std::vector<double>(L));
    std::vector<std::vector<double>> alpha(T);
    double shift = 0;
    for (int64_t t = 0; t < T; ++t) {
      ChainTable labels{emission[t].data(), nullptr, 0, 0, false};
      loops().exp_range(L, theta_ + t * L, &labels);
      const ChainTable* table = t > 0 ? &table_at(t) : nullptr;
      if (labels.top == -kInfinity || (table && table->top == -kInfinity)) return false;
      if (labels.range + (table ? table->range : 0.0) > kScaledRange) return false;
      shift += labels.top + (table ? table->top : 0.0);
      std::vector<double>& now = alpha[t];
      now.assign(grams_.states(t), t == 0 ? 1.0 : 0.0);
      if (t > 0) {
        const Grams::Level& level = grams_.level(grams_.gram_length(t));
        loops().tuples_forward(grams_.states(t - 1), level.outgoing_begin.data(), level.first_target.data(),
                               table->forward, alpha[t - 1].data(), now.data());
      }
      double total = 0;
      for (size_t s = 0; s < now.size(); ++s) total += now[s] *= emission[t][last_label(t)[s]];
      if (!(total > kScaledSmallest) || starving(now, total)) return false;
      for (double& a : now) a /= total;
      for (double& e : emission[t]) e /= total;  // factor in the backward pass
      shift += std::log(total);
    }
    *log_z = shift;

    std::fill(mu, mu + parts(), 0.0);
    std::vector<double> beta(grams_.states(T - 1), 1.0);
    std::vector<std::vector<double>> pairs(order + 2);  // by gram length: expected counts, before multiplication by
                                                        // weights
    for (int64_t t = T - 1;; --t) {
      double total = 0;
      for (size_t s = 0; s < beta.size(); ++s) {
        mu[t * L + last_label(t)[s]] += alpha[t][s] * beta[s];
        total += beta[s] *= emission[t][last_label(t)[s]];
      }
      if (t == 0) break;
      if (starving(beta, total)) return false;
      const int64_t m = grams_.gram_length(t);
      const Grams::Level& level = grams_.level(m);
      pairs[m].resize(level.size(), 0.0);
      std::vector<double> before(grams_.states(t - 1));
      loops().tuples_backward(grams_.states(t - 1), level.outgoing_begin.data(), level.first_target.data(),
                              table_at(t).forward, beta.data(), alpha[t - 1].data(), before.data(), pairs[m].data());
      beta = std::move(before);
      if (!tied_ || t <= order) {  // no further position has grams of this length or of this table
        for (size_t e = 0; e < pairs[m].size(); ++e) pairs[m][e] *= table_at(t).forward[e];
        add_posteriors(m, std::move(pairs[m]), mu + T * L + (tied_ ? 0 : (t - 1) * grams_.parts()));
        pairs[m].clear();
      }
    }
    return true;
  }

  // Forward-backward in log space: exact for any scores and any order.
  double exact(double* mu) const {
    const int64_t T = length_;
    const int64_t L = grams_.labels();
    const Trellis trellis(grams_, T, tied_, theta_);
    std::vector<std::vector<double>> alpha;
    trellis.forward(alpha);
    const double log_z = Trellis::log_sum(alpha.back());
    std::fill(mu, mu + parts(), 0.0);
    if (log_z == -kInfinity) return log_z;
    std::vector<double> beta(grams_.states(T - 1), 0.0);
    for (int64_t t = T - 1; t >= 0; --t) {
      const int64_t m = grams_.gram_length(t);
      const Grams::Level& level = grams_.level(m);
      double* pairs = mu + T * L + (tied_ || t == 0 ? 0 : (t - 1) * grams_.parts());
      std::vector<double> before(t > 0 ? static_cast<size_t>(grams_.states(t - 1)) : 0, -kInfinity);
      std::vector<double> posterior(level.size(), 0.0);
      for (int64_t e = 0; e < level.size(); ++e) {
        const double after = beta[grams_.target(m, e)];
        const double score = trellis.edge(t, e);
        if (after == -kInfinity || score == -kInfinity) continue;
        const double from = t > 0 ? alpha[t - 1][trellis.source(t, e)] : 0.0;
        posterior[e] = std::exp(from + score + after - log_z);
        mu[t * L + level.last[e]] += posterior[e];
        if (t > 0) {
          double& sum = before[trellis.source(t, e)];
          sum = log_add(sum, score + after);
        }
      }
      add_posteriors(m, std::move(posterior), pairs);
      beta = std::move(before);
    }
    return log_z;
  }

 private:
  int64_t parts() const { return length_ * grams_.labels() + (tied_ ? 1 : length_ - 1) * grams_.parts(); }

  // Adds the posterior of each m-gram to the parts of one position: its own, and those of its suffixes.
  void add_posteriors(int64_t m, std::vector<double> posterior, double* parts_of_position) const {
    for (int64_t k = m; k >= 2; --k) {
      const Grams::Level& level = grams_.level(k);
      std::vector<double> shorter(grams_.level(k - 1).size(), 0.0);
      for (int64_t e = 0; e < level.size(); ++e) {
        parts_of_position[level.part + e] += posterior[e];
        shorter[level.suffix[e]] += posterior[e];
      }
      posterior = std::move(shorter);
    }
  }

  const Grams& grams_;
  int64_t length_;
  bool tied_;
  const double* theta_;
};

}  // namespace margrave
