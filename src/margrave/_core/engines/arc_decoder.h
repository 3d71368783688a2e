// The best non-projective tree by scores of arcs and of pairs of arcs: AD3 (Martins et al. 2011, 2015) with a factor
// for the tree and one for each pair.
//
// See engines/ad3.h for the iteration. The step of a pair has a closed form. That of the tree is the projection of z +
// (s + u) / eta onto the convex hull of all trees, by an active set of trees that Edmonds' algorithm extends.
// Multipliers start from the messages of belief propagation under sharper scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engines/ad3.h"
#include "engines/arc_messages.h"
#include "engines/edmonds.h"
#include "engines/tree_arcs.h"
#include "solvers/hull_projection.h"

namespace margrave::tree {

// max (q_a - c_a)^2 / -2 + (q_b - c_b)^2 / -2 + c_ab q_ab over the pairs of arcs: 0 <= q_ab <= q_a, q_b <= 1 and q_ab
// >= q_a + q_b - 1.
struct PairStep {
  double first, second, both;
};
inline PairStep pair_step(double c_a, double c_b, double c_ab) {
  const auto clip = [](double x) { return std::clamp(x, 0.0, 1.0); };
  if (c_ab < 0) {  // substitute 1 - b for b
    const PairStep flipped = pair_step(c_a + c_ab, 1 - c_b, -c_ab);
    return {flipped.first, 1 - flipped.second, flipped.first - flipped.both};
  }
  double a, b;
  if (c_a > c_b + c_ab) {
    a = clip(c_a);
    b = clip(c_b + c_ab);
  } else if (c_b > c_a + c_ab) {
    a = clip(c_a + c_ab);
    b = clip(c_b);
  } else {
    a = b = clip(0.5 * (c_a + c_b + c_ab));
  }
  return {a, b, std::min(a, b)};
}

class ArcDecoder {
 public:
  // theta as in ArcMessages. best: the arc numbers of the best tree found. mu, if not null: the pseudo-marginals of the
  // relaxation.
  Relaxed run(const ArcGraph& graph, const double* theta, const RelaxationSettings& settings,
              std::vector<int32_t>& best, double* mu = nullptr) {
    graph_ = &graph;
    theta_ = theta;
    best_ = &best;
    best.clear();
    load();
    if (!start()) return {};
    const Relaxed result = ad3(*this, settings);
    if (mu) read(result.certified ? &best : nullptr, mu);
    return result;
  }

  // ---- the interface of ad3 ----------------------------------------------------------------------------------------

  double scale() const { return scale_; }
  double equal() const { return kEqual * size_; }
  void after_maxima(Relaxed& result) { consider(tree_, result); }
  void after_step(Relaxed& result) {
    if (result.iterations % kEvery == 0 && solve(z_, tree_)) consider(tree_, result);
  }

  // The sum of the maxima of all factors. tree_ becomes the best tree of the tree factor.
  double maxima() {
    weights_.resize(score_.size());
    for (size_t a = 0; a < weights_.size(); ++a) weights_[a] = score_[a] + u_[a];
    if (!solve(weights_, tree_)) return kForbidden;
    double sum = 0;
    for (const int32_t a : tree_) sum += weights_[a];
    for (const Pair& pair : pairs_) {
      const double a = score_[pair.first] + pair.to_first, b = score_[pair.second] + pair.to_second;
      sum += std::max({0.0, a, b, a + b + pair.score});
    }
    return sum;
  }
  Residuals step(double eta, double tolerance) {
    project(eta, tolerance);
    return step_pairs(eta);
  }

 private:
  static constexpr double kEqual = 1e-9;   // relative to the size of the scores: a tree this close to the bound attains
                                           // it
  static constexpr int kEvery = 10;        // iterations between attempts to find a tree from z
  static constexpr double kSharpness = 3;  // factor of the scores for the first messages
  static constexpr int kSweeps = 20;

  struct Pair {
    int32_t first, second;
    int64_t number;
    double score;
    double to_first = 0, to_second = 0;  // multipliers u
    double q_first = 0, q_second = 0, q_both = 0;
  };

  // Sets the multipliers from the messages of belief propagation under scaled scores: the tree gets the totals, and
  // each pair the totals without its own message. Few iterations remain from there. False if there is no tree.
  bool start() {
    scaled_.resize(graph_->arc_count + graph_->pair_count);
    const double by = kSharpness / std::max(1.0, scale_);
    for (size_t k = 0; k < scaled_.size(); ++k) scaled_[k] = theta_[k] * by;
    for (const Pair& pair : pairs_) scaled_[graph_->arc_count + pair.number] = pair.score * by;
    marginals_.resize(scaled_.size());
    const MessageResult found = messages_.run(*graph_, scaled_.data(), {kSweeps, 1e-2, 0.0}, marginals_.data());
    if (found.value == kForbidden) return false;
    for (size_t a = 0; a < u_.size(); ++a) {
      z_[a] = marginals_[a];
      u_[a] = theta_[a] == kForbidden ? 0.0 : theta_[a] - score_[a];
    }
    for (Pair& pair : pairs_) {
      const ArcMessages::Logs sent = messages_.messages(pair.number);
      const double to_first = std::isfinite(sent.to_first) ? sent.to_first / by : 0.0;
      const double to_second = std::isfinite(sent.to_second) ? sent.to_second / by : 0.0;
      u_[pair.first] += to_first;
      u_[pair.second] += to_second;
      pair.to_first = -to_first - score_[pair.first];
      pair.to_second = -to_second - score_[pair.second];
    }
    return true;
  }

  // Splits the scores between the factors.
  void load() {
    const size_t arcs = graph_->arc_count;
    const double* of_pairs = theta_ + graph_->arc_count;
    const ScoreSize scores = size_of_scores(theta_, graph_->arc_count + graph_->pair_count);
    size_ = scores.largest * static_cast<double>(graph_->n);
    scale_ = scores.mean;
    pairs_.clear();
    degree_.assign(arcs, 1.0);
    for (int64_t p = 0; p < graph_->pair_count; ++p) {
      const auto [a, b] = graph_->pairs[p];
      if (of_pairs[p] == 0 || theta_[a] == kForbidden || theta_[b] == kForbidden) continue;
      const double own = of_pairs[p] == kForbidden ? -3 * scores.sum : of_pairs[p];
      pairs_.push_back({a, b, p, own});
      degree_[a] += 1;
      degree_[b] += 1;
    }
    score_.assign(theta_, theta_ + graph_->arc_count);
    for (size_t a = 0; a < arcs; ++a) score_[a] /= degree_[a];
    u_.assign(arcs, 0.0);
    z_.assign(arcs, 0.0);
    for (size_t a = 0; a < arcs; ++a) z_[a] = theta_[a] == kForbidden ? 0.0 : 0.5;
    projection_.clear();
  }

  // The best tree under weights of the arcs.
  bool solve(const std::vector<double>& weights, std::vector<int32_t>& tree) {
    const int n = graph_->n;
    every_.assign(static_cast<size_t>(n) * static_cast<size_t>(n), kForbidden);
    number_.resize(static_cast<size_t>(n) * static_cast<size_t>(n));
    for (int64_t a = 0; a < graph_->arc_count; ++a) {
      const size_t k = part(n, graph_->arcs[a].head, graph_->arcs[a].word);
      number_[k] = static_cast<int32_t>(a);
      every_[k] = theta_[a] == kForbidden ? kForbidden : weights[a];
    }
    if (!arborescence_.solve(n, every_.data(), graph_->single_root)) return false;
    const std::vector<int32_t>& heads = arborescence_.heads();
    tree.resize(n);
    for (int m = 1; m <= n; ++m) tree[m - 1] = number_[part(n, heads[m - 1], m)];
    return true;
  }

  double score(const std::vector<int32_t>& tree) {
    here_.assign(graph_->arc_count, 0);
    double sum = 0;
    for (const int32_t a : tree) {
      sum += theta_[a];
      here_[a] = 1;
    }
    for (const Pair& pair : pairs_)
      if (here_[pair.first] && here_[pair.second]) sum += theta_[graph_->arc_count + pair.number];
    return sum;
  }

  void consider(const std::vector<int32_t>& tree, Relaxed& result) {
    const double value = score(tree);
    if (value <= result.value) return;
    result.value = value;
    *best_ = tree;
  }

  void project(double eta, double tolerance) {
    target_.resize(score_.size());
    for (size_t a = 0; a < target_.size(); ++a)
      target_[a] = theta_[a] == kForbidden ? 0.0 : z_[a] + (score_[a] + u_[a]) / eta;
    const auto oracle = [&](const std::vector<double>& weights, std::vector<int32_t>& tree, double&) {
      return solve(weights, tree);
    };
    projection_.run(target_, 0.0, tolerance, oracle, q_);
  }

  // The steps of the pairs, then z and u.
  Residuals step_pairs(double eta) {
    sum_ = q_;
    for (Pair& pair : pairs_) {
      const size_t a = pair.first, b = pair.second;
      const PairStep step = pair_step(z_[a] + (score_[a] + pair.to_first) / eta,
                                      z_[b] + (score_[b] + pair.to_second) / eta, pair.score / eta);
      pair.q_first = step.first;
      pair.q_second = step.second;
      pair.q_both = step.both;
      sum_[a] += step.first;
      sum_[b] += step.second;
    }
    double primal = 0, dual = 0, copies = 0;
    for (size_t a = 0; a < z_.size(); ++a) {
      const double mean = sum_[a] / degree_[a];
      dual += degree_[a] * (mean - z_[a]) * (mean - z_[a]);
      copies += degree_[a];
      z_[a] = mean;
      u_[a] -= eta * (q_[a] - mean);
      primal += (q_[a] - mean) * (q_[a] - mean);
    }
    for (Pair& pair : pairs_) {
      const double of_first = pair.q_first - z_[pair.first], of_second = pair.q_second - z_[pair.second];
      pair.to_first -= eta * of_first;
      pair.to_second -= eta * of_second;
      primal += of_first * of_first + of_second * of_second;
    }
    return {std::sqrt(primal / copies), std::sqrt(dual / copies)};
  }

  void read(const std::vector<int32_t>* tree, double* mu) {
    std::fill(mu, mu + graph_->arc_count + graph_->pair_count, 0.0);
    if (tree) {
      for (const int32_t a : *tree) mu[a] = 1;
    } else {
      std::copy(q_.begin(), q_.end(), mu);
    }
    for (int64_t p = 0; p < graph_->pair_count; ++p)  // any value is optimal for pairs without a score
      mu[graph_->arc_count + p] = std::max(0.0, mu[graph_->pairs[p].first] + mu[graph_->pairs[p].second] - 1);
    for (const Pair& pair : pairs_) {  // the best value given the marginals of its arcs
      const double a = mu[pair.first], b = mu[pair.second];
      mu[graph_->arc_count + pair.number] = pair.score > 0 ? std::min(a, b) : std::max(0.0, a + b - 1);
    }
  }

  const ArcGraph* graph_ = nullptr;
  const double* theta_ = nullptr;
  std::vector<int32_t>* best_ = nullptr;  // the best tree so far
  double size_ = 1, scale_ = 1;
  std::vector<Pair> pairs_;
  std::vector<double> degree_, score_, u_, z_, q_, sum_, target_, weights_, every_;
  std::vector<int32_t> number_, tree_;
  std::vector<char> here_;
  std::vector<double> scaled_, marginals_;
  ArcMessages messages_;
  HullProjection projection_;
  Arborescence arborescence_;
};

}  // namespace margrave::tree
