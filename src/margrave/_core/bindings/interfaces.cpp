// Python bindings of the optional interfaces of a problem. Learners use these inside of passes; here they are for
// tests, which compare them with the plain operations. None: the problem does not have the interface.
#include "protocol/interfaces.h"

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/output_arrays.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"

namespace margrave {
namespace {

// The interface, with the index that example i has in it.
template <typename Interface>
Offered<Interface> at_example(const Problem& p, int64_t i, Offered<Interface> Interfaces::* which) {
  p.check_example(i);
  return (p.interfaces().*which).from(i);
}

}  // namespace

static void bind(nb::module_& m) {
  m.def(
      "weighted_scores",
      [](const Problem& p, int64_t i, const In<double>& w) -> std::optional<Array<double>> {
        const Offered<Weighted> weighted = at_example(p, i, &Interfaces::weighted);
        expect_size(w, p.dim(), "w");
        if (!weighted) return std::nullopt;
        std::vector<double> theta(static_cast<size_t>(weighted.of->weighted_parts(weighted.first).size()));
        weighted.of->score_weighted(weighted.first, w.data(), theta.data());
        return to_numpy(std::move(theta));
      },
      "problem"_a, "i"_a, "w"_a, "The scores of the parts that have weights.");
  m.def(
      "weighted_logsum",
      [](const Problem& p, int64_t i, const In<double>& theta) -> std::optional<std::pair<double, Array<double>>> {
        const Offered<Weighted> weighted = at_example(p, i, &Interfaces::weighted);
        if (!weighted) return std::nullopt;
        expect_size(theta, weighted.of->weighted_parts(weighted.first).size(), "theta");
        for (size_t k = 0; k < theta.size(); ++k)
          if (!is_score(theta.data()[k])) throw InputError("scores must be numbers below infinity.");
        Scratch scratch;
        std::vector<double> mu(theta.size());
        const double value = weighted.of->logsum_weighted(weighted.first, theta.data(), mu.data(), scratch);
        return std::make_pair(value, to_numpy(std::move(mu)));
      },
      "problem"_a, "i"_a, "theta"_a,
      "The log partition function under scores of the parts that have weights, all others being 0, and the marginals "
      "of these parts.");
  m.def(
      "move_weighted",
      [](const Problem& p, int64_t i, const In<double>& v, double c, InOut<double>& w) -> std::optional<double> {
        const Offered<Weighted> weighted = at_example(p, i, &Interfaces::weighted);
        expect_size(w, p.dim(), "w");
        if (!weighted) return std::nullopt;
        expect_size(v, weighted.of->weighted_parts(weighted.first).size(), "v");
        return weighted.of->move_weighted(weighted.first, v.data(), c, w.data());
      },
      "problem"_a, "i"_a, "v"_a, "c"_a, "w"_a.noconvert(),
      "w += c A_i' v for values of the parts that have weights, and the change of 1/2 dot(w, w).");
  m.def(
      "counts",
      [](const Problem& p, int64_t i) -> std::optional<std::tuple<Array<double>, Array<double>, int64_t>> {
        const Offered<Counted> counted = at_example(p, i, &Interfaces::counted);
        if (!counted) return std::nullopt;
        expect_gold(p);
        std::vector<double> right(static_cast<size_t>(p.parts(i))), predicted(right.size());
        int64_t of_gold = 0;
        counted.of->counts(counted.first, right.data(), predicted.data(), of_gold);
        return std::make_tuple(to_numpy(std::move(right)), to_numpy(std::move(predicted)), of_gold);
      },
      "problem"_a, "i"_a,
      "How many correct items, and how many items, each part adds to an output; and the number of items of the gold "
      "output.");
  m.def(
      "changes",
      [](const Problem& p, int64_t i, const In<int32_t>& y)
          -> std::optional<std::pair<int64_t, std::vector<std::tuple<Array<int32_t>, int64_t, int64_t>>>> {
        const Offered<Divisible> divisible = at_example(p, i, &Interfaces::divisible);
        if (!divisible) return std::nullopt;
        expect_gold(p);
        const Output given = to_vector(y);
        check_parts(given, p.parts(i));
        // The output in the order in which inference lists its parts, if it is one.
        std::vector<double> theta(static_cast<size_t>(p.parts(i)), -kInfinity);
        for (const int32_t part : given) theta[part] = 0;
        Scratch scratch;
        Output output;
        if (p.argmax(i, theta.data(), output, scratch) == -kInfinity) throw InputError("these parts are no output.");
        std::vector<std::tuple<Array<int32_t>, int64_t, int64_t>> found;
        for (Change& change : divisible.of->changes(divisible.first, output))
          found.emplace_back(to_numpy(std::move(change.y)), change.first, change.last);
        return std::make_pair(divisible.of->sites(divisible.first), std::move(found));
      },
      "problem"_a, "i"_a, "y"_a,
      "The number of sites of an example, and the changes of the gold output that an output consists of: the output "
      "that each leads to, and its first and its last site.");
}

static const Registration registration(bind);

}  // namespace margrave
