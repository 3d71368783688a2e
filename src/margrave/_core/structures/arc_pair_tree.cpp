// Python bindings of non-projective trees with parts of two arcs.
#include "structures/arc_pair_tree.h"

#include <memory>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/inference_status.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<TreesOfArcs>();
  nb::class_<ArcPairTreeStructure, TreesOfArcs> bound(m, "ArcPairTreeStructure");
  bind_status<ArcPairTreeStructure>(bound);
  bound
      .def(
          "part_tuples",
          [](const ArcPairTreeStructure& s, int64_t i) {
            s.check_example(i);
            std::vector<TreePart> parts;
            s.tree_parts(i, parts);
            std::vector<int32_t> tuples;
            for (const TreePart& part : parts)
              for (const int32_t each : {part.grandparent, part.head, part.child, part.word}) tuples.push_back(each);
            return to_numpy(std::move(tuples));
          },
          "i"_a, nb::rv_policy::move,
          "(grandparent, head, other child, word) of every part of example i, flat; -1: none.")
      .def(
          "upper_bound",
          [](const ArcPairTreeStructure& s, int64_t i, const In<double>& theta) {
            s.check_example(i);
            expect_size(theta, s.parts(i), "theta");
            std::vector<double> mu(static_cast<size_t>(s.parts(i)));
            const tree::MessageResult found = s.upper_bound(i, theta.data(), mu.data());
            return std::make_tuple(found.value, to_numpy(std::move(mu)),
                                   found.converged ? found.sweeps : -found.sweeps);
          },
          "i"_a, "theta"_a,
          "The reweighted upper bound on log Z, its gradient by the scores, and the number of sweeps, negative if "
          "messages did not converge.");
  m.def(
      "arc_pair_tree",
      [](const In<int64_t>& words, const std::optional<In<int32_t>>& heads, const std::optional<In<bool>>& allowed,
         bool single_root, const std::optional<In<bool>>& arcs, int sweeps, double tolerance, double damping,
         int iterations, bool reweighted, double kappa, double most_kept) -> std::shared_ptr<ArcPairTreeStructure> {
        const std::vector<int64_t> lengths = to_vector(words);
        std::vector<int32_t> gold = to_vector(heads);
        const std::vector<bool> left = to_vector(arcs);
        std::vector<bool> mask = to_vector(allowed);
        const nb::gil_scoped_release release;
        return std::make_shared<ArcPairTreeStructure>(lengths, std::move(gold), left, std::move(mask), single_root,
                                                      tree::MessageSettings{sweeps, tolerance, damping},
                                                      RelaxationSettings{iterations}, reweighted, kappa, most_kept);
      },
      "words"_a, "heads"_a.none(), "allowed"_a.none(), "single_root"_a, "arcs"_a.none(), "sweeps"_a, "tolerance"_a,
      "damping"_a, "iterations"_a, "reweighted"_a, "kappa"_a, "most_kept"_a = 0.0);
}

static const Registration registration(bind);

}  // namespace margrave
