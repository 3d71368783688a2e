// A dataset whose outputs are the derivations of one hypergraph per example.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engines/hypergraph.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"

namespace margrave {

class HypergraphStructure : public Structure {
 public:
  struct Example {
    std::shared_ptr<const Hypergraph> graph;
    int64_t parts;
    Output gold;
    std::vector<double> delta;  // empty: all costs are 0
    double c0 = 0;
  };

  HypergraphStructure(std::vector<Example> examples, bool has_gold)
      : examples_(std::move(examples)), has_gold_(has_gold) {
    for (const Example& example : examples_) {
      if (example.graph->parts() > example.parts) throw InputError("a hypergraph has more parts than its example.");
      for (const int32_t part : example.gold)
        if (part < 0 || part >= example.parts) throw InputError("a gold part is out of range.");
      if (!example.delta.empty() && static_cast<int64_t>(example.delta.size()) != example.parts)
        throw InputError("costs must be given for every part.");
    }
  }

  int64_t size() const override { return static_cast<int64_t>(examples_.size()); }
  int64_t parts(int64_t i) const override { return of(i).parts; }
  // A part occurs at most as often as the longest output has parts.
  int64_t repeats(int64_t i) const override {
    return static_cast<int64_t>(std::clamp(of(i).graph->longest(), 1.0, 0x1.0p53));
  }
  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample; }
  bool has_gold() const override { return has_gold_; }
  void gold(int64_t i, int64_t, Output& y) const override {
    if (!has_gold_) throw InputError("this problem was bound without gold outputs.");
    y = of(i).gold;
  }
  double cost(int64_t i, double* delta) const override {
    const Example& example = of(i);
    if (example.delta.empty())
      std::fill(delta, delta + example.parts, 0.0);
    else
      std::copy(example.delta.begin(), example.delta.end(), delta);
    return example.c0;
  }
  double argmax(int64_t i, const double* theta, Output& y, Scratch&) const override {
    return of(i).graph->argmax(theta, y);
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch&) const override {
    return of(i).graph->logsum(theta, of(i).parts, mu);
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch&) const override {
    of(i).graph->argmax_by_cost(theta, delta, of(i).parts, ys);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const override {
    of(i).graph->kbest(theta, k, ys);
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch&) const override {
    if (!of(i).graph->sample(theta, random, y)) throw InputError("every output is forbidden.");
  }

 protected:
  const Example& of(int64_t i) const { return examples_[i]; }

 private:
  std::vector<Example> examples_;
  bool has_gold_;
};

}  // namespace margrave
