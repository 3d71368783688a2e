// Python bindings of the feature map of alignments.
#include "features/alignment_map.h"

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/structure.h"
#include "structures/alignment_edges.h"
#include "structures/homology.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<Features>();
  using TableTuple = std::tuple<std::shared_ptr<Tokens>, std::shared_ptr<Tokens>, int64_t, int64_t, bool>;
  using GapTuple = std::tuple<std::shared_ptr<Tokens>, std::shared_ptr<Tokens>, int64_t>;
  nb::class_<AlignmentMap, Features>(m, "AlignmentMap");
  nb::class_<AlignmentEdgeMap, Features>(m, "AlignmentEdgeMap");
  m.def(
      "alignment_map",
      [](const std::shared_ptr<Structure>& structure, const std::vector<TableTuple>& tables,
         const std::vector<GapTuple>& gaps, bool ends) -> std::shared_ptr<Features> {
        const auto edges = std::dynamic_pointer_cast<AlignmentEdges>(structure);
        const auto* pairs = dynamic_cast<const AlignmentStructure*>(structure.get());
        const auto* alignments = dynamic_cast<const Alignments*>(structure.get());
        const auto* homology = dynamic_cast<const HomologyStructure*>(structure.get());
        if (!pairs && !homology && !edges)
          throw InputError("this map is one of alignments, and the structure is another one.");
        if (tables.empty() && gaps.empty()) throw InputError("a map of alignments needs a table or a view of gaps.");
        std::vector<int64_t> parts, longest;
        for (int64_t i = 0; i < structure->size(); ++i) {
          parts.push_back(edges ? edges->layout().count(edges->n(i), edges->m(i)) : structure->parts(i));
          longest.push_back(homology ? homology->repeats(i) : alignments->longest(i));
        }
        std::vector<AlignmentMap::Table> of_pairs;
        for (const auto& [x, y, rows, columns, symmetric] : tables) {
          if (!x || !y) throw InputError("a table needs the rows of both sequences.");
          checked_count(rows, "codes of a table");
          checked_count(columns, "codes of a table");
          of_pairs.push_back({x, y, rows, columns, symmetric});
        }
        std::vector<AlignmentMap::GapView> of_gaps;
        for (const auto& [x, y, codes] : gaps) {
          if (!x || !y) throw InputError("a view of gaps needs the rows of both sequences.");
          checked_count(codes, "codes of a view of gaps");
          of_gaps.push_back({x, y, codes});
        }
        const PairParts& layout = pairs ? pairs->layout() : edges ? edges->layout() : homology->layout();
        auto map = std::make_shared<AlignmentMap>(layout, std::move(parts), std::move(longest), std::move(of_pairs),
                                                  std::move(of_gaps), ends);
        if (edges) return std::make_shared<AlignmentEdgeMap>(edges, std::move(map));
        return map;
      },
      "structure"_a, "tables"_a, "gaps"_a, "ends"_a,
      "The feature map of alignments. tables: rows of x, rows of y, their numbers of codes, whether it is symmetric. "
      "gaps: rows of x, rows of y, the number of codes. ends: whether gaps at the ends have separate weights. The "
      "result is an AlignmentEdgeMap for AlignmentEdges, and an AlignmentMap otherwise.");
}

static const Registration registration(bind);

}  // namespace margrave
