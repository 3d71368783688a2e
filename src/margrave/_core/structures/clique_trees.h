// Factor graphs with exact inference by clique trees, or by the kernel of chains if a graph is one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/clique_tree.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "structures/chain_graph.h"
#include "structures/factor_graph.h"

namespace margrave {

class CliqueTreeStructure final : public FactorGraphStructure {
 public:
  // most_bytes: memory limit of the tables of one graph.
  CliqueTreeStructure(std::shared_ptr<const FactorGraphs> data, FactorGraphLabels labels, double most_bytes)
      : FactorGraphStructure(std::move(data), std::move(labels)) {
    offers_ = kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample | kEntropy | kUntied;
    for (int64_t g = 0; g < graphs().graphs(); ++g) {
      trees_.push_back(std::make_shared<const CliqueTree>(graphs(), g, most_bytes));
      chains_.push_back(ChainGraph::make(graphs(), g));
      if (trees_.back()->restricted()) expect_outputs(g);
      if (!trees_.back()->factors_are_cliques()) offers_ &= ~static_cast<unsigned>(kEntropy | kUntied);
      if (trees_.back()->cells() > kMostCosted) offers_ &= ~static_cast<unsigned>(kArgmaxByCost);
    }
  }

  unsigned offers() const override { return offers_; }
  int64_t width() const {
    int64_t widest = 0;
    for (const auto& tree : trees_) widest = std::max(widest, tree->width());
    return widest;
  }
  int64_t bytes() const {
    int64_t most = 0;
    for (const auto& tree : trees_) most = std::max(most, tree->bytes());
    return most;
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    if (const ChainGraph* chain = chain_of(i)) {
      const double best = chain->kernel().argmax(0, chain->ordered(theta, scratch), y, scratch);
      chain->rename(y);
      return best;
    }
    std::vector<int32_t> labeling(variables(i));
    const double value = of(i).argmax(theta, labeling.data(), scratch);
    y.clear();
    if (value > -kInfinity) graphs().parts_of(graph_of(i), labeling.data(), y);
    return value;
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    if (const ChainGraph* chain = chain_of(i)) {
      const double* ordered = chain->ordered(theta, scratch);
      return chain->fill(mu, [&](double* all) { return chain->kernel().logsum(0, ordered, all, scratch); }, scratch);
    }
    return of(i).logsum(theta, mu, scratch);
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch&) const override {
    if (!(offers_ & kArgmaxByCost)) unsupported("argmax_by_cost");
    of(i).argmax_by_cost(theta, delta, ys);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    if (const ChainGraph* chain = chain_of(i)) {
      chain->kernel().kbest(0, chain->ordered(theta, scratch), k, ys, scratch);
      for (ScoredOutput& each : ys) chain->rename(each.y);
      return;
    }
    ys.clear();
    check_sums(i, theta);
    of(i).kbest(
        theta, k,
        [&](double value, const int32_t* labeling) {
          ys.push_back({value, {}});
          graphs().parts_of(graph_of(i), labeling, ys.back().y);
        },
        scratch);
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<Output> one(1);
    sample_many(i, theta, random, one, scratch);
    y = std::move(one.front());
  }
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                   Scratch& scratch) const override {
    size_t k = 0;
    const bool any = of(i).sample(
        theta, static_cast<int64_t>(ys.size()), random,
        [&](const int32_t* labeling) { graphs().parts_of(graph_of(i), labeling, ys[k++]); }, scratch);
    if (!any) throw InputError("every output is forbidden.");
  }
  double entropy(int64_t i, const double* mu, double* t, Scratch& scratch) const override {
    if (!(offers_ & kEntropy))
      return unsupported("entropy (it needs graphs in which every clique is the scope of a factor)"), 0.0;
    if (const ChainGraph* chain = chain_of(i)) {
      const double* ordered = chain->ordered(mu, scratch);
      return chain->fill(t, [&](double* all) { return chain->kernel().entropy(0, ordered, all, scratch); }, scratch);
    }
    return of(i).entropy(mu, t, scratch);
  }

 private:
  static constexpr int64_t kMostCosted = 1 << 18;  // cells of cliques: the best output by cost stores lists for each

  const ChainGraph* chain_of(int64_t i) const { return chains_[graph_of(i)].get(); }
  const CliqueTree& of(int64_t i) const { return *trees_[graph_of(i)]; }

  // Ranks are those of sums of scores, which must be comparable.
  void check_sums(int64_t i, const double* theta) const {
    double total = 0;
    for (int64_t k = 0; k < parts(i); ++k)
      if (theta[k] != -kInfinity) total += std::fabs(theta[k]);
    if (!(total < kInfinity))
      throw InputError("example " + std::to_string(i) +
                       ": sums of its scores would be infinite; scale the features, or lower C.");
  }

  // Rejects a graph whose hard and listed factors allow no output.
  void expect_outputs(int64_t g) const {
    const std::vector<double> zeros(graphs().parts(g), 0.0);
    std::vector<int32_t> labeling(graphs().variables(g));
    Scratch scratch;
    if (trees_[g]->argmax(zeros.data(), labeling.data(), scratch) == -kInfinity)
      throw InputError("graph " + std::to_string(g) +
                       ": its hard factors and the tuples that it lists leave no output.");
  }

  std::vector<std::shared_ptr<const CliqueTree>> trees_;   // (graphs)
  std::vector<std::shared_ptr<const ChainGraph>> chains_;  // (graphs): null if a graph is not a chain
  unsigned offers_ = 0;
};

}  // namespace margrave
