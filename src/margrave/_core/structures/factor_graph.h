// Base of all structures of factor graphs: graphs, gold labels and costs. Each derived class implements one method of
// inference.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/factor_graphs.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/structure.h"
#include "structures/label_cost.h"

namespace margrave {

// The gold labels of a dataset and the costs of wrong ones.
struct FactorGraphLabels {
  std::vector<int32_t> gold;  // one per variable, example by example; empty if unknown
  // Every variable of every graph has a set of labels, and each set has its own cost. Empty costs: all are 0.
  std::vector<int32_t> set_of;  // (variables of all graphs); empty if there are no costs and it is not needed
  std::vector<std::shared_ptr<const LabelCost>> costs;
  std::vector<uint8_t> allowed;  // for each label of each variable of each example; empty: all are allowed
};

class FactorGraphStructure : public Structure {
 public:
  FactorGraphStructure(std::shared_ptr<const FactorGraphs> graphs, FactorGraphLabels labels)
      : graphs_(std::move(graphs)), labels_(std::move(labels)) {
    for (int64_t i = 0; i < size(); ++i) {
      const int64_t g = graph_of(i);
      variable_begin_.push_back(variable_begin_.back() + graphs_->variables(g));
      int64_t labels_of_all = 0;
      for (int64_t v = 0; v < graphs_->variables(g); ++v) labels_of_all += graphs_->labels(g, v);
      label_begin_.push_back(label_begin_.back() + labels_of_all);
    }
    graph_begin_.push_back(0);
    for (int64_t g = 0; g < graphs_->graphs(); ++g) graph_begin_.push_back(graph_begin_.back() + graphs_->variables(g));
    check_costs();
    if (!labels_.allowed.empty() && static_cast<int64_t>(labels_.allowed.size()) != label_begin_.back())
      throw InputError("allowed labels must be given for every label of every variable.");
    check_allowed();
    check_gold();
  }

  const FactorGraphs& graphs() const { return *graphs_; }
  const std::shared_ptr<const FactorGraphs>& shared_graphs() const { return graphs_; }
  int64_t graph_of(int64_t i) const { return graphs_->graph_of(i); }
  int64_t variables(int64_t i) const { return graphs_->variables(graph_of(i)); }
  // The total number of labels of the variables of an example: the length of its label marginals.
  int64_t labels(int64_t i) const { return label_begin_[i + 1] - label_begin_[i]; }

  // The set of labels of each variable of an example.
  const int32_t* sets(int64_t i) const {
    if (labels_.set_of.empty()) throw InputError("this problem was bound without sets of labels.");
    return labels_.set_of.data() + graph_begin_[graph_of(i)];
  }

  int64_t size() const override { return graphs_->examples(); }
  int64_t parts(int64_t i) const override { return graphs_->parts(graph_of(i)); }
  bool has_gold() const override { return !labels_.gold.empty() || size() == 0; }
  const int32_t* gold_labels(int64_t i) const {
    if (!has_gold()) throw InputError("this problem was bound without gold labels.");
    return labels_.gold.data() + variable_begin_[i];
  }
  void gold(int64_t i, int64_t, Output& y) const override { graphs_->parts_of(graph_of(i), gold_labels(i), y); }

  // Each variable is charged at its home.
  double cost(int64_t i, double* delta) const override {
    const int64_t g = graph_of(i);
    std::fill(delta, delta + parts(i), 0.0);
    if (labels_.costs.empty()) return 0.0;
    const int32_t* y = gold_labels(i);
    double c0 = 0;
    std::vector<double> row;
    std::vector<int32_t> tuple;
    for (int64_t v = 0; v < variables(i); ++v) {
      const LabelCost& cost = *labels_.costs[labels_.set_of[graph_begin_[g] + v]];
      row.resize(cost.labels());
      cost.row(y[v], row.data());
      const int64_t without = graphs_->label_without_part(g, v);
      if (without >= 0) {
        const double rest = row[without];
        c0 += rest;
        for (double& each : row) each -= rest;
      }
      const SoftFactor home = graphs_->factor(g, graphs_->home(g, v));
      const int64_t place = std::find(home.scope, home.scope + home.arity, static_cast<int32_t>(v)) - home.scope;
      tuple.resize(home.arity);
      for (int64_t part = 0; part < home.parts; ++part) {
        graphs_->tuple(g, home, home.cell_of(part), tuple.data());
        delta[home.first_part + part] += row[tuple[place]];
      }
    }
    return c0;
  }

  bool constrained() const override { return !labels_.allowed.empty(); }
  // Forbids the cells of forbidden labels in the homes of their variables.
  void forbid(int64_t i, double* theta) const override {
    if (labels_.allowed.empty()) return;
    const int64_t g = graph_of(i);
    const uint8_t* allowed = labels_.allowed.data() + label_begin_[i];
    std::vector<int32_t> tuple;
    for (int64_t v = 0; v < variables(i); ++v) {
      const SoftFactor home = graphs_->factor(g, graphs_->home(g, v));
      const int64_t place = std::find(home.scope, home.scope + home.arity, static_cast<int32_t>(v)) - home.scope;
      tuple.resize(home.arity);
      for (int64_t part = 0; part < home.parts; ++part) {
        graphs_->tuple(g, home, home.cell_of(part), tuple.data());
        if (!allowed[tuple[place]]) theta[home.first_part + part] = -kInfinity;
      }
      allowed += graphs_->labels(g, v);
    }
  }

  // The labels of an output of example i, from its parts in ascending order.
  void read(int64_t i, const int32_t* y, int64_t size, int32_t* labeling) const {
    for (int64_t k = 0; k < size; ++k)
      if (y[k] < 0 || y[k] >= parts(i) || (k > 0 && y[k] <= y[k - 1]))
        throw InputError("example " + std::to_string(i) + ": its parts are out of range or not in order.");
    graphs_->labeling_of(graph_of(i), y, size, labeling);
  }
  void label_marginals(int64_t i, const double* mu, double* marginals) const {
    graphs_->label_marginals(graph_of(i), mu, marginals);
  }

 protected:
 private:
  void check_costs() const {
    if ((!labels_.set_of.empty() || !labels_.costs.empty()) &&
        static_cast<int64_t>(labels_.set_of.size()) != graph_begin_.back())
      throw InputError("there must be a set of labels for each variable of each graph.");
    if (labels_.costs.empty()) return;
    for (int64_t g = 0; g < graphs_->graphs(); ++g)
      for (int64_t v = 0; v < graphs_->variables(g); ++v) {
        const int32_t set = labels_.set_of[graph_begin_[g] + v];
        if (set < 0 || static_cast<size_t>(set) >= labels_.costs.size() || !labels_.costs[set])
          throw InputError("the set of labels of a variable has no costs.");
        if (labels_.costs[set]->labels() != graphs_->labels(g, v))
          throw InputError("graph " + std::to_string(g) + ": variable " + std::to_string(v) + " has " +
                           std::to_string(graphs_->labels(g, v)) + " labels, and costs of " +
                           std::to_string(labels_.costs[set]->labels()) + ".");
      }
  }

  // A label without a part at home cannot be forbidden.
  void check_allowed() const {
    for (int64_t i = 0; i < size() && constrained(); ++i) {
      const uint8_t* allowed = labels_.allowed.data() + label_begin_[i];
      for (int64_t v = 0; v < variables(i); ++v) {
        const int64_t without = graphs_->label_without_part(graph_of(i), v);
        if (without >= 0 && !allowed[without])
          throw InputError("example " + std::to_string(i) + ": label " + std::to_string(without) + " of variable " +
                           std::to_string(v) + " has no part, so it cannot be forbidden.");
        allowed += graphs_->labels(graph_of(i), v);
      }
    }
  }

  // A gold labeling must be an output.
  void check_gold() const {
    if (labels_.gold.empty()) return;
    if (static_cast<int64_t>(labels_.gold.size()) != variable_begin_.back())
      throw InputError("there must be a gold label for each variable of each example.");
    Output y;
    std::vector<int32_t> tuple;
    for (int64_t i = 0; i < size(); ++i) {
      const int64_t g = graph_of(i);
      const int32_t* gold = gold_labels(i);
      const std::string where = "example " + std::to_string(i);
      const uint8_t* allowed = labels_.allowed.empty() ? nullptr : labels_.allowed.data() + label_begin_[i];
      for (int64_t v = 0; v < variables(i); ++v) {
        if (gold[v] < 0 || gold[v] >= graphs_->labels(g, v))
          throw InputError(where + ": the gold label of variable " + std::to_string(v) + " is out of range.");
        if (allowed && !allowed[gold[v]])
          throw InputError(where + ": the gold label of variable " + std::to_string(v) + " is not allowed.");
        if (allowed) allowed += graphs_->labels(g, v);
      }
      if (!graphs_->parts_of(g, gold, y))
        throw InputError(where + ": a factor does not list the tuple that the gold labels have.");
      for (int64_t h = 0; h < graphs_->hards(g); ++h) {
        const HardFactor hard = graphs_->hard(g, h);
        tuple.resize(hard.arity);
        for (int64_t j = 0; j < hard.arity; ++j) tuple[j] = gold[hard.scope[j]];
        if (!graphs_->allows(g, hard, tuple.data()))
          throw InputError(where + ": its gold labels break hard factor " + std::to_string(h) + " of its graph.");
      }
    }
  }

  std::shared_ptr<const FactorGraphs> graphs_;
  FactorGraphLabels labels_;
  std::vector<int64_t> variable_begin_{0};  // (examples + 1)
  std::vector<int64_t> label_begin_{0};     // (examples + 1)
  std::vector<int64_t> graph_begin_;        // (graphs + 1): variables
};

}  // namespace margrave
