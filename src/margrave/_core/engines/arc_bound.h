// An upper bound on log Z of non-projective trees with scores of pairs of arcs, for sentences on which belief
// propagation fails (001, footnote 17; Wainwright and Jordan 2008). Arcs and pairs as in engines/arc_messages.h.
//
// The entropy of a distribution over trees is at most that of the arc-factored distribution with the same arc
// marginals, H_tree. It is also at most that of every forest of pairs, since a forest keeps only some of the
// dependences. So for 0 < kappa < 1, and shares rho of the pairs in the forest polytope (engines/spanning_forests.h),
//
//   log Z <= max over z of <s, z> + kappa H_tree(z) + (1 - kappa) (sum_a H_a(z) - sum_p rho_p I_p(z)),
//
// which is a concave problem. Its dual splits the scores between a distribution of trees and the forests: for any
// messages m_pa of the pairs and r_a of the tree,
//
//   B_a = s_a + (1 - kappa) sum_p rho_p m_pa + kappa r_a
//   log Z <= kappa log Z_tree(B - r) + (1 - kappa) mean over forests of log Z_forest,
//
// where a forest has the scores B_a of its arcs and s_p / ((1 - kappa) rho_p) y_a y_b - m_pa y_a - m_pb y_b of its
// pairs. This holds for any messages, because the scores on the right sum to s. The bound is smallest at a fixed point
// of
//
//   r_a <- logit mu_a - (B_a - r_a)                              mu: marginals of trees with the scores B - r
//   m_pa <- log(1 + exp(x_b + s_p / ((1 - kappa) rho_p))) - log(1 + exp(x_b)),    x_b = B_b - m_pb,
//
// where trees and forests agree on z, which is the gradient. Steps towards these values are shortened until the bound
// does not rise. If every tree contains an arc, the scores of its pairs move to the other arc. Arcs in no tree are left
// out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engines/arborescence.h"
#include "engines/arc_messages.h"
#include "engines/spanning_forests.h"

namespace margrave::tree {

class ArcBound {
 public:
  // theta and mu as in ArcMessages. Returns the bound; mu is its gradient at fixed messages.
  MessageResult run(const ArcGraph& graph, const double* theta, const MessageSettings& settings, double kappa,
                    double* mu) {
    graph_ = &graph;
    kappa_ = kappa;
    std::fill(mu, mu + graph.arc_count + graph.pair_count, 0.0);
    MessageResult result;
    if (!reduce(theta)) return result;
    build_forests();
    double value = evaluate(nullptr), share = kFirstShare, last = std::numeric_limits<double>::infinity();
    while (result.sweeps < settings.sweeps) {
      ++result.sweeps;
      State before{from_tree_, total_, to_tree_, logit_, pairs_};
      const double change = sweep(share);
      result.converged = change <= settings.tolerance;
      if (result.converged) break;
      const double next = evaluate(nullptr);
      if (next <= value + kRounding * (1 + std::fabs(value))) {
        value = next;
        if (change < last) share = std::min(1.0, kMore * share);
        last = change;
      } else {
        restore(std::move(before));
        share *= kLess;
      }
    }
    result.value = evaluate(mu);
    return result;
  }

 private:
  // The share of the new message in a step. It shrinks if the bound would rise: a tree couples many arcs, so full steps
  // overshoot.
  static constexpr double kFirstShare = 0.5, kMore = 1.1, kLess = 0.5;
  static constexpr double kRounding = 1e-13;
  static constexpr double kLargestLogit = 1e17;  // Wide::exp(-x) is 0 beyond

  enum class Kind : uint8_t { kNever, kFree, kAlways };
  struct Pair {
    int32_t first, second;
    int64_t number;
    double rho = 1;
    double score = 0;                    // s_p / ((1 - kappa) rho_p)
    double to_first = 0, to_second = 0;  // messages
  };
  struct State {
    std::vector<double> from_tree, total, to_tree, logit;
    std::vector<Pair> pairs;
  };
  static double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
  static double sigmoid(double x) { return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
  static double message(double x, double score) { return softplus(x + score) - softplus(x); }
  // The odds of an arc that is in some trees but not in all underflow only at enormous scores. The bound is valid for
  // any messages, but an infinite one would forbid the arc.
  static double finite(double logit) { return std::isinf(logit) ? std::copysign(kLargestLogit, logit) : logit; }
  bool free(int32_t arc) const { return kind_[arc] == Kind::kFree; }

  // log Z of trees with the scores `of_arcs`, and the log-odds of their arcs.
  double ask_tree(const std::vector<double>& of_arcs) {
    const int n = graph_->n;
    every_.assign(static_cast<size_t>(n) * static_cast<size_t>(n), kForbidden);
    odds_.resize(every_.size());
    for (int64_t a = 0; a < graph_->arc_count; ++a)
      every_[part(n, graph_->arcs[a].head, graph_->arcs[a].word)] = of_arcs[a];
    const double log_z = log_odds(n, every_.data(), graph_->single_root, workspace_, odds_.data());
    logit_.resize(graph_->arc_count);
    for (int64_t a = 0; a < graph_->arc_count; ++a)
      logit_[a] = odds_[part(n, graph_->arcs[a].head, graph_->arcs[a].word)];
    return log_z;
  }

  // Computes the scores of arcs and the remaining pairs. Scores of pairs with an arc of every tree move to the other
  // arc. False if no tree is allowed.
  bool reduce(const double* theta) {
    const int64_t arcs = graph_->arc_count;
    std::vector<char> forbidden(arcs, 0);
    for (bool again = true; again;) {
      again = false;
      scores_.assign(theta, theta + arcs);
      for (size_t a = 0; a < forbidden.size(); ++a)
        if (forbidden[a]) scores_[a] = kForbidden;
      // Which arcs are in all trees or in none does not depend on finite scores. Large scores would blur the answer.
      std::vector<double> allowed = scores_;
      for (double& score : allowed)
        if (score != kForbidden) score = 0;
      if (ask_tree(allowed) == kForbidden) return false;
      kind_.resize(arcs);
      for (size_t a = 0; a < kind_.size(); ++a) {
        kind_[a] = logit_[a] == kForbidden ? Kind::kNever : std::isinf(logit_[a]) ? Kind::kAlways : Kind::kFree;
        if (kind_[a] == Kind::kNever) scores_[a] = kForbidden;
      }
      pairs_.clear();
      for (int64_t p = 0; p < graph_->pair_count; ++p) {
        const auto [a, b] = graph_->pairs[p];
        const Kind first = kind_[a], second = kind_[b];
        if (first == Kind::kNever || second == Kind::kNever) continue;
        if (first == Kind::kFree && second == Kind::kFree) {
          pairs_.push_back({a, b, p});
          pairs_.back().score = theta[arcs + p];
          continue;
        }
        const int32_t other = first == Kind::kAlways ? b : a;
        scores_[other] += theta[arcs + p];
        if (scores_[other] == kForbidden && !forbidden[other]) {
          forbidden[other] = 1;
          again = true;
        }
      }
    }
    return true;
  }

  void build_forests() {
    SpanningForests::Edges edges;
    edges.reserve(pairs_.size());
    for (const Pair& pair : pairs_) edges.emplace_back(pair.first, pair.second);
    forests_ = SpanningForests(graph_->arc_count, edges);
    for (size_t k = 0; k < pairs_.size(); ++k) {
      pairs_[k].rho = forests_.share(static_cast<int64_t>(k));
      pairs_[k].score /= (1 - kappa_) * pairs_[k].rho;
    }
    from_tree_.assign(kind_.size(), 0.0);
    gather();
  }

  // B, and B - r, at the current messages.
  void gather() {
    total_ = scores_;
    for (size_t a = 0; a < total_.size(); ++a)
      if (kind_[a] == Kind::kFree) total_[a] += kappa_ * from_tree_[a];
    for (const Pair& pair : pairs_) {
      total_[pair.first] += (1 - kappa_) * pair.rho * pair.to_first;
      total_[pair.second] += (1 - kappa_) * pair.rho * pair.to_second;
    }
    to_tree_ = total_;
    for (size_t a = 0; a < to_tree_.size(); ++a)
      if (kind_[a] == Kind::kFree) to_tree_[a] -= from_tree_[a];
  }

  // Moves all messages towards their new values. Returns the largest difference between old and new ones.
  double sweep(double share) {
    double largest = 0;
    const auto update = [&](double& old, double next) {
      largest = std::max(largest, std::fabs(next - old));
      old += share * (next - old);
    };
    for (size_t a = 0; a < kind_.size(); ++a)
      if (kind_[a] == Kind::kFree) update(from_tree_[a], finite(logit_[a]) - to_tree_[a]);
    for (Pair& pair : pairs_) {
      const double a = total_[pair.first] - pair.to_first, b = total_[pair.second] - pair.to_second;
      update(pair.to_first, message(b, pair.score));
      update(pair.to_second, message(a, pair.score));
    }
    gather();
    return largest;
  }

  void restore(State before) {
    from_tree_ = std::move(before.from_tree);
    total_ = std::move(before.total);
    to_tree_ = std::move(before.to_tree);
    logit_ = std::move(before.logit);
    pairs_ = std::move(before.pairs);
  }

  // The bound at the current messages, and the log-odds of the tree; with mu, the gradient.
  double evaluate(double* mu) {
    double value = kappa_ * ask_tree(to_tree_);
    for (size_t a = 0; a < kind_.size(); ++a) {
      if (kind_[a] == Kind::kAlways) value += (1 - kappa_) * scores_[a];
      if (mu && kind_[a] != Kind::kNever) mu[a] = kind_[a] == Kind::kAlways ? 1.0 : kappa_ * sigmoid(logit_[a]);
    }
    const double share = (1 - kappa_) / static_cast<double>(forests_.forests().size());
    for (const Forest& forest : forests_.forests()) value += share * sum_forest(forest, share, mu);
    for (int64_t p = 0; mu && p < graph_->pair_count; ++p) {  // pairs whose scores moved to an arc
      const auto [a, b] = graph_->pairs[p];
      if (kind_[a] == Kind::kAlways)
        mu[graph_->arc_count + p] = mu[b];
      else if (kind_[b] == Kind::kAlways)
        mu[graph_->arc_count + p] = mu[a];
    }
    return value;
  }

  // log Z of a forest. With mu, adds `share` times its arc marginals to mu, and its pair marginals weighted such that
  // they sum to a mean.
  double sum_forest(const Forest& forest, double share, double* mu) {
    double constant = 0;
    up_ = total_;
    const auto seen = [&](const Forest::Step& step) {  // the child's score without this pair's message
      const Pair& pair = pairs_[step.edge];
      return up_[step.child] - (step.child_first ? pair.to_first : pair.to_second);
    };
    for (size_t k = forest.steps.size(); k-- > 0;) {
      const Forest::Step& step = forest.steps[k];
      const Pair& pair = pairs_[step.edge];
      const double x = seen(step);
      constant += softplus(x);
      up_[step.parent] += message(x, pair.score) - (step.child_first ? pair.to_second : pair.to_first);
    }
    marginal_.resize(up_.size());
    for (const int32_t a : forest.roots) {
      if (!free(a)) continue;
      constant += softplus(up_[a]);
      if (!mu) continue;
      marginal_[a] = sigmoid(up_[a]);
      mu[a] += share * marginal_[a];
    }
    for (const Forest::Step& step : forest.steps) {
      if (!mu) break;
      const Pair& pair = pairs_[step.edge];
      const double x = seen(step), parent = marginal_[step.parent];
      const double both = parent * sigmoid(x + pair.score);
      marginal_[step.child] = both + (1 - parent) * sigmoid(x);
      mu[step.child] += share * marginal_[step.child];
      mu[graph_->arc_count + pair.number] += share / ((1 - kappa_) * pair.rho) * both;
    }
    return constant;
  }

  const ArcGraph* graph_ = nullptr;
  double kappa_ = 0.5;
  std::vector<Kind> kind_;
  std::vector<Pair> pairs_;
  SpanningForests forests_;
  std::vector<double> scores_, from_tree_, total_, to_tree_, logit_, every_, odds_, up_, marginal_;
  Workspace workspace_;
};

}  // namespace margrave::tree
