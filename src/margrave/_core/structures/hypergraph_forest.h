// Forests: hypergraphs whose edges are parts and carry target words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engines/lazy_kbest.h"
#include "engines/strings.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"
#include "structures/hypergraph.h"

namespace margrave {

// The strings of a forest, in addition to its hypergraph.
struct ForestStrings {
  std::vector<int32_t> heads;
  std::vector<std::vector<int32_t>> tails;
  std::vector<Pattern> targets;  // words, and -1 - j for tail j
};

// Outputs list their edges depth first, since a derivation may contain several edges of the same node.
class ForestStructure final : public HypergraphStructure {
 public:
  ForestStructure(std::vector<Example> examples, std::vector<ForestStrings> strings, bool has_gold)
      : HypergraphStructure(std::move(examples), has_gold), strings_(std::move(strings)) {
    if (static_cast<int64_t>(strings_.size()) != size())
      throw InputError("every forest needs the targets of its edges.");
    for (int64_t i = 0; i < size(); ++i) {
      const ForestStrings& forest = strings_[i];
      const auto edges = static_cast<size_t>(of(i).graph->edges());
      if (forest.heads.size() != edges || forest.tails.size() != edges || forest.targets.size() != edges)
        throw InputError("every edge of a forest needs a head, tails and a target.");
      for (size_t e = 0; e < edges; ++e)
        for (const int32_t symbol : forest.targets[e])
          if (symbol < 0 && static_cast<size_t>(-1 - symbol) >= forest.tails[e].size())
            throw InputError("the target of edge " + std::to_string(e) +
                             " refers to a tail that the edge does not have.");
    }
  }

  // The k best distinct strings, best first; each has the score and the edges of its best derivation.
  void kbest_strings(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const {
    Strings strings;
    const Spelled graph(strings_[i], of(i).graph->nodes(), theta, strings);
    const auto add = [](int64_t e, Output& y) { y.push_back(static_cast<int32_t>(e)); };
    kbest_outputs(graph, graph.nodes() - 1, k, add, ys);
  }

 private:
  // The forest under given scores, for LazyKbest. Edges are sorted by head.
  class Spelled {
   public:
    Spelled(const ForestStrings& forest, int64_t nodes, const double* theta, Strings& strings)
        : forest_(forest), theta_(theta), strings_(strings), best_(nodes, -kInfinity), choice_(nodes, -1) {
      begin_.assign(nodes + 1, 0);
      for (size_t e = 0; e < forest.heads.size(); ++e) {
        const size_t head = forest.heads[e];
        begin_[head + 1] = static_cast<int64_t>(e) + 1;
        double total = theta[e];
        for (const int32_t tail : forest.tails[e]) total += best_[tail];
        if (total > best_[head]) {
          best_[head] = total;
          choice_[head] = static_cast<int64_t>(e);
        }
      }
      for (size_t v = 1; v < begin_.size(); ++v) begin_[v] = std::max(begin_[v], begin_[v - 1]);
    }

    int64_t nodes() const { return static_cast<int64_t>(best_.size()); }
    double best(int64_t v) const { return best_[v]; }
    int64_t best_edge(int64_t v) const { return choice_[v]; }
    template <class Visit>
    void each_edge(int64_t v, const Visit& visit) const {
      for (int64_t e = begin_[v]; e < begin_[v + 1]; ++e) visit(e);
    }
    int64_t tail_count(int64_t e) const { return static_cast<int64_t>(forest_.tails[e].size()); }
    int64_t tail(int64_t e, int64_t j) const { return forest_.tails[e][j]; }
    double score(int64_t e) const { return theta_[e]; }
    int64_t string(int64_t e, const std::vector<int64_t>& keys) const {
      const Pattern& target = forest_.targets[e];
      return strings_.join(target.data(), target.data() + target.size(), keys);
    }

   private:
    const ForestStrings& forest_;
    const double* theta_;
    Strings& strings_;
    std::vector<double> best_;
    std::vector<int64_t> choice_;
    std::vector<int64_t> begin_;  // by head
  };

  std::vector<ForestStrings> strings_;
};

}  // namespace margrave
