// The best labeling of a factor graph by its linear relaxation: AD3 (Martins et al. 2015).
//
// The relaxation replaces a labeling by a mixture of labelings of each factor. It requires that the mixtures of the
// factors of a variable agree on the marginals of its labels, z. See engines/ad3.h for the iteration. The quadratic
// step of a factor is an active-set method that calls an oracle for its best labeling: over the cells of a table, by
// counting true literals, by Edmonds' algorithm for trees, or by the user's own rule. For any multipliers, the sum of
// the maxima of the factors is an upper bound on the score of every labeling. A labeling that attains the bound is
// certified to be optimal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "engines/ad3.h"
#include "engines/factor_messages.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "solvers/hull_projection.h"

namespace margrave {

// The search for a labeling that the factors allow was given up.
struct SearchTooLong : InputError {
  using InputError::InputError;
};

class FactorRelaxation {
 public:
  // theta: by part. Returns the best labeling found and, in `mu`, the relaxation's marginals of the parts.
  Relaxed run(const FactorGraphs& graphs, int64_t g, const MessageLayout& layout, const double* theta,
              const RelaxationSettings& settings, std::vector<int32_t>& labeling, double* mu = nullptr) {
    graphs_ = &graphs;
    g_ = g;
    layout_ = &layout;
    theta_ = theta;
    best_ = &labeling;
    labeling.clear();
    load();
    Relaxed result = ad3(*this, settings);
    if (result.bound == -kInfinity) {  // a factor allows no labeling
      if (mu) std::fill_n(mu, graphs.parts(g), 0.0);
      return result;
    }
    if (result.value == -kInfinity) {
      search(settings.trials, result, labeling);
      result.certified = result.attains_bound(equal());
    }
    if (mu) read(result.certified ? &labeling : nullptr, mu);
    return result;
  }

  // ---- the interface of ad3 ----------------------------------------------------------------------------------------

  double scale() const { return scale_; }
  double equal() const { return kEqual * size_; }
  void after_maxima(Relaxed& result) { consider(result, *best_); }
  void after_step(Relaxed& result) {
    round();
    consider(result, *best_);
  }

  // The sum of the maxima of all factors, and of variables in no factor. A factor whose multipliers have not changed
  // since the last time has the same maximum.
  double maxima() {
    double total = 0;
    std::vector<int32_t> found;
    for (size_t s = 0; s < layout_->senders.size(); ++s) {
      if (stale_maximum_[s]) {
        weigh(s);
        if (!best(s, weights_.data(), 1.0, found, maximum_[s])) return -kInfinity;
        for (const int32_t place : found) maximum_[s] += weights_[place];
        stale_maximum_[s] = 0;
      }
      total += maximum_[s];
    }
    for (int64_t v = 0; v < variables(); ++v)
      if (layout_->edge_begin[v] == layout_->edge_begin[v + 1])
        total += *std::max_element(own_.begin() + layout_->label_begin[v], own_.begin() + layout_->label_begin[v + 1]);
    return total;
  }

  // The quadratic steps of all factors, then z and u. A factor whose last step was solved keeps it while its z, its
  // multipliers and eta stay as they are: where the factors of a region agree, only the others are solved again.
  Residuals step(double eta, double tolerance) {
    std::vector<double> target, q;
    if (eta != eta_) std::fill(stale_step_.begin(), stale_step_.end(), 1);
    eta_ = eta;
    for (size_t s = 0; s < layout_->senders.size(); ++s) {
      if (!stale_step_[s]) continue;
      const MessageLayout::Sender& sender = layout_->senders[s];
      const MessageLayout::Edge* const edges = layout_->edges.data() + sender.first_edge;
      weigh(s);
      target.assign(weights_.size(), 0.0);
      size_t k = 0;
      for (int64_t j = 0; j < sender.arity; ++j)
        for (int64_t l = 0; l < labels_of(edges[j].variable); ++l, ++k)
          if (weights_[k] > -kInfinity) target[k] = z_[layout_->label_begin[edges[j].variable] + l] + weights_[k] / eta;
      const std::vector<double> possible = weights_;
      const auto oracle = [&](const std::vector<double>& slopes, std::vector<int32_t>& found, double& extra) {
        slopes_ = slopes;
        for (size_t p = 0; p < possible.size(); ++p)
          if (possible[p] == -kInfinity) slopes_[p] = -kInfinity;
        return best(s, slopes_.data(), 1 / eta, found, extra);
      };
      steps_[s].run(target, 1 / eta, tolerance, oracle, q);
      std::copy(q.begin(), q.end(), q_.begin() + edges[0].begin);
      stale_step_[s] = steps_[s].solved() ? 0 : 1;
    }
    double primal = 0, dual = 0, copies = 0;
    for (int64_t v = 0; v < variables(); ++v) {
      const int64_t degree = layout_->edge_begin[v + 1] - layout_->edge_begin[v];
      if (degree == 0) continue;
      for (int64_t l = 0; l < labels_of(v); ++l) {
        double mean = 0;
        each_copy(v, l, [&](int64_t k, int32_t) { mean += q_[k]; });
        mean /= static_cast<double>(degree);
        double& z = z_[layout_->label_begin[v] + l];
        const bool moved = mean != z;
        dual += static_cast<double>(degree) * (mean - z) * (mean - z);
        z = mean;
        copies += static_cast<double>(degree);
        each_copy(v, l, [&](int64_t k, int32_t s) {
          if (q_[k] != mean) stale_maximum_[s] = 1;
          if (moved || q_[k] != mean) stale_step_[s] = 1;
          u_[k] -= eta * (q_[k] - mean);
          primal += (q_[k] - mean) * (q_[k] - mean);
        });
      }
    }
    return {std::sqrt(primal / std::max(copies, 1.0)), std::sqrt(dual / std::max(copies, 1.0))};
  }

 private:
  static constexpr double kEqual = 1e-9;  // relative to the size of the scores: a labeling this close to the bound
                                          // attains it

  int64_t labels_of(int64_t v) const { return layout_->label_begin[v + 1] - layout_->label_begin[v]; }
  int64_t variables() const { return static_cast<int64_t>(layout_->label_begin.size()) - 1; }

  void load() {
    const FactorGraphs& graphs = *graphs_;
    own_.assign(layout_->label_begin.back(), 0.0);
    for (int64_t f = 0; f < graphs.factors(g_); ++f) {
      const SoftFactor soft = graphs.factor(g_, f);
      if (soft.arity != 1) continue;
      const int64_t first = layout_->label_begin[soft.scope[0]];
      if (soft.form == FactorForm::kListed)
        for (int64_t cell = 0; cell < soft.cells; ++cell)
          if (soft.part_of(cell) < 0) own_[first + cell] = -kInfinity;
      for (int64_t part = 0; part < soft.parts; ++part)
        own_[first + soft.cell_of(part)] += theta_[soft.first_part + part];
    }
    const ScoreSize scores = size_of_scores(theta_, graphs.parts(g_));
    size_ = scores.largest * static_cast<double>(variables() + graphs.factors(g_));
    if (!std::isfinite(size_))
      throw InputError("graph " + std::to_string(g_) +
                       ": sums of its scores would be infinite; scale the features, or lower C.");
    scale_ = scores.mean;
    share_.resize(own_.size());
    z_.resize(own_.size());
    for (int64_t v = 0; v < variables(); ++v) {
      const int64_t degree = layout_->edge_begin[v + 1] - layout_->edge_begin[v];
      int64_t possible = 0;
      for (int64_t k = layout_->label_begin[v]; k < layout_->label_begin[v + 1]; ++k) possible += own_[k] > -kInfinity;
      for (int64_t k = layout_->label_begin[v]; k < layout_->label_begin[v + 1]; ++k) {
        share_[k] = own_[k] / static_cast<double>(std::max<int64_t>(degree, 1));
        z_[k] = own_[k] > -kInfinity ? 1.0 / static_cast<double>(std::max<int64_t>(possible, 1)) : 0.0;
      }
    }
    row_tops_.resize(layout_->message_size);
    for (const MessageLayout::Sender& sender : layout_->senders) {
      if (sender.table < 0) continue;
      const SoftFactor soft = graphs.factor(g_, sender.number);
      const int64_t columns = labels_of(soft.scope[1]);
      const double* row = theta_ + soft.first_part;
      double* const tops = row_tops_.data() + layout_->edges[sender.first_edge].begin;
      for (int64_t a = 0; a < labels_of(soft.scope[0]); ++a, row += columns)
        tops[a] = *std::max_element(row, row + columns);
    }
    maximum_.assign(layout_->senders.size(), 0.0);
    stale_maximum_.assign(layout_->senders.size(), 1);
    stale_step_.assign(layout_->senders.size(), 1);
    u_.assign(layout_->message_size, 0.0);
    q_.assign(u_.size(), 0.0);
    steps_.resize(layout_->senders.size());
    for (HullProjection& each : steps_) each.clear();
    labels_.resize(variables());
    round();
  }

  // The best labeling of a factor, given weights of the labels of its variables and `scale` times its own scores.
  // `found` has one index per variable, among the labels of the factor. `extra` is the factor's own score without the
  // scale. False if no labeling is allowed.
  bool best(size_t s, const double* weights, double scale, std::vector<int32_t>& found, double& extra) {
    const MessageLayout::Sender& sender = layout_->senders[s];
    const MessageLayout::Edge* const edges = layout_->edges.data() + sender.first_edge;
    const int64_t base = edges[0].begin;
    const auto weight = [&](int64_t j, int64_t label) { return weights[edges[j].begin - base + label]; };
    found.resize(sender.arity);
    extra = 0;
    double top = -kInfinity;
    tuple_.resize(sender.arity);
    const auto keep = [&] {
      for (int64_t j = 0; j < sender.arity; ++j) found[j] = static_cast<int32_t>(edges[j].begin - base + tuple_[j]);
    };
    const auto sum = [&] {
      double total = 0;
      for (int64_t j = 0; j < sender.arity; ++j) total += weight(j, tuple_[j]);
      return total;
    };
    if (sender.table >= 0) {
      const int64_t cell = best_pair(s, weights, scale, extra);
      if (cell < 0) return false;
      found[0] = static_cast<int32_t>(cell / labels_of(edges[1].variable));
      found[1] = static_cast<int32_t>(edges[1].begin - base + cell % labels_of(edges[1].variable));
      return true;
    }
    if (!sender.hard) {
      const SoftFactor soft = graphs_->factor(g_, sender.number);
      const bool all = soft.form == FactorForm::kPartial;
      for (int64_t k = 0; k < (all ? soft.cells : soft.parts); ++k) {
        const int64_t cell = all ? k : soft.cell_of(k), part = all ? soft.part_of(k) : k;
        const double score = part < 0 ? 0.0 : theta_[soft.first_part + part];
        if (score == -kInfinity) continue;
        graphs_->tuple(g_, soft, cell, tuple_.data());
        const double value = sum() + scale * score;
        if (value > top) {
          top = value;
          extra = score;
          keep();
        }
      }
      return top > -kInfinity;
    }
    const HardFactor hard = graphs_->hard(g_, sender.number);
    const auto labels = [&](int64_t j) { return labels_of(edges[j].variable); };
    switch (hard.kind) {
      case HardKind::kAllowed:
        for (const int32_t* row = hard.data; row < hard.data + hard.data_size; row += hard.arity) {
          std::copy_n(row, hard.arity, tuple_.begin());
          if (sum() > top) {
            top = sum();
            keep();
          }
        }
        return top > -kInfinity;
      case HardKind::kForbidden:
        std::fill(tuple_.begin(), tuple_.end(), 0);
        for (;;) {
          if (sum() > top && graphs_->allows(g_, hard, tuple_.data())) {
            top = sum();
            keep();
          }
          int64_t j = hard.arity - 1;
          while (j >= 0 && ++tuple_[j] == labels(j)) tuple_[j--] = 0;
          if (j < 0) return top > -kInfinity;
        }
      case HardKind::kOwn: {
        const double value = graphs_->own(hard.data[0]).maximum(weights, tuple_.data());
        if (value == -kInfinity) return false;
        for (int64_t j = 0; j < hard.arity; ++j)
          if (tuple_[j] < 0 || tuple_[j] >= labels(j))
            throw InputError("the maximum of a rule has a label that is out of range.");
        keep();
        return true;
      }
      default: break;
    }
    const bool implication = hard.kind == HardKind::kImplication;
    yes_.assign(hard.arity, -1);
    no_.assign(hard.arity, -1);
    gain_.resize(hard.arity);
    for (int64_t j = 0; j < hard.arity; ++j) {
      for (int32_t l = 0; l < labels(j); ++l) {
        int32_t& of = (hard.literal(j, l) != (implication && j + 1 < hard.arity) ? yes_ : no_)[j];
        if (weight(j, l) > -kInfinity && (of < 0 || weight(j, l) > weight(j, of))) of = l;
      }
      if (yes_[j] < 0 && no_[j] < 0) return false;
      gain_[j] = yes_[j] < 0 ? -kInfinity : no_[j] < 0 ? kInfinity : weight(j, yes_[j]) - weight(j, no_[j]);
    }
    if (hard.kind == HardKind::kTree ? !choose_tree(hard) : !choose_by_count(hard)) return false;
    for (int64_t j = 0; j < hard.arity; ++j) {
      const int32_t label = (chosen_[j] ? yes_ : no_)[j];
      if (label < 0) return false;
      tuple_[j] = label;
    }
    keep();
    return true;
  }

  // The same for a dense factor of two variables: the first of the best cells, or -1. No cell of a row is better than
  // the largest score of the row with the largest weight, so most rows are not read. Rounding is monotone, so this is
  // exact.
  int64_t best_pair(size_t s, const double* weights, double scale, double& extra) {
    const MessageLayout::Sender& sender = layout_->senders[s];
    const SoftFactor soft = graphs_->factor(g_, sender.number);
    const double* const scores = theta_ + soft.first_part;
    const int64_t rows = labels_of(soft.scope[0]), columns = labels_of(soft.scope[1]);
    const double* const of_columns = weights + rows;
    const double* const tops = row_tops_.data() + layout_->edges[sender.first_edge].begin;
    const double top_column = *std::max_element(of_columns, of_columns + columns);
    double top = -kInfinity;
    int64_t cell = -1;
    for (int64_t a = 0; a < rows; ++a) {
      if (!(weights[a] + top_column + scale * tops[a] > top)) continue;
      const double* const row = scores + a * columns;
      for (int64_t b = 0; b < columns; ++b) {
        const double value = weights[a] + of_columns[b] + scale * row[b];
        if (value > top) {
          top = value;
          cell = a * columns + b;
        }
      }
    }
    extra = cell < 0 ? 0.0 : scores[cell];
    return cell;
  }

  bool choose_by_count(const HardFactor& hard) {
    const int64_t n = hard.arity;
    int64_t least = 0, most = n;
    if (hard.kind == HardKind::kXor || hard.kind == HardKind::kAtMostOne) most = 1;
    if (hard.kind == HardKind::kBudget) most = hard.data[0];
    if (hard.kind == HardKind::kXor || hard.kind == HardKind::kOr || hard.kind == HardKind::kImplication) least = 1;
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) { return gain_[a] > gain_[b]; });
    chosen_.assign(n, 0);
    for (int64_t k = 0; k < n && (k < least || gain_[order_[k]] > 0); ++k) {
      if (k == most) {
        if (gain_[order_[k]] == kInfinity) return false;  // more literals must be true than are allowed
        break;
      }
      chosen_[order_[k]] = 1;
    }
    return true;
  }

  bool choose_tree(const HardFactor& hard) {
    const int n = hard.data[0];
    scores_.assign(static_cast<size_t>(n) * static_cast<size_t>(n), -kInfinity);
    std::vector<char> forced(static_cast<size_t>(n) + 1, 0);
    for (int64_t j = 0; j < hard.arity; ++j)
      if (gain_[j] == kInfinity) forced[hard.data[3 + 2 * j]] = 1;
    for (int64_t j = 0; j < hard.arity; ++j)
      if (!forced[hard.data[3 + 2 * j]] || gain_[j] == kInfinity)
        scores_[tree::part(n, hard.data[2 + 2 * j], hard.data[3 + 2 * j])] = gain_[j] == kInfinity ? 0.0 : gain_[j];
    if (!arborescence_.solve(n, scores_.data(), hard.data[1] == 1)) return false;
    chosen_.assign(hard.arity, 0);
    for (int64_t j = 0; j < hard.arity; ++j)
      chosen_[j] = arborescence_.heads()[hard.data[3 + 2 * j] - 1] == hard.data[2 + 2 * j];
    return true;
  }

  // The weights of the labels of a factor's variables.
  void weigh(size_t s) {
    const MessageLayout::Sender& sender = layout_->senders[s];
    const MessageLayout::Edge* const edges = layout_->edges.data() + sender.first_edge;
    weights_.clear();
    for (int64_t j = 0; j < sender.arity; ++j)
      for (int64_t l = 0; l < labels_of(edges[j].variable); ++l)
        weights_.push_back(share_[layout_->label_begin[edges[j].variable] + l] + u_[edges[j].begin + l]);
  }

  template <typename Visit>
  void each_copy(int64_t v, int64_t l, const Visit& visit) {
    for (int64_t k = layout_->edge_begin[v]; k < layout_->edge_begin[v + 1]; ++k) {
      const MessageLayout::Edge& edge = layout_->edges[layout_->edges_of[k]];
      visit(edge.begin + l, edge.sender);
    }
  }

  // Picks the label with the largest z, or the highest score for variables in no factor.
  void round() {
    for (int64_t v = 0; v < variables(); ++v) {
      const bool alone = layout_->edge_begin[v] == layout_->edge_begin[v + 1];
      const std::vector<double>& by = alone ? own_ : z_;
      const auto first = by.begin() + layout_->label_begin[v], last = by.begin() + layout_->label_begin[v + 1];
      labels_[v] = static_cast<int32_t>(std::max_element(first, last) - first);
    }
  }

  // The score of labels_; -inf if they are not allowed.
  double score() {
    Output y;
    if (!graphs_->parts_of(g_, labels_.data(), y)) return -kInfinity;
    for (int64_t h = 0; h < graphs_->hards(g_); ++h) {
      const HardFactor hard = graphs_->hard(g_, h);
      tuple_.resize(hard.arity);
      for (int64_t j = 0; j < hard.arity; ++j) tuple_[j] = labels_[hard.scope[j]];
      if (!graphs_->allows(g_, hard, tuple_.data())) return -kInfinity;
    }
    double total = 0;
    for (const int32_t part : y) total += theta_[part];
    return total;
  }

  void consider(Relaxed& result, std::vector<int32_t>& labeling) {
    if (double value = score(); value > result.value) {
      result.value = value;
      labeling = labels_;
    }
    if ((result.iterations > 1 && result.value > -kInfinity) || graphs_->hards(g_) == 0) return;
    // Take the labels that hard factors prefer, one factor after another. If no other factor shares their variables,
    // this is the best labeling.
    std::vector<int32_t> found;
    for (size_t s = 0; s < layout_->senders.size(); ++s) {
      const MessageLayout::Sender& sender = layout_->senders[s];
      if (!sender.hard) continue;
      const MessageLayout::Edge* const edges = layout_->edges.data() + sender.first_edge;
      weigh(s);
      double extra = 0;
      if (!best(s, weights_.data(), 1.0, found, extra)) return;
      for (int64_t j = 0; j < sender.arity; ++j)
        labels_[edges[j].variable] = static_cast<int32_t>(found[j] + edges[0].begin - edges[j].begin);
    }
    if (double value = score(); value > result.value) {
      result.value = value;
      labeling = labels_;
    }
  }

  // Used if rounding found no allowed labeling. Tries labels in the order of z, variable by variable, and backtracks if
  // a factor allows no completion.
  void search(int64_t trials, Relaxed& result, std::vector<int32_t>& labeling) {
    std::vector<std::vector<int32_t>> order(variables());
    for (int64_t v = 0; v < variables(); ++v) {
      std::vector<int32_t>& of = order[v];
      of.resize(labels_of(v));
      std::iota(of.begin(), of.end(), 0);
      const double* z = z_.data() + layout_->label_begin[v];
      std::stable_sort(of.begin(), of.end(), [&](int32_t a, int32_t b) { return z[a] > z[b]; });
    }
    const std::vector<double> before = share_;
    std::vector<size_t> turn(variables(), 0);
    int64_t budget = trials;
    const auto fix = [&](int64_t v, int32_t label) {
      for (int64_t l = 0; l < labels_of(v); ++l) {
        const auto k = layout_->label_begin[v] + l;
        share_[k] = label < 0 || l == label ? before[k] : -kInfinity;
      }
    };
    const auto feasible = [&](int64_t v) {
      std::vector<int32_t> found;
      for (int64_t k = layout_->edge_begin[v]; k < layout_->edge_begin[v + 1]; ++k) {
        const auto s = layout_->edges[layout_->edges_of[k]].sender;
        weigh(s);
        double extra = 0;
        if (!best(s, weights_.data(), 1.0, found, extra)) return false;
      }
      return true;
    };
    for (int64_t v = 0; v >= 0 && v < variables() && budget > 0;) {
      bool moved = false;
      while (turn[v] < order[v].size() && budget-- > 0) {
        const int32_t label = order[v][turn[v]++];
        if (before[layout_->label_begin[v] + label] == -kInfinity) continue;
        fix(v, label);
        labels_[v] = label;
        if (feasible(v)) {
          moved = true;
          break;
        }
      }
      if (moved) {
        ++v;
      } else {
        fix(v, -1);
        turn[v] = 0;
        --v;
      }
    }
    share_ = before;
    const double value = score();
    if (value > -kInfinity) {
      result.value = value;
      labeling = labels_;
      return;
    }
    if (budget <= 0)
      throw SearchTooLong("graph " + std::to_string(g_) +
                          ": no labeling that its hard factors allow was found: "
                          "use inference='exact'.");
  }

  void read(const std::vector<int32_t>* labeling, double* mu) {
    std::fill_n(mu, graphs_->parts(g_), 0.0);
    if (labeling) {
      Output y;
      graphs_->parts_of(g_, labeling->data(), y);
      for (const int32_t part : y) mu[part] = 1;
      return;
    }
    size_t s = 0;
    for (int64_t f = 0; f < graphs_->factors(g_); ++f) {
      const SoftFactor soft = graphs_->factor(g_, f);
      if (soft.arity == 1) {
        const int64_t v = soft.scope[0], first = layout_->label_begin[v];
        const bool alone = layout_->edge_begin[v] == layout_->edge_begin[v + 1];
        for (int64_t part = 0; part < soft.parts; ++part)
          mu[soft.first_part + part] =
              alone ? (labels_[v] == soft.cell_of(part) ? 1.0 : 0.0) : z_[first + soft.cell_of(part)];
        continue;
      }
      const MessageLayout::Edge* const edges = layout_->edges.data() + layout_->senders[s].first_edge;
      const HullProjection& mixture = steps_[s++];
      tuple_.resize(soft.arity);
      for (size_t k = 0; k < mixture.outputs().size(); ++k) {
        int64_t cell = 0;
        for (int64_t j = 0; j < soft.arity; ++j)
          cell = cell * labels_of(soft.scope[j]) + mixture.outputs()[k][j] + edges[0].begin - edges[j].begin;
        if (const int64_t part = soft.part_of(cell); part >= 0) mu[soft.first_part + part] += mixture.masses()[k];
      }
    }
  }

  const FactorGraphs* graphs_ = nullptr;
  int64_t g_ = 0;
  const MessageLayout* layout_ = nullptr;
  const double* theta_ = nullptr;
  std::vector<int32_t>* best_ = nullptr;   // the best labeling so far
  double size_ = 1, scale_ = 1, eta_ = 0;  // eta of the last step
  std::vector<double> own_, share_, z_, u_, q_, weights_, slopes_, gain_, scores_;
  std::vector<double> row_tops_;  // the largest score of each row of a dense factor of two variables, at its first edge
  std::vector<int32_t> labels_, tuple_, yes_, no_, order_;
  std::vector<char> chosen_;
  std::vector<double> maximum_;                   // of each factor, unless it is stale
  std::vector<char> stale_maximum_, stale_step_;  // whether each factor must be solved again
  std::vector<HullProjection> steps_;
  tree::Arborescence arborescence_;
};

}  // namespace margrave
