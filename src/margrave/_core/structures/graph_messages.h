// Factor graphs with approximate inference: sums and marginals by belief propagation or its tree-reweighted form
// (engines/factor_messages.h), the best labelling by the relaxation (engines/factor_relaxation.h).
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engines/factor_messages.h"
#include "engines/factor_relaxation.h"
#include "engines/tree_reweighting.h"
#include "structures/factor_graph.h"
#include "structures/inference_status.h"

namespace margrave {

class GraphMessagesStructure final : public FactorGraphStructure {
 public:
  // relaxed: whether the relaxation is offered to learners in place of outputs.
  GraphMessagesStructure(std::shared_ptr<const FactorGraphs> graphs, FactorGraphLabels labels, bool reweighted,
                         PropagationSettings messages, RelaxationSettings relaxation, bool relaxed)
      : FactorGraphStructure(std::move(graphs), std::move(labels)),
        reweighted_(reweighted),
        relaxed_(relaxed),
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
  }

  bool exact() const override { return false; }
  unsigned offers() const override { return kArgmax | kLogsum | (relaxed_ ? unsigned{kRelaxedArgmax} : 0u); }
  const InferenceStatus& status() const { return status_; }

  double logsum(int64_t i, const double* theta, double* mu, Scratch&) const override {
    check_scores(i, theta);
    const int64_t g = graph_of(i);
    const MessageLayout& layout = layouts_[at(g)];
    FactorMessages& engine = workspace().messages;
    Propagated found;
    if (reweighted_) {
      const TreeReweighting& forests = forests_[at(g)];
      found = engine.run<false>(graphs(), g, layout, theta, messages_, nullptr, forests.rho().data());
      found.value = forests.bound(graphs(), g, layout, engine, theta, mu);
    } else {
      found = engine.run<false>(graphs(), g, layout, theta, messages_, mu);
    }
    if (found.value == -kInfinity) std::fill_n(mu, parts(i), 0.0);
    status_.set_sweeps(i, found.sweeps, found.converged);
    return found.value;
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch&) const override {
    check_scores(i, theta);
    std::vector<int32_t> labelling;
    const Relaxed found =
        workspace().relaxation.run(graphs(), graph_of(i), layouts_[at(graph_of(i))], theta, relaxation_, labelling);
    status_.set_certified(i, found.certified);
    y.clear();
    if (found.value > -kInfinity) graphs().parts_of(graph_of(i), labelling.data(), y);
    return found.value;
  }

  double relaxed_argmax(int64_t i, const double* theta, double* mu, Scratch&) const override {
    check_scores(i, theta);
    std::vector<int32_t> labelling;
    const Relaxed found =
        workspace().relaxation.run(graphs(), graph_of(i), layouts_[at(graph_of(i))], theta, relaxation_, labelling, mu);
    status_.set_certified(i, found.certified);
    return found.bound;
  }

  // The labels of the highest max-marginals by max-product messages, and whether these have converged.
  std::pair<std::vector<int32_t>, bool> max_product(int64_t i, const double* theta) const {
    check_scores(i, theta);
    FactorMessages& engine = workspace().messages;
    const Propagated found =
        engine.run<true>(graphs(), graph_of(i), layouts_[at(graph_of(i))], theta, messages_, nullptr);
    std::vector<int32_t> labelling(at(variables(i)));
    engine.decode(labelling.data());
    return {std::move(labelling), found.converged};
  }

  // The value after each of so many parallel sweeps: Bethe's, or the reweighted bound.
  std::vector<double> values(int64_t i, const double* theta, int sweeps) const {
    check_scores(i, theta);
    const int64_t g = graph_of(i);
    const MessageLayout& layout = layouts_[at(g)];
    FactorMessages& engine = workspace().messages;
    engine.start(graphs(), g, layout, theta, reweighted_ ? forests_[at(g)].rho().data() : nullptr);
    std::vector<double> found;
    for (int k = 0; k <= sweeps; ++k) {
      if (k > 0) engine.sweep<false>(messages_);
      found.push_back(reweighted_ ? forests_[at(g)].bound(graphs(), g, layout, engine, theta, nullptr)
                                  : engine.bethe());
    }
    return found;
  }

 private:
  struct Workspace {
    FactorMessages messages;
    FactorRelaxation relaxation;
  };
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

  bool reweighted_, relaxed_;
  PropagationSettings messages_;
  RelaxationSettings relaxation_;
  std::vector<MessageLayout> layouts_;
  std::vector<TreeReweighting> forests_;
  mutable InferenceStatus status_;
};

}  // namespace margrave
