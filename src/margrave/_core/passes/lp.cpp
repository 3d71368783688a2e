// Python bindings of LP-Struct: its constraints, and the extragradient method.
#include "passes/lp.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "solvers/extragradient.h"
#include "solvers/lp_screening.h"

namespace margrave {
namespace {

Metric metric_of(const nb::object& metric) {
  if (metric.is_none()) return nullptr;
  if (!PyCallable_Check(metric.ptr())) throw InputError("metric must be a function of an example and two outputs.");
  const nb::handle function = metric;  // outlives the call
  return [function](int64_t i, const Output& good, const Output& wrong) {
    const nb::gil_scoped_acquire gil;
    const nb::object result = function(i, to_numpy(Output(good)), to_numpy(Output(wrong)));
    double value = 0;
    if (!nb::try_cast(result, value) || value != value)
      throw InputError("example " + std::to_string(i) + ": the metric must be a number, and not NaN.");
    return value;
  };
}

StepRule step_named(const std::string& name) {
  if (name == "frobenius") return StepRule::kFrobenius;
  if (name == "spectral") return StepRule::kSpectral;
  if (name == "scaled") return StepRule::kScaled;
  throw InputError("step must be 'frobenius', 'spectral' or 'scaled'.");
}

void check_master(const LPMaster& lp, int64_t columns, int64_t values) {
  if (lp.rows > std::numeric_limits<int32_t>::max()) throw InputError("there are too many constraints.");
  if (lp.begin[0] != 0 || lp.begin[lp.rows] != columns || columns != values)
    throw InputError("rows, columns and values do not belong together.");
  for (int64_t r = 0; r < lp.rows; ++r) {
    if (lp.begin[r] > lp.begin[r + 1]) throw InputError("rows must begin one after another.");
    if (!std::isfinite(lp.margin[r])) throw InputError("margins must be finite.");
  }
  for (int64_t k = 0; k < columns; ++k) {
    if (lp.column[k] < 0 || lp.column[k] >= lp.columns) throw InputError("a column is out of range.");
    if (!std::isfinite(lp.value[k])) throw InputError("features must be finite.");
  }
  for (int64_t site = 0; site < lp.sites; ++site)
    if (!(lp.C[site] >= 0) || lp.C[site] == kInfinity) throw InputError("C must be finite and not negative.");
}

// Examples have at least one site, and a constraint occupies sites of one example.
void check_sites(const In<int64_t>& sites, const In<int32_t>& first, const In<int32_t>& last) {
  const auto n = static_cast<int64_t>(sites.size()) - 1;
  if (n < 0 || sites.data()[0] != 0 || sites.data()[n] > std::numeric_limits<int32_t>::max())
    throw InputError("sites must begin with 0, and be few enough to be numbered.");
  for (int64_t i = 0; i < n; ++i)
    if (sites.data()[i + 1] <= sites.data()[i]) throw InputError("every example must have a site.");
  const auto owner = [&](int64_t site) { return std::upper_bound(sites.data(), sites.data() + n, site); };
  expect_size(last, static_cast<int64_t>(first.size()), "last");
  for (size_t r = 0; r < first.size(); ++r) {
    const int64_t from = first.data()[r], to = last.data()[r];
    if (from < 0 || to < from || to >= sites.data()[n] || owner(from) != owner(to))
      throw InputError("a constraint belongs to no example.");
  }
}

}  // namespace

static void bind(nb::module_& m) {
  m.def(
      "closest_good",
      [](const Problem& p, const nb::object& metric, int threads) -> std::optional<Array<int32_t>> {
        expect_gold(p);
        if (!p.traits().zero_one_is_of_parts) return std::nullopt;
        const LossFamily one{kInfinity, 1.0, true};  // margins are not used here
        const LPRule rule{one, true, metric_of(metric)};
        std::vector<int32_t> closest(static_cast<size_t>(part_offsets(p).back()));
        {
          const nb::gil_scoped_release release;
          LPConstraints(p, rule, nullptr).find_closest(checked_threads(threads), check_signals, closest.data());
        }
        return to_numpy(std::move(closest));
      },
      "problem"_a, "metric"_a.none(), "threads"_a,
      "The index of the good output closest to every output, example by example; None if outputs cannot be listed.");
  m.def(
      "lp_round",
      [](const Problem& p, const In<double>& w, const LossFamily& family, bool closest_only,
         const std::optional<In<int32_t>>& closest, const nb::object& metric, const In<int64_t>& sites,
         const In<double>& known, const In<int32_t>& first, const In<int32_t>& last, const In<double>& asked,
         double epsilon, int threads) {
        expect_gold(p);
        family.check(p);
        expect_size(w, p.dim(), "w");
        expect_size(sites, p.size() + 1, "sites");
        expect_size(known, p.size(), "known");
        expect_size(asked, static_cast<int64_t>(first.size()), "asked");
        check_sites(sites, first, last);
        const Offered<Divisible> divisible = p.interfaces().divisible;
        for (int64_t i = 0; i < p.size(); ++i)
          if (const int64_t n = sites.data()[i + 1] - sites.data()[i];
              n != 1 && !(divisible && n == divisible.of->sites(divisible.first + i)))
            throw InputError("sites are what lp_sites found.");
        const bool listed = closest_only && p.traits().zero_one_is_of_parts;
        if (listed != closest.has_value()) throw InputError("closest good outputs are what closest_good found.");
        if (listed) expect_size(*closest, part_offsets(p).back(), "closest");
        const LPRule rule{family, closest_only, metric_of(metric)};
        LPRound round;
        {
          const nb::gil_scoped_release release;
          const LPConstraints constraints(p, rule, listed ? closest->data() : nullptr);
          const Packing packing(static_cast<int64_t>(first.size()), first.data(), last.data(), sites.data()[p.size()]);
          const LPKnown all_known{known.data(), packing, asked.data()};
          round = lp_round(constraints, w.data(), sites.data(), all_known, epsilon, checked_threads(threads),
                           check_signals);
        }
        return std::make_tuple(to_numpy(std::move(round.slack)), to_numpy(std::move(round.owner)),
                               to_numpy(std::move(round.first)), to_numpy(std::move(round.last)),
                               to_numpy(std::move(round.margin)), to_numpy(std::move(round.begin)),
                               to_numpy(std::move(round.column)), to_numpy(std::move(round.value)));
      },
      "problem"_a, "w"_a, "family"_a, "closest_only"_a, "closest"_a.none(), "metric"_a.none(), "sites"_a, "known"_a,
      "first"_a, "last"_a, "asked"_a, "epsilon"_a, "threads"_a,
      "Slacks of all examples at w, and for each the most violated constraint that requires more than `known`, with a "
      "margin of gamma times the cost, or of gamma for the zero-one cost: examples, first and last sites, margins, and "
      "rows (begin, column, value). If an example has several sites, these are the changes of the output that require "
      "more than the known constraints within their sites. Known constraints are given by their sites and the slack "
      "that they require.");
  m.def(
      "lp_sites",
      [](const Problem& p, const LossFamily& family) {
        expect_gold(p);
        family.check(p);
        return to_numpy(lp_sites(p, family));
      },
      "problem"_a, "family"_a,
      "Where the sites of every example begin, and their number: one each, unless outputs are sets of independent "
      "changes.");
  m.def(
      "lp_slacks",
      [](const In<int64_t>& sites, const In<int32_t>& first, const In<int32_t>& last, const In<double>& asked) {
        check_sites(sites, first, last);
        expect_size(asked, static_cast<int64_t>(first.size()), "asked");
        const auto n = static_cast<int64_t>(sites.size()) - 1;
        const Packing packing(static_cast<int64_t>(first.size()), first.data(), last.data(), sites.data()[n]);
        std::vector<double> slack, best;
        for (int64_t i = 0; i < n; ++i) {
          packing.most(asked.data(), sites.data()[i], sites.data()[i + 1] - 1, best);
          for (size_t k = 0; k + 1 < best.size(); ++k) slack.push_back(best[k + 1] - best[k]);
        }
        return to_numpy(std::move(slack));
      },
      "sites"_a, "first"_a, "last"_a, "asked"_a,
      "The smallest slacks of the sites such that those of every constraint sum to at least what it requires.");
  m.def(
      "extragradient",
      [](const In<int64_t>& begin, const In<int32_t>& column, const In<double>& value, const In<int64_t>& sites,
         const In<int32_t>& first, const In<int32_t>& last, const In<double>& margin, const In<double>& C,
         bool free_sign, InOut<double>& w, InOut<double>& xi, InOut<double>& lambda, const std::string& step,
         bool restarts, double goal, double change, double balance, double weight, int64_t most, int threads) {
        const LPMaster lp{static_cast<int64_t>(margin.size()),
                          static_cast<int64_t>(w.size()),
                          static_cast<int64_t>(C.size()),
                          static_cast<int64_t>(sites.size()) - 1,
                          begin.data(),
                          column.data(),
                          value.data(),
                          first.data(),
                          last.data(),
                          margin.data(),
                          C.data(),
                          sites.data(),
                          free_sign};
        expect_size(begin, lp.rows + 1, "begin");
        expect_size(first, lp.rows, "first");
        expect_size(lambda, lp.rows, "lambda");
        check_sites(sites, first, last);
        expect_size(C, sites.data()[lp.examples], "C");
        expect_size(xi, lp.sites, "xi");
        check_master(lp, static_cast<int64_t>(column.size()), static_cast<int64_t>(value.size()));
        const ExtragradientSettings settings{step_named(step),        restarts, goal, change, balance, most,
                                             checked_threads(threads)};
        if (!(weight > 0) || weight == kInfinity) throw InputError("weight must be positive and finite.");
        ExtragradientResult result;
        {
          const nb::gil_scoped_release release;
          // Algorithm 2 and its step as printed use all features.
          std::optional<ScreenedMaster> screened;
          if (restarts && settings.step != StepRule::kFrobenius) screened.emplace(lp);
          Extragradient method(screened ? screened->program() : lp, settings, weight, check_signals);
          if (screened) {
            std::vector<double> left = screened->restricted(w.data()), best(w.size());
            result = method.solve(left.data(), xi.data(), lambda.data());
            screened->extend(left, w.data(), w.size());
            screened->extend(result.w, best.data(), best.size());
            result.w = std::move(best);
          } else {
            result = method.solve(w.data(), xi.data(), lambda.data());
          }
          weight = method.weight();
        }
        return std::make_tuple(result.iterations, result.primal, result.dual, result.done, weight,
                               to_numpy(std::move(result.w)));
      },
      "begin"_a, "column"_a, "value"_a, "sites"_a, "first"_a, "last"_a, "margin"_a, "C"_a, "free_sign"_a,
      "w"_a.noconvert(), "xi"_a.noconvert(), "lambda_"_a.noconvert(), "step"_a, "restarts"_a, "goal"_a, "change"_a,
      "balance"_a, "weight"_a, "most"_a, "threads"_a,
      "Minimizes |w|_1 + C'xi subject to H w + M xi >= margin from (w, xi, lambda), which become the last iterates: "
      "iterations, the best values of both programs, whether a tolerance was reached, the weight of dual steps, and "
      "the w with the best primal value.");
}

static const Registration registration(bind);

}  // namespace margrave
