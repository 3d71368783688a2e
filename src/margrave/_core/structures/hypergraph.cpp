// Python bindings of hypergraphs.
#include "structures/hypergraph.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/structure.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<Structure>();
  nb::class_<HypergraphStructure, Structure>(m, "HypergraphStructure");
  nb::class_<Hypergraph>(m, "Hypergraph")
      .def(
          "__init__",
          [](Hypergraph* self, int64_t nodes, const In<int32_t>& heads, const In<int64_t>& tail_begin,
             const In<int32_t>& tails, const In<int64_t>& part_begin, const In<int32_t>& parts) {
            checked_count(nodes, "nodes of a hypergraph", 1);
            check_used(nodes, static_cast<int64_t>(heads.size() + tails.size()), "nodes of a hypergraph");
            new (self) Hypergraph(nodes, to_vector(heads), to_vector(tail_begin), to_vector(tails),
                                  to_vector(part_begin), to_vector(parts));
          },
          "nodes"_a, "heads"_a, "tail_begin"_a, "tails"_a, "part_begin"_a, "parts"_a)
      .def_prop_ro("nodes", &Hypergraph::nodes)
      .def_prop_ro("edges", &Hypergraph::edges)
      .def_prop_ro("parts", &Hypergraph::parts);
  m.def(
      "hypergraphs",
      [](const std::vector<std::shared_ptr<Hypergraph>>& graphs, const In<int64_t>& parts,
         const std::optional<std::vector<In<int32_t>>>& gold, const std::optional<std::vector<In<double>>>& delta,
         const std::optional<In<double>>& c0) -> std::shared_ptr<HypergraphStructure> {
        const auto n = static_cast<int64_t>(graphs.size());
        expect_size(parts, n, "parts");
        if (gold) expect_size(*gold, n, "gold");
        if (delta) expect_size(*delta, n, "delta");
        if (c0) expect_size(*c0, n, "c0");
        std::vector<HypergraphStructure::Example> examples;
        for (size_t i = 0; i < graphs.size(); ++i) {
          if (!graphs[i]) throw InputError("example " + std::to_string(i) + " has no hypergraph.");
          checked_count(parts.data()[i], "parts of a hypergraph");
          check_used(parts.data()[i], graphs[i]->parts(), "parts of a hypergraph");
          examples.push_back({graphs[i], parts.data()[i], gold ? to_vector((*gold)[i]) : Output(),
                              delta ? to_vector((*delta)[i]) : std::vector<double>(), c0 ? c0->data()[i] : 0.0});
        }
        return std::make_shared<HypergraphStructure>(std::move(examples), gold.has_value());
      },
      "graphs"_a, "parts"_a, "gold"_a.none(), "delta"_a.none(), "c0"_a.none());
}

static const Registration registration(bind);

}  // namespace margrave
