// Python bindings of LP-Struct: its constraints, and the extragradient method.
#include "passes/lp.h"

#include "bindings/binding.h"
#include "solvers/extragradient.h"

namespace margrave {
namespace {

Metric metric_of(const nb::object& metric) {
  if (metric.is_none()) return nullptr;
  if (!PyCallable_Check(metric.ptr())) throw InputError("metric must be a function of an example and two outputs.");
  const nb::handle function = metric;  // which outlives the call
  return [function](int64_t i, const Output& good, const Output& wrong) {
    const nb::gil_scoped_acquire gil;
    const nb::object result = function(i, to_numpy(Output(good)), to_numpy(Output(wrong)));
    double value;
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
    if (lp.owner[r] < 0 || lp.owner[r] >= lp.owners) throw InputError("a row belongs to no example.");
    if (!std::isfinite(lp.margin[r])) throw InputError("margins must be finite.");
  }
  for (int64_t k = 0; k < columns; ++k) {
    if (lp.column[k] < 0 || lp.column[k] >= lp.columns) throw InputError("a column is out of range.");
    if (!std::isfinite(lp.value[k])) throw InputError("features must be finite.");
  }
  for (int64_t i = 0; i < lp.owners; ++i)
    if (!(lp.C[i] >= 0) || lp.C[i] == kInfinity) throw InputError("C must be finite and not negative.");
}

}  // namespace

void bind_lp(nb::module_& m) {
  m.def(
      "closest_good",
      [](const Problem& p, const nb::object& metric, int threads) -> std::optional<Array<int32_t>> {
        expect_gold(p);
        if (!p.zero_one_is_of_parts()) return std::nullopt;
        const LossFamily one{kInfinity, 1.0, true};  // margins play no part here
        const LPRule rule{one, true, metric_of(metric)};
        std::vector<int32_t> closest(static_cast<size_t>(part_offsets(p).back()));
        {
          const nb::gil_scoped_release release;
          LPConstraints(p, rule, nullptr).find_closest(checked_threads(threads), check_signals, closest.data());
        }
        return to_numpy(std::move(closest));
      },
      "problem"_a, "metric"_a.none(), "threads"_a,
      "The number of the good output closest to every output, one example after another; None where outputs cannot be "
      "listed.");
  m.def(
      "lp_round",
      [](const Problem& p, const In<double>& w, const LossFamily& family, bool closest_only,
         const std::optional<In<int32_t>>& closest, const nb::object& metric, const In<double>& known, double epsilon,
         int threads) {
        expect_gold(p);
        expect_size(w, p.dim(), "w");
        expect_size(known, p.size(), "known");
        const bool listed = closest_only && p.zero_one_is_of_parts();
        if (listed != closest.has_value()) throw InputError("closest good outputs are what closest_good found.");
        if (listed) expect_size(*closest, part_offsets(p).back(), "closest");
        const LPRule rule{family, closest_only, metric_of(metric)};
        LPRound round;
        {
          const nb::gil_scoped_release release;
          const LPConstraints constraints(p, rule, listed ? closest->data() : nullptr);
          round = lp_round(constraints, w.data(), known.data(), epsilon, checked_threads(threads), check_signals);
        }
        return std::make_tuple(to_numpy(std::move(round.slack)), to_numpy(std::move(round.owner)),
                               to_numpy(std::move(round.margin)), to_numpy(std::move(round.begin)),
                               to_numpy(std::move(round.column)), to_numpy(std::move(round.value)));
      },
      "problem"_a, "w"_a, "family"_a, "closest_only"_a, "closest"_a.none(), "metric"_a.none(), "known"_a, "epsilon"_a,
      "threads"_a,
      "Slacks of all examples at w, and the most violated constraint of each that asks for more than `known` (004, "
      "Algorithm 1), with a margin of gamma times the cost, or times 1 if that is the zero-one cost: examples, "
      "margins, "
      "and rows (begin, column, value).");
  m.def(
      "extragradient",
      [](const In<int64_t>& begin, const In<int32_t>& column, const In<double>& value, const In<int32_t>& owner,
         const In<double>& margin, const In<double>& C, bool free_sign, InOut<double>& w, InOut<double>& xi,
         InOut<double>& lambda, const std::string& step, double goal, double change, double balance, double weight,
         int64_t most, int threads) {
        const LPMaster lp{static_cast<int64_t>(margin.size()),
                          static_cast<int64_t>(w.size()),
                          static_cast<int64_t>(C.size()),
                          begin.data(),
                          column.data(),
                          value.data(),
                          owner.data(),
                          margin.data(),
                          C.data(),
                          free_sign};
        expect_size(begin, lp.rows + 1, "begin");
        expect_size(owner, lp.rows, "owner");
        expect_size(lambda, lp.rows, "lambda");
        expect_size(xi, lp.owners, "xi");
        check_master(lp, static_cast<int64_t>(column.size()), static_cast<int64_t>(value.size()));
        const ExtragradientSettings settings{step_named(step), goal, change, balance, most, checked_threads(threads)};
        if (!(weight > 0) || weight == kInfinity) throw InputError("weight must be positive and finite.");
        ExtragradientResult result;
        {
          const nb::gil_scoped_release release;
          Extragradient method(lp, settings, weight, check_signals);
          result = method.solve(w.data(), xi.data(), lambda.data());
          weight = method.weight();
        }
        return std::make_tuple(result.iterations, result.primal, result.dual, result.done, weight,
                               to_numpy(std::move(result.w)));
      },
      "begin"_a, "column"_a, "value"_a, "owner"_a, "margin"_a, "C"_a, "free_sign"_a, "w"_a.noconvert(),
      "xi"_a.noconvert(), "lambda_"_a.noconvert(), "step"_a, "goal"_a, "change"_a, "balance"_a, "weight"_a, "most"_a,
      "threads"_a,
      "Minimises |w|_1 + C'xi subject to H w + xi >= margin from (w, xi, lambda), which become the last "
      "iterates: iterations, the best values of both programs, whether a tolerance was reached, the weight of dual "
      "steps, and the w of the first.");
}

}  // namespace margrave
