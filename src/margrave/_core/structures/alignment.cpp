// Python bindings of alignments.
#include "structures/alignment.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "structures/alignment_edges.h"
#include "structures/homology.h"

namespace margrave {
namespace {

AlignmentMode mode_named(const std::string& name) {
  if (name == "global") return AlignmentMode::kGlobal;
  if (name == "local") return AlignmentMode::kLocal;
  if (name == "semi-global") return AlignmentMode::kSemiGlobal;
  throw InputError("the mode of alignments is 'global', 'local' or 'semi-global', not '" + name + "'.");
}

// The lengths of sequences, from where they begin and end.
std::vector<int64_t> lengths_of(const In<int64_t>& begin) {
  if (begin.size() == 0 || begin.data()[0] != 0 || !std::is_sorted(begin.data(), begin.data() + begin.size()))
    throw InputError("the bounds of sequences must ascend from 0.");
  std::vector<int64_t> lengths;
  for (size_t k = 0; k + 1 < begin.size(); ++k) lengths.push_back(begin.data()[k + 1] - begin.data()[k]);
  return lengths;
}

Matches matches_of(const std::optional<In<int64_t>>& begin, const std::optional<In<int32_t>>& pairs) {
  if (begin.has_value() != pairs.has_value()) throw InputError("matched pairs come with their bounds.");
  return {to_vector(begin), to_vector(pairs)};
}

}  // namespace

static void bind(nb::module_& m) {
  after<Structure>();
  nb::class_<Alignments, Structure>(m, "Alignments")
      .def(
          "lengths", [](const Alignments& a, int64_t i) { return a.check_example(i), std::pair(a.n(i), a.m(i)); },
          "i"_a, "The numbers of letters of both sequences.")
      .def(
          "matches",
          [](const Alignments& a, int64_t i, const In<int32_t>& parts) {
            a.check_example(i);
            std::vector<int32_t> found;
            a.matches(i, parts.data(), static_cast<int64_t>(parts.size()), found);
            return to_numpy(std::move(found));
          },
          "i"_a, "parts"_a, "The matched pairs of an output, flat.")
      .def(
          "match_table",
          [](const Alignments& a, int64_t i, const In<double>& mu) {
            a.check_example(i);
            expect_size(mu, a.parts(i), "mu");
            std::vector<double> table(static_cast<size_t>(a.n(i) * a.m(i)));
            a.match_table(i, mu.data(), table.data());
            return to_numpy(std::move(table));
          },
          "i"_a, "mu"_a, "The posterior probability of every pair of places, row by row.");
  nb::class_<AlignmentStructure, Alignments>(m, "AlignmentStructure")
      .def_prop_ro("tied", [](const AlignmentStructure& a) { return a.layout().tied(); })
      .def(
          "best_score",
          [](const AlignmentStructure& a, int64_t i, const In<double>& theta) {
            a.check_example(i);
            expect_size(theta, a.parts(i), "theta");
            for (size_t k = 0; k < theta.size(); ++k)
              if (!is_score(theta.data()[k])) throw InputError("scores must not be NaN or infinite.");
            const nb::gil_scoped_release release;
            Scratch scratch;
            return a.best_score(i, theta.data(), scratch);
          },
          "i"_a, "theta"_a, "The score of the best alignment, in linear memory if parts are tied.")
      .def(
          "best_matches",
          [](const AlignmentStructure& a, int64_t i, const In<double>& theta) {
            a.check_example(i);
            expect_size(theta, a.parts(i), "theta");
            for (size_t k = 0; k < theta.size(); ++k)
              if (!is_score(theta.data()[k])) throw InputError("scores must not be NaN or infinite.");
            std::vector<int32_t> found;
            {
              const nb::gil_scoped_release release;
              Scratch scratch;
              Output y;
              a.argmax(i, theta.data(), y, scratch);
              a.matches(i, y.data(), static_cast<int64_t>(y.size()), found);
            }
            return to_numpy(std::move(found));
          },
          "i"_a, "theta"_a, "The matched pairs of the best alignment, flat.")
      .def(
          "most_accurate",
          [](const AlignmentStructure& a, int64_t i, const In<double>& theta, double caution) {
            a.check_example(i);
            check_cells(i, a.n(i), a.m(i));
            expect_size(theta, a.parts(i), "theta");
            for (size_t k = 0; k < theta.size(); ++k)
              if (!is_score(theta.data()[k])) throw InputError("scores must not be NaN or infinite.");
            if (!std::isfinite(caution)) throw InputError("caution must be finite.");
            std::vector<int32_t> found;
            {
              const nb::gil_scoped_release release;
              Scratch scratch;
              a.most_accurate(i, theta.data(), caution, found, scratch);
            }
            return to_numpy(std::move(found));
          },
          "i"_a, "theta"_a, "caution"_a,
          "The matched pairs of the alignment with the largest sum of posterior probabilities minus caution, flat.");
  nb::class_<AlignmentEdges, Alignments>(m, "AlignmentEdges");
  nb::class_<HomologyStructure, Structure>(m, "HomologyStructure")
      .def_prop_ro("shared_parts", &HomologyStructure::shared_parts, "The number of parts by letter.");
  m.def(
      "alignment",
      [](const std::string& mode, bool affine, int64_t letters, const In<int64_t>& x_begin, const In<int64_t>& y_begin,
         const std::optional<In<int32_t>>& x, const std::optional<In<int32_t>>& y,
         const std::optional<In<int64_t>>& gold_begin, const std::optional<In<int32_t>>& gold,
         bool costs) -> std::shared_ptr<AlignmentStructure> {
        if (x.has_value() != y.has_value()) throw InputError("tied parts need the letters of x and of y.");
        if (letters < 1 || letters > 10'000) throw InputError("an alphabet has 1 to 10000 letters.");
        return std::make_shared<AlignmentStructure>(
            PairParts(mode_named(mode), affine, x.has_value(), letters, true), lengths_of(x_begin), lengths_of(y_begin),
            Sequences{to_vector(x_begin), to_vector(x)}, Sequences{to_vector(y_begin), to_vector(y)},
            matches_of(gold_begin, gold), costs);
      },
      "mode"_a, "affine"_a, "letters"_a, "x_begin"_a, "y_begin"_a, "x"_a.none(), "y"_a.none(), "gold_begin"_a.none(),
      "gold"_a.none(), "costs"_a,
      "Alignments of pairs of sequences. x, y: the letters of all sequences, if parts are tied. gold: matched pairs "
      "(i, j), flat.");
  m.def(
      "alignment_edges",
      [](const std::string& mode, bool affine, const In<int64_t>& x_begin, const In<int64_t>& y_begin,
         const std::optional<In<int64_t>>& gold_begin, const std::optional<In<int32_t>>& gold,
         bool costs) -> std::shared_ptr<AlignmentEdges> {
        return std::make_shared<AlignmentEdges>(PairParts(mode_named(mode), affine, false, 1, false),
                                                lengths_of(x_begin), lengths_of(y_begin), matches_of(gold_begin, gold),
                                                costs);
      },
      "mode"_a, "affine"_a, "x_begin"_a, "y_begin"_a, "gold_begin"_a.none(), "gold"_a.none(), "costs"_a,
      "Alignments whose parts are the edges of their trellis. The features determine the mode and the gaps.");
  m.def(
      "homology",
      [](const std::string& mode, bool affine, int64_t letters, const In<int64_t>& x_begin, const In<int32_t>& x,
         const In<int64_t>& candidate_begin, const In<int32_t>& candidates, const In<int64_t>& first,
         const std::optional<In<int32_t>>& good, const std::optional<In<int64_t>>& gold_begin,
         const std::optional<In<int32_t>>& gold) -> std::shared_ptr<HomologyStructure> {
        if (letters < 1 || letters > 10'000) throw InputError("an alphabet has 1 to 10000 letters.");
        return std::make_shared<HomologyStructure>(PairParts(mode_named(mode), affine, true, letters, false),
                                                   Sequences{to_vector(x_begin), to_vector(x)},
                                                   Sequences{to_vector(candidate_begin), to_vector(candidates)},
                                                   to_vector(first), to_vector(good), matches_of(gold_begin, gold));
      },
      "mode"_a, "affine"_a, "letters"_a, "x_begin"_a, "x"_a, "candidate_begin"_a, "candidates"_a, "first"_a,
      "good"_a.none(), "gold_begin"_a.none(), "gold"_a.none(),
      "The choice of a candidate together with its alignment.");
}

static const Registration registration(bind);

}  // namespace margrave
