// The best label sequence for each total cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engines/trellis.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"

namespace margrave {

// For first-order chains without costs of transitions, in flat tables. The label determines the cost of a
// position, so every cost of a prefix comes from one cost of the prefix before. False if not applicable.
inline bool best_by_cost_of_positions(const Grams& grams, int64_t T, bool tied, const double* theta,
                                      const std::vector<int64_t>& costs, std::vector<CostedOutput>& ys) {
  constexpr int64_t kMostCells = 20'000'000;
  const int64_t L = grams.labels();
  if (grams.order() != 1 || grams.parts() != L * L) return false;
  if (std::any_of(costs.begin(), costs.begin() + T * L, [](int64_t c) { return c < 0; })) return false;
  if (std::any_of(costs.begin() + T * L, costs.end(), [](int64_t c) { return c != 0; })) return false;
  int64_t most = 0;
  for (int64_t t = 0; t < T; ++t) most += *std::max_element(&costs[t * L], &costs[t * L] + L);
  const int64_t width = (most + 1) * L;
  if (width > kMostCells / T) return false;
  std::vector<double> value(T * width, -kInfinity);  // (position, cost of the prefix, last label)
  std::vector<int32_t> from(T * width, -1);
  std::vector<double> best(L);
  std::vector<int32_t> label(L);
  for (int64_t l = 0; l < L; ++l) value[costs[l] * L + l] = theta[l];
  int64_t reached = *std::max_element(&costs[0], &costs[0] + L);
  for (int64_t t = 1; t < T; ++t) {
    const double* table = theta + T * L + (tied ? 0 : (t - 1) * L * L);
    for (int64_t c = 0; c <= reached; ++c) {
      const double* before = &value[(t - 1) * width + c * L];
      std::fill(best.begin(), best.end(), -kInfinity);
      for (int64_t k = 0; k < L; ++k) {
        if (before[k] == -kInfinity) continue;
        for (int64_t l = 0; l < L; ++l) {
          const double here = before[k] + table[k * L + l];
          if (here > best[l]) {
            best[l] = here;
            label[l] = static_cast<int32_t>(k);
          }
        }
      }
      for (int64_t l = 0; l < L; ++l) {
        if (best[l] == -kInfinity) continue;
        const int64_t cell = t * width + (c + costs[t * L + l]) * L + l;
        value[cell] = best[l] + theta[t * L + l];
        from[cell] = label[l];
      }
    }
    reached += *std::max_element(&costs[t * L], &costs[t * L] + L);
  }
  ys.clear();
  std::vector<int32_t> labels(T);
  for (int64_t c = 0; c <= most; ++c) {
    const double* ends = &value[(T - 1) * width + c * L];
    const int64_t last = std::max_element(ends, ends + L) - ends;
    if (ends[last] == -kInfinity) continue;
    CostedOutput found{c, ends[last], {}};
    int64_t left = c;
    int32_t now = static_cast<int32_t>(last);
    for (int64_t t = T - 1; t >= 0; --t) {
      labels[t] = now;
      const int32_t previous = from[t * width + left * L + now];
      left -= costs[t * L + now];
      now = previous;
    }
    grams.to_parts(labels.data(), T, tied, found.y);
    ys.push_back(std::move(found));
  }
  return true;
}

// Viterbi with a counter: every state has the best prefix at each possible cost. delta and costs: by part, the same
// numbers.
inline void best_by_cost(const Grams& grams, int64_t T, bool tied, const double* theta, const double* delta,
                         const std::vector<int64_t>& costs, std::vector<CostedOutput>& ys) {
  struct AtCost {
    int64_t cost;
    double value;
    int32_t edge;
  };
  if (best_by_cost_of_positions(grams, T, tied, theta, costs, ys)) return;
  const Trellis trellis(grams, T, tied, theta);
  const Trellis counter(grams, T, tied, delta);
  const auto keep_best = [](std::vector<AtCost>& all) {
    std::sort(all.begin(), all.end(),
              [](const AtCost& a, const AtCost& b) { return a.cost != b.cost ? a.cost < b.cost : a.value > b.value; });
    const auto same = [](const AtCost& a, const AtCost& b) { return a.cost == b.cost; };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
  };
  std::vector<std::vector<std::vector<AtCost>>> best(T);
  for (int64_t t = 0; t < T; ++t) {
    best[t].resize(grams.states(t));
    for (int64_t s = 0; s < grams.states(t); ++s) {
      std::vector<AtCost>& here = best[t][s];
      trellis.incoming(t, s, [&](int64_t e) {
        const double score = trellis.edge(t, e);
        if (!(score > -kInfinity)) return;
        const auto paid = static_cast<int64_t>(counter.edge(t, e));
        const auto edge = static_cast<int32_t>(e);
        if (t == 0) {
          here.push_back({paid, score, edge});
          return;
        }
        for (const AtCost& before : best[t - 1][trellis.source(t, e)])
          here.push_back({before.cost + paid, before.value + score, edge});
      });
      keep_best(here);
    }
  }
  std::vector<AtCost> ends;  // `edge` is the last state here
  for (int64_t s = 0; s < grams.states(T - 1); ++s)
    for (const AtCost& end : best[T - 1][s]) ends.push_back({end.cost, end.value, static_cast<int32_t>(s)});
  keep_best(ends);
  ys.clear();
  std::vector<int32_t> labels(T);
  for (const AtCost& end : ends) {
    int64_t state = end.edge;
    int64_t left = end.cost;
    for (int64_t t = T - 1; t >= 0; --t) {
      const std::vector<AtCost>& here = best[t][state];
      const auto found =
          std::lower_bound(here.begin(), here.end(), left, [](const AtCost& a, int64_t cost) { return a.cost < cost; });
      labels[t] = grams.level(grams.gram_length(t)).last[found->edge];
      left -= static_cast<int64_t>(counter.edge(t, found->edge));
      if (t > 0) state = trellis.source(t, found->edge);
    }
    ys.push_back({end.cost, end.value, {}});
    grams.to_parts(labels.data(), T, tied, ys.back().y);
  }
}

}  // namespace margrave
