// Python bindings of the features of factors.
#include "features/factor_map.h"

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/features.h"
#include "structures/factor_graph.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<Features>();
  nb::class_<FactorMap, Features>(m, "FactorMap");
  m.def(
      "factor_map",
      [](const FactorGraphStructure& structure, const In<int32_t>& group_of,
         const std::vector<std::tuple<int64_t, int64_t, In<int32_t>, std::shared_ptr<Tokens>, bool>>& groups)
          -> std::shared_ptr<FactorMap> {
        std::vector<FactorMap::Group> all;
        for (const auto& [attributes, columns, column, rows, shared] : groups)
          all.push_back({attributes, columns, to_vector(column), rows, shared});
        return std::make_shared<FactorMap>(structure.shared_graphs(), to_vector(group_of), std::move(all));
      },
      "structure"_a, "group_of"_a, "groups"_a,
      "Weights of the soft factors of graphs, tied by groups. group_of: the group of each factor of each graph. "
      "groups: for each, the number of attributes, the number of columns, the column of each cell (-1: none), the rows "
      "of the attributes of its factors, and whether all of its factors in an example share one row.");
}

static const Registration registration(bind);

}  // namespace margrave
