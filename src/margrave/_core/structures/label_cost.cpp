// Python bindings of the costs of labels.
#include "structures/label_cost.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"

namespace margrave {

static void bind(nb::module_& m) {
  nb::class_<LabelCost>(m, "LabelCost", "The cost of predicting one label instead of another.")
      .def_prop_ro("labels", &LabelCost::labels, "The number of labels.")
      .def(
          "row",
          [](const LabelCost& cost, int64_t gold) {
            if (gold < 0 || gold >= cost.labels())
              throw InputError("label " + std::to_string(gold) + " is out of range: there are " +
                               std::to_string(cost.labels()) + ".");
            std::vector<double> delta(static_cast<size_t>(cost.labels()));
            cost.row(static_cast<int32_t>(gold), delta.data());
            return to_numpy(std::move(delta));
          },
          "gold"_a, "The cost of predicting each label if `gold` is correct.");
  nb::class_<HammingCost, LabelCost>(m, "HammingCost");
  nb::class_<MatrixCost, LabelCost>(m, "MatrixCost");
  nb::class_<TreeCost, LabelCost>(m, "TreeCost");
  m.def(
      "hamming_cost",
      [](const In<double>& weights) -> std::shared_ptr<HammingCost> {
        return std::make_shared<HammingCost>(to_vector(weights));
      },
      "weights"_a, "Every wrong label costs the weight of the correct one.");
  m.def(
      "matrix_cost",
      [](int64_t labels, const In<double>& costs) -> std::shared_ptr<MatrixCost> {
        return std::make_shared<MatrixCost>(checked_count(labels, "labels"), to_vector(costs));
      },
      "labels"_a, "costs"_a, "The cost of every pair of labels: (correct, predicted), row by row.");
  m.def(
      "tree_cost",
      [](const In<int64_t>& above_begin, const In<int32_t>& above, const In<int64_t>& below_begin,
         const In<int32_t>& below, const In<double>& height, double root) -> std::shared_ptr<TreeCost> {
        return std::make_shared<TreeCost>(to_vector(above_begin), to_vector(above), to_vector(below_begin),
                                          to_vector(below), to_vector(height), root);
      },
      "above_begin"_a, "above"_a, "below_begin"_a, "below"_a, "height"_a, "root"_a,
      "Confusing two classes costs the height of their lowest common ancestor, or `root` if there is none. Arguments: "
      "the ancestors of each class, the classes below each node, and the height of each node.");
}

static const Registration registration(bind);

}  // namespace margrave
