// Python bindings of the learners that mix outputs into their distributions: BCFW, SMO and pairwise BCFW.
#include "passes/mixing.h"

#include <cmath>
#include <utility>
#include <vector>

#include "bindings/ascent.h"
#include "bindings/output_arrays.h"
#include "passes/joint_steps.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"

namespace margrave {
namespace {

auto arrays_of(const Blocks& blocks) {
  OutputArrays outputs;
  std::vector<double> alpha, cost, gram;
  for (int64_t i = 0; i < blocks.size(); ++i) {
    const std::vector<double>& own = blocks[i].gram.values();
    gram.insert(gram.end(), own.begin(), own.end());
    for (const Atom& atom : blocks[i].atoms) {
      outputs.add(atom.y);
      alpha.push_back(atom.alpha);
      cost.push_back(atom.cost);
    }
    outputs.end_example();
  }
  return std::move(outputs).with(std::move(alpha), std::move(cost), std::move(gram));
}

Blocks blocks_from_arrays(const Problem& p, const In<int64_t>& begin, const In<int64_t>& part_begin,
                          const In<int32_t>& parts, const In<double>& alpha, const In<double>& cost,
                          const In<double>& gram) {
  const int64_t count = static_cast<int64_t>(part_begin.size()) - 1;
  expect_size(alpha, count, "alpha");
  expect_size(cost, count, "cost");
  std::vector<Block> blocks(static_cast<size_t>(p.size()));
  for_outputs(p, begin, part_begin, parts, [&](int64_t i, int64_t k, Output y) {
    if (!(alpha.data()[k] >= 0) || !std::isfinite(alpha.data()[k] + cost.data()[k]))
      throw InputError("masses and costs must be finite, and masses not negative.");
    blocks[i].atoms.push_back({std::move(y), cost.data()[k], alpha.data()[k], 0.0});
  });
  const double* values = gram.data();
  int64_t left = static_cast<int64_t>(gram.size());
  for (Block& block : blocks) {
    if (block.atoms.empty()) throw InputError("every block needs an output.");
    const auto pairs = static_cast<int64_t>(block.atoms.size() * block.atoms.size());
    if (pairs > left) throw InputError("gram is too short.");
    block.gram = {std::vector<double>(values, values + pairs), block.atoms.size()};
    values += pairs;
    left -= pairs;
  }
  if (left > 0) throw InputError("gram is too long.");
  return Blocks(p, std::move(blocks));
}

}  // namespace

static void bind(nb::module_& m) {
  m.def(
      "mixing_pass",
      [](const Problem& p, InOut<double>& w, const LossFamily& family, const In<int64_t>& order, int threads,
         Sharing* sharing, InOut<double>& mu, InOut<double>& entropy, InOut<double>& cost, InOut<double>& gap,
         bool exact_entropy) {
        const MixingState state{checked(mu, all_parts(p), "mu"), checked(entropy, p.size(), "entropy"),
                                checked(cost, p.size(), "cost"), checked(gap, p.size(), "gap")};
        run_pass(p, w, family, order, threads, sharing, [&](const Ascent& ascent, const std::vector<int64_t>& visits) {
          mixing_pass(ascent, state, exact_entropy, visits, threads, check_signals);
        });
      },
      "problem"_a, "w"_a.noconvert(), "family"_a, "order"_a, "threads"_a, "sharing"_a.none(), "mu"_a.noconvert(),
      "entropy"_a.noconvert(), "cost"_a.noconvert(), "gap"_a.noconvert(), "exact_entropy"_a,
      "One pass of BCFW (SDCA at finite beta) over `order`.");
  m.def(
      "smo_pass",
      [](const Problem& p, InOut<double>& w, const LossFamily& family, const In<int64_t>& order, int threads,
         Sharing* sharing, InOut<double>& mu, InOut<double>& cost, InOut<double>& gap) {
        const MixingState state{checked(mu, all_parts(p), "mu"), nullptr, checked(cost, p.size(), "cost"),
                                checked(gap, p.size(), "gap")};
        return run_pass(p, w, family, order, threads, sharing,
                        [&](const Ascent& ascent, const std::vector<int64_t>& visits) {
                          return smo_pass(ascent, state, visits, threads, check_signals);
                        });
      },
      "problem"_a, "w"_a.noconvert(), "family"_a, "order"_a, "threads"_a, "sharing"_a.none(), "mu"_a.noconvert(),
      "cost"_a.noconvert(), "gap"_a.noconvert(),
      "One pass of factored SMO over `order`. Returns the number of inferences.");
  nb::class_<Blocks>(m, "Blocks", "Sparse distributions over outputs, one per example, initially on the gold output.")
      .def(nb::new_([](const Problem& p) {
             expect_gold(p);
             return new Blocks(p);
           }),
           "problem"_a)
      .def_static("from_arrays", &blocks_from_arrays, "problem"_a, "begin"_a, "part_begin"_a, "parts"_a, "alpha"_a,
                  "cost"_a, "gram"_a)
      .def(
          "weights",
          [](const Blocks& blocks, const Problem& p, const LossFamily& family, int threads) {
            expect_gold(p);
            blocks.check(p);
            std::vector<double> w(static_cast<size_t>(p.dim()));
            {
              const nb::gil_scoped_release release;
              weights_of(p, family, blocks, checked_threads(threads), check_signals, w.data());
            }
            return to_numpy(std::move(w));
          },
          "problem"_a, "family"_a, "threads"_a, "w(alpha).")
      .def(
          "slacks",
          [](const Blocks& blocks, const Problem& p, const In<double>& w, const LossFamily& family, int threads) {
            expect_size(w, p.dim(), "w");
            expect_gold(p);
            family.check(p);
            blocks.check(p);
            std::vector<double> slack(static_cast<size_t>(p.size()));
            {
              const nb::gil_scoped_release release;
              known_slacks(p, family, blocks, w.data(), checked_threads(threads), check_signals, slack.data());
            }
            return to_numpy(std::move(slack));
          },
          "problem"_a, "w"_a, "family"_a, "threads"_a,
          "The smallest slacks that satisfy the constraints of the known outputs at w.")
      .def(
          "costs",
          [](const Blocks& blocks) {
            std::vector<double> costs;
            for (int64_t i = 0; i < blocks.size(); ++i) costs.push_back(blocks[i].cost());
            return to_numpy(std::move(costs));
          },
          "The expected cost of every block.")
      .def("arrays", &arrays_of, "The state, as arguments of `from_arrays`.");
  m.def(
      "pairwise_pass",
      [](const Problem& p, InOut<double>& w, const LossFamily& family, const In<int64_t>& order, int threads,
         Sharing* sharing, Blocks& blocks, InOut<double>& gap, int64_t cached_steps, int64_t memory, double enough) {
        double* gaps = checked(gap, p.size(), "gap");
        blocks.check(p);
        checked_count(cached_steps, "steps per known output");
        checked_count(memory, "outputs without mass in a block");
        if (!(enough >= 0)) throw InputError("enough must not be negative or NaN.");
        run_pass(p, w, family, order, threads, sharing, [&](const Ascent& ascent, const std::vector<int64_t>& visits) {
          pairwise_pass(ascent, blocks, {cached_steps, memory, enough}, gaps, visits, threads, check_signals);
        });
      },
      "problem"_a, "w"_a.noconvert(), "family"_a, "order"_a, "threads"_a, "sharing"_a.none(), "blocks"_a,
      "gap"_a.noconvert(), "cached_steps"_a, "memory"_a, "enough"_a, "One pass of pairwise BCFW over `order`.");
  m.def(
      "take_joint_steps",
      [](const Problem& p, InOut<double>& w, const LossFamily& family, Blocks& blocks, double goal) {
        expect_size(w, p.dim(), "w");
        expect_finite(w, "w");
        expect_gold(p);
        family.check(p);
        blocks.check(p);
        if (std::isnan(goal)) throw InputError("goal must not be NaN.");
        const nb::gil_scoped_release release;
        return take_joint_steps(p, family, blocks, goal, w.data(), check_signals);
      },
      "problem"_a, "w"_a.noconvert(), "family"_a, "blocks"_a, "goal"_a,
      "Maximizes D over the outputs that all blocks know, together, until their gap is at most `goal`. False if there "
      "are too many.");
}

static const Registration registration(bind);

}  // namespace margrave
