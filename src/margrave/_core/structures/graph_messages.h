// Factor graphs with approximate inference: sums and marginals by belief propagation or its tree-reweighted form
// (engines/factor_messages.h), the best labeling by the relaxation (engines/factor_relaxation.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "engines/factor_messages.h"
#include "engines/factor_relaxation.h"
#include "engines/tree_reweighting.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"
#include "structures/factor_graph.h"
#include "structures/inference_status.h"
#include "threads/parallel.h"

namespace margrave {

// A solver of the relaxation other than AD3.
class RelaxationSolver {
 public:
  virtual ~RelaxationSolver() = default;
  // Returns the bound of graph g. mu: the marginals of the parts; `labels`: those of the labels of all variables.
  virtual double solve(int64_t g, const double* theta, double* mu, double* labels) const = 0;
};

class GraphMessagesStructure final : public FactorGraphStructure {
 public:
  // relaxed: whether learners use the relaxation instead of outputs. exact: the graphs have no loops, so messages and
  // relaxation are exact. solver: null for AD3.
  GraphMessagesStructure(std::shared_ptr<const FactorGraphs> graphs, FactorGraphLabels labels, bool reweighted,
                         PropagationSettings messages, RelaxationSettings relaxation, bool relaxed, bool exact = false,
                         double most_kept = 0, std::shared_ptr<const RelaxationSolver> solver = nullptr)
      : FactorGraphStructure(std::move(graphs), std::move(labels)),
        reweighted_(reweighted),
        relaxed_(relaxed),
        exact_(exact),
        solver_(std::move(solver)),
        messages_(messages),
        relaxation_(relaxation),
        status_(size()) {
    if (messages.sweeps < 1 || relaxation.iterations < 1) throw InputError("there must be at least one iteration.");
    if (!(messages.damping >= 0 && messages.damping < 1)) throw InputError("damping must be at least 0, and below 1.");
    if (!(messages.tolerance > 0)) throw InputError("the tolerance of messages must be positive.");
    for (int64_t g = 0; g < this->graphs().graphs(); ++g) {
      layouts_.emplace_back(this->graphs(), g);
      if (reweighted_) forests_.emplace_back(this->graphs(), g, layouts_.back());
    }
    status_.make_room([&](int64_t i) { return layouts_[graph_of(i)].message_size; }, most_kept);
  }

  bool exact() const override { return exact_; }
  unsigned offers() const override { return kArgmax | kLogsum | (relaxed_ ? unsigned{kRelaxedArgmax} : 0u); }
  InferenceStatus& status() const { return status_; }

  double logsum(int64_t i, const double* theta, double* mu, Scratch&) const override {
    check_scores(i, theta);
    const int64_t g = graph_of(i);
    const MessageLayout& layout = layouts_[g];
    FactorMessages& engine = workspace().messages;
    std::vector<double>& kept = workspace().kept;
    if (!status_.load(i, kept)) kept.clear();
    Propagated found;
    if (reweighted_) {
      const TreeReweighting& forests = forests_[g];
      found = engine.run<false>(graphs(), g, layout, theta, messages_, nullptr, forests.rho().data(), kept);
      found.value = forests.bound(graphs(), g, layout, engine, theta, mu);
    } else {
      found = engine.run<false>(graphs(), g, layout, theta, messages_, mu, nullptr, kept);
    }
    if (found.value == -kInfinity) std::fill_n(mu, parts(i), 0.0);
    if (found.value > -kInfinity) status_.store(i, engine.messages());
    status_.set_sweeps(i, found.sweeps, found.converged);
    return found.value;
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch&) const override {
    check_scores(i, theta);
    std::vector<int32_t> labeling;
    const Relaxed found = relax(i, theta, labeling, nullptr);
    y.clear();
    if (found.value > -kInfinity) graphs().parts_of(graph_of(i), labeling.data(), y);
    return found.value;
  }

  double relaxed_argmax(int64_t i, const double* theta, double* mu, Scratch&) const override {
    check_scores(i, theta);
    std::vector<int32_t> labeling;
    return relax(i, theta, labeling, mu).bound;
  }

  // The labels with the highest max-marginals by max-product messages, and whether these have converged.
  std::pair<std::vector<int32_t>, bool> max_product(int64_t i, const double* theta) const {
    check_scores(i, theta);
    FactorMessages& engine = workspace().messages;
    const Propagated found = engine.run<true>(graphs(), graph_of(i), layouts_[graph_of(i)], theta, messages_, nullptr);
    std::vector<int32_t> labeling(variables(i));
    engine.decode(labeling.data());
    return {std::move(labeling), found.converged};
  }

  // The value after each of `sweeps` parallel sweeps: Bethe's, or the reweighted bound.
  std::vector<double> values(int64_t i, const double* theta, int sweeps, const Poll& poll) const {
    check_scores(i, theta);
    const int64_t g = graph_of(i);
    const MessageLayout& layout = layouts_[g];
    FactorMessages& engine = workspace().messages;
    engine.start(graphs(), g, layout, theta, reweighted_ ? forests_[g].rho().data() : nullptr);
    std::vector<double> found;
    for (int k = 0; k <= sweeps; ++k) {
      poll();
      if (k > 0) engine.sweep<false>(messages_);
      found.push_back(reweighted_ ? forests_[g].bound(graphs(), g, layout, engine, theta, nullptr) : engine.bethe());
    }
    return found;
  }

 private:
  struct Workspace {
    FactorMessages messages;
    FactorRelaxation relaxation;
    std::vector<double> kept;
  };
  // The best labeling found; with `mu`, the marginals of the parts.
  Relaxed relax(int64_t i, const double* theta, std::vector<int32_t>& labeling, double* mu) const {
    const int64_t g = graph_of(i);
    FactorRelaxation& ad3 = workspace().relaxation;
    Relaxed found;
    if (!solver_) {
      found = ad3.run(graphs(), g, layouts_[g], theta, relaxation_, labeling, mu);
    } else {
      std::vector<double> shares(parts(i)), of_labels(labels(i));
      found.bound = solver_->solve(g, theta, shares.data(), of_labels.data());
      round(g, of_labels, labeling);
      judge(i, theta, labeling, found);
      if (!found.certified && found.bound > -kInfinity) {  // AD3 may find better labelings than the rounded one
        std::vector<int32_t> other;
        const Relaxed more = ad3.run(graphs(), g, layouts_[g], theta, relaxation_, other);
        found.bound = std::min(found.bound, more.bound);
        if (more.value > found.value) labeling = other;
        judge(i, theta, labeling, found);
      }
      if (mu) std::copy(shares.begin(), shares.end(), mu);
      if (mu && found.certified) indicate(g, labeling, mu);
    }
    status_.set_certified(i, found.certified);
    return found;
  }

  void round(int64_t g, const std::vector<double>& of_labels, std::vector<int32_t>& labeling) const {
    labeling.resize(graphs().variables(g));
    auto first = of_labels.begin();
    for (int64_t v = 0; v < graphs().variables(g); ++v) {
      const auto last = first + graphs().labels(g, v);
      labeling[v] = static_cast<int32_t>(std::max_element(first, last) - first);
      first = last;
    }
  }

  // Sets the score of a labeling, and whether it attains the bound.
  void judge(int64_t i, const double* theta, const std::vector<int32_t>& labeling, Relaxed& found) const {
    const int64_t g = graph_of(i);
    Output y;
    std::vector<int32_t> tuple;
    bool allowed = graphs().parts_of(g, labeling.data(), y);
    for (int64_t h = 0; allowed && h < graphs().hards(g); ++h) {
      const HardFactor hard = graphs().hard(g, h);
      tuple.resize(hard.arity);
      for (int64_t j = 0; j < hard.arity; ++j) tuple[j] = labeling[hard.scope[j]];
      allowed = graphs().allows(g, hard, tuple.data());
    }
    found.value = allowed ? 0.0 : -kInfinity;
    for (const int32_t part : y) found.value += theta[part];
    const double size = size_of_scores(theta, parts(i)).largest * static_cast<double>(y.size());
    found.certified = found.value > -kInfinity && found.value >= found.bound - kReached * size;
  }

  void indicate(int64_t g, const std::vector<int32_t>& labeling, double* mu) const {
    Output y;
    graphs().parts_of(g, labeling.data(), y);
    std::fill_n(mu, graphs().parts(g), 0.0);
    for (const int32_t part : y) mu[part] = 1;
  }

  static Workspace& workspace() {
    thread_local Workspace ws;
    return ws;
  }
  void check_scores(int64_t i, const double* theta) const {
    for (int64_t k = 0; k < parts(i); ++k)
      if (!(theta[k] < kInfinity))
        throw InputError("example " + std::to_string(i) +
                         ": a score is not a number, or infinite; scale the features, "
                         "or lower C.");
  }

  static constexpr double kReached = 1e-8;  // relative to the size of the scores: a labeling this close to the bound
                                            // attains it

  bool reweighted_, relaxed_, exact_;
  std::shared_ptr<const RelaxationSolver> solver_;
  PropagationSettings messages_;
  RelaxationSettings relaxation_;
  std::vector<MessageLayout> layouts_;
  std::vector<TreeReweighting> forests_;
  mutable InferenceStatus status_;
};

}  // namespace margrave
