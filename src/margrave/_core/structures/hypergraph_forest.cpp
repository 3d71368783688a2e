// Python bindings of forests.
#include "structures/hypergraph_forest.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/edge_graphs.h"
#include "protocol/checks.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<HypergraphStructure>();
  nb::class_<ForestStructure, HypergraphStructure>(m, "ForestStructure")
      .def("kbest_strings", &kbest_strings<ForestStructure>, "i"_a, "theta"_a, "k"_a,
           "The k best distinct strings, best first: the score and the edges of their best derivation.");
  m.def(
      "forests",
      [](const In<int64_t>& nodes, const In<int64_t>& edge_begin, const In<int32_t>& heads,
         const In<int64_t>& tail_begin, const In<int32_t>& tails, const In<int64_t>& target_begin,
         const In<int32_t>& targets, const std::optional<std::pair<In<int64_t>, In<int32_t>>>& gold,
         bool costs) -> std::shared_ptr<ForestStructure> {
        const auto n = static_cast<int64_t>(nodes.size());
        const auto edges = static_cast<int64_t>(heads.size());
        expect_size(edge_begin, n + 1, "edge_begin");
        int64_t all_nodes = 0;
        for (int64_t i = 0; i < n; ++i) all_nodes += checked_count(nodes.data()[i], "nodes of a forest", 1);
        check_used(all_nodes, n + edges + static_cast<int64_t>(tails.size()), "nodes of all forests");
        expect_size(tail_begin, edges + 1, "tail_begin");
        expect_size(target_begin, edges + 1, "target_begin");
        if (gold) expect_size(gold->first, n + 1, "the bounds of gold outputs");
        const auto by_example = lists_of(edge_begin, heads, 0, n, "edges");
        std::vector<HypergraphStructure::Example> examples;
        std::vector<ForestStrings> strings;
        for (int64_t i = 0; i < n; ++i) {
          const auto k = static_cast<size_t>(i);
          const int64_t first = edge_begin.data()[i];
          const int64_t last = edge_begin.data()[i + 1];
          strings.push_back({by_example[k], lists_of(tail_begin, tails, first, last, "tails"),
                             lists_of(target_begin, targets, first, last, "targets")});
          const auto& of_tails = strings.back().tails;
          std::vector<int64_t> tail_bounds{0};
          std::vector<int64_t> part_bounds{0};
          std::vector<int32_t> flat;
          std::vector<int32_t> parts;
          for (size_t e = 0; e < of_tails.size(); ++e) {
            flat.insert(flat.end(), of_tails[e].begin(), of_tails[e].end());
            tail_bounds.push_back(static_cast<int64_t>(flat.size()));
            parts.push_back(static_cast<int32_t>(e));
            part_bounds.push_back(static_cast<int64_t>(parts.size()));
          }
          const auto count = static_cast<int64_t>(parts.size());
          HypergraphStructure::Example example{
              std::make_shared<Hypergraph>(nodes.data()[i], by_example[k], std::move(tail_bounds), std::move(flat),
                                           std::move(part_bounds), std::move(parts),
                                           Hypergraph::PartOrder::kDepthFirst),
              count,
              {},
              {},
              0.0};
          if (gold) example.gold = lists_of(gold->first, gold->second, i, i + 1, "gold outputs")[0];
          if (costs) {
            example.delta.assign(static_cast<size_t>(count), 1.0);
            for (const int32_t part : example.gold) {
              if (part < 0 || part >= count) throw InputError("a gold edge is out of range.");
              example.delta[part] = 0.0;
            }
          }
          examples.push_back(std::move(example));
        }
        return std::make_shared<ForestStructure>(std::move(examples), std::move(strings), gold.has_value());
      },
      "nodes"_a, "edge_begin"_a, "heads"_a, "tail_begin"_a, "tails"_a, "target_begin"_a, "targets"_a, "gold"_a.none(),
      "costs"_a,
      "The derivations of forests; every edge is a part. targets: words, and -1 - j for tail j. gold: where the edges "
      "of each gold derivation begin, and the edges. costs: whether edges that are not in the gold derivation cost 1.");
}

static const Registration registration(bind);

}  // namespace margrave
