// Python bindings of the passes over all examples.
#include "passes/batch.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/output_arrays.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"

namespace margrave {
namespace {

using Weights = std::optional<In<double>>;

// The scores for a pass over all examples: exactly one of w and theta is given.
Scores scores_of(const Problem& p, const Weights& w, const Weights& theta) {
  if (w.has_value() == theta.has_value())
    throw InputError("pass weights w, or scores theta and None for the weights: exactly one of the two.");
  if (w) {
    expect_size(*w, p.dim(), "w");
    return Scores(p, w->data());
  }
  std::vector<int64_t> begin = part_offsets(p);
  expect_size(*theta, begin.back(), "theta");
  int64_t invalid = 0;  // a branch per score would take as long as some kernels
  for (size_t k = 0; k < theta->size(); ++k) invalid += theta->data()[k] < kInfinity ? 0 : 1;
  for (size_t k = 0; invalid > 0 && k < theta->size(); ++k)
    if (!is_score(theta->data()[k]))
      throw InputError("theta has " + std::to_string(theta->data()[k]) + " at place " + std::to_string(k) +
                       "; scores must be finite, or -inf for a forbidden part.");
  return Scores(p, theta->data(), std::move(begin));
}

void expect_beta(double beta, const char* what) {
  if (!(beta > 0 && beta < kInfinity))
    throw InputError(std::string(what) + " need a beta that is positive and finite.");
}

}  // namespace

static void bind(nb::module_& m) {
  m.def(
      "losses_and_gradient",
      [](const Problem& p, const In<double>& w, const LossFamily& family, int threads, bool gradient) {
        expect_size(w, p.dim(), "w");
        expect_gold(p);
        std::vector<double> losses(static_cast<size_t>(p.size()));
        std::vector<double> sum(gradient ? static_cast<size_t>(p.dim()) : 0);
        {
          const nb::gil_scoped_release release;
          losses_and_gradient(p, w.data(), family, checked_threads(threads), check_signals, losses.data(),
                              gradient ? sum.data() : nullptr);
        }
        return std::make_pair(to_numpy(std::move(losses)), to_numpy(std::move(sum)));
      },
      "problem"_a, "w"_a, "family"_a, "threads"_a, "gradient"_a,
      "All losses L_i(w), and C sum_i sample_weight_i grad L_i (empty unless requested).");
  m.def(
      "argmax_all",
      [](const Problem& p, const Weights& w, int threads, const Weights& theta) {
        const Scores scores = scores_of(p, w, theta);
        std::vector<Output> outputs;
        {
          const nb::gil_scoped_release release;
          outputs = argmax_all(p, scores, checked_threads(threads), check_signals);
        }
        PartLists lists;
        for (const Output& y : outputs) lists.add(y);
        return std::move(lists).arrays();
      },
      "problem"_a, "w"_a.none(), "threads"_a, nb::kw_only(), "theta"_a.none() = nb::none(),
      "The best output of every example: bounds and parts. Scores are those of the weights w, or theta: the "
      "concatenated scores of the parts of all examples.");
  m.def(
      "marginals_all",
      [](const Problem& p, const Weights& w, double beta, int threads, const Weights& theta) {
        const Scores scores = scores_of(p, w, theta);
        expect_beta(beta, "marginals");
        std::vector<int64_t> begin = part_offsets(p);
        std::vector<double> log_z(static_cast<size_t>(p.size()));
        std::vector<double> mu(static_cast<size_t>(begin.back()));
        {
          const nb::gil_scoped_release release;
          marginals_all(p, scores, beta, checked_threads(threads), check_signals, begin, log_z.data(), mu.data());
        }
        return std::make_tuple(to_numpy(std::move(begin)), to_numpy(std::move(log_z)), to_numpy(std::move(mu)));
      },
      "problem"_a, "w"_a.none(), "beta"_a, "threads"_a, nb::kw_only(), "theta"_a.none() = nb::none(),
      "Bounds, log partition functions and marginals of every example, under beta times the scores.");
  m.def(
      "kbest_all",
      [](const Problem& p, const Weights& w, int64_t k, int threads, const Weights& theta) {
        const Scores scores = scores_of(p, w, theta);
        checked_count(k, "outputs per example", 1);
        std::vector<std::vector<ScoredOutput>> outputs;
        {
          const nb::gil_scoped_release release;
          outputs = kbest_all(p, scores, k, checked_threads(threads), check_signals);
        }
        std::vector<int64_t> output_begin{0};
        std::vector<double> values;
        PartLists lists;
        for (const std::vector<ScoredOutput>& ys : outputs) {
          for (const ScoredOutput& y : ys) {
            values.push_back(y.value);
            lists.add(y.y);
          }
          output_begin.push_back(static_cast<int64_t>(values.size()));
        }
        auto [part_begin, parts] = std::move(lists).arrays();
        return std::make_tuple(to_numpy(std::move(output_begin)), to_numpy(std::move(values)), std::move(part_begin),
                               std::move(parts));
      },
      "problem"_a, "w"_a.none(), "k"_a, "threads"_a, nb::kw_only(), "theta"_a.none() = nb::none(),
      "The k best outputs of every example, best first; fewer if fewer exist: where those of each example begin, their "
      "values, where the parts of each output begin, and the parts.");
  m.def(
      "sample_all",
      [](const Problem& p, const Weights& w, double beta, int64_t n, uint64_t seed, int threads, const Weights& theta) {
        const Scores scores = scores_of(p, w, theta);
        expect_beta(beta, "samples");
        checked_count(n, "outputs per example", 1, kMostUnseen);
        std::vector<std::vector<Output>> outputs;
        {
          const nb::gil_scoped_release release;
          outputs = sample_all(p, scores, beta, n, seed, checked_threads(threads), check_signals);
        }
        PartLists lists;
        for (const std::vector<Output>& drawn : outputs)
          for (const Output& y : drawn) lists.add(y);
        return std::move(lists).arrays();
      },
      "problem"_a, "w"_a.none(), "beta"_a, "n"_a, "seed"_a, "threads"_a, nb::kw_only(), "theta"_a.none() = nb::none(),
      "n outputs of every example, drawn in proportion to exp(beta score), example by example: bounds and parts. They "
      "depend only on the seed and the index of the example.");
}

static const Registration registration(bind);

}  // namespace margrave
