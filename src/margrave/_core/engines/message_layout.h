// The memory layout of the messages of belief propagation (engines/factor_messages.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engines/factor_graphs.h"
#include "protocol/checks.h"

namespace margrave {

// Which factors of a graph send messages, to which variables, and where messages are stored. Independent of scores.
struct MessageLayout {
  struct Sender {
    bool hard;
    int64_t number;      // among the soft or the hard factors of the graph
    int64_t first_edge;  // its edges are in the order of its scope
    int64_t arity;
    int64_t table = -1;  // where its table of exponentials begins; -1: none
  };
  struct Edge {
    int32_t sender;
    int32_t variable;
    int64_t begin;  // of its message
  };

  MessageLayout() = default;
  MessageLayout(const FactorGraphs& graphs, int64_t g) {
    for (int64_t v = 0; v < graphs.variables(g); ++v) label_begin.push_back(label_begin.back() + graphs.labels(g, v));
    const auto add = [&](bool hard, int64_t number, int64_t arity, const int32_t* scope) {
      Sender sender{hard, number, static_cast<int64_t>(edges.size()), arity};
      for (int64_t j = 0; j < arity; ++j) {
        edges.push_back({static_cast<int32_t>(senders.size()), scope[j], message_size});
        message_size += graphs.labels(g, scope[j]);
      }
      if (!hard && arity == 2 && graphs.factor(g, number).form == FactorForm::kDense) {
        sender.table = table_size;
        table_size += graphs.factor(g, number).cells;
      }
      senders.push_back(sender);
    };
    for (int64_t f = 0; f < graphs.factors(g); ++f) {
      const SoftFactor soft = graphs.factor(g, f);
      if (soft.arity == 1) continue;
      if (soft.form == FactorForm::kPartial && soft.cells > kMostCells)
        throw InputError("graph " + std::to_string(g) + ", soft factor " + std::to_string(f) + ": its table has " +
                         std::to_string(soft.cells) + " cells, which are too many for messages: list its tuples.");
      add(false, f, soft.arity, soft.scope);
    }
    for (int64_t h = 0; h < graphs.hards(g); ++h) {
      const HardFactor hard = graphs.hard(g, h);
      add(true, h, hard.arity, hard.scope);
    }
    edge_begin.assign(static_cast<size_t>(graphs.variables(g)) + 1, 0);
    for (const Edge& edge : edges) ++edge_begin[static_cast<size_t>(edge.variable) + 1];
    for (size_t v = 1; v < edge_begin.size(); ++v) edge_begin[v] += edge_begin[v - 1];
    edges_of.resize(edges.size());
    std::vector<int64_t> next(edge_begin.begin(), edge_begin.end() - 1);
    for (size_t e = 0; e < edges.size(); ++e) edges_of[next[edges[e].variable]++] = static_cast<int32_t>(e);
  }

  static constexpr int64_t kMostCells = int64_t{1} << 24;

  std::vector<int64_t> label_begin{0};  // (variables + 1)
  std::vector<Sender> senders;
  std::vector<Edge> edges;
  std::vector<int64_t> edge_begin;  // (variables + 1), in edges_of
  std::vector<int32_t> edges_of;    // the edges of each variable
  int64_t message_size = 0, table_size = 0;
};

}  // namespace margrave
