// Python bindings of the structural SVM: most violated constraints, the master problem and cutting planes.
#include "passes/cutting.h"

#include "bindings/binding.h"
#include "bindings/output_arrays.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"

namespace margrave {
namespace {

// 'parts', 'zero-one', 'f1', or a function of an example's index and an output's parts. Checked where it is read.
bool is_anything(PyObject*) { return true; }
struct Cost : nb::object {
  NB_OBJECT(Cost, nb::object, "str | collections.abc.Callable[[int, numpy.typing.NDArray[numpy.int32]], float]",
            is_anything)
};

Rescaling rescaling_named(const std::string& rescale, int slack, const nb::object& cost) {
  if (rescale != "margin" && rescale != "slack") throw InputError("rescale must be 'margin' or 'slack'.");
  if (slack < 0 || slack > 2) throw InputError("slack must be 0, 1 or 2.");
  const bool of_slack = rescale == "slack";
  if (PyCallable_Check(cost.ptr())) {
    const nb::handle function = cost;  // outlives the call
    return {of_slack, slack, CostKind::kFunction, [function](int64_t i, const Output& y) {
              const nb::gil_scoped_acquire gil;
              const nb::object result = function(i, to_numpy(Output(y)));
              double value = 0;
              if (!nb::try_cast(result, value) || !(value >= 0) || value == kInfinity)
                throw InputError("example " + std::to_string(i) +
                                 ": costs must be finite and not negative, and one is " + nb::str(result).c_str() +
                                 ".");
              return value;
            }};
  }
  std::string name;
  if (!nb::try_cast<std::string>(cost, name) || (name != "parts" && name != "zero-one" && name != "f1"))
    throw InputError("the cost must be 'parts', 'zero-one', 'f1' or a function.");
  const CostKind kind = name == "f1" ? CostKind::kF1 : name == "zero-one" ? CostKind::kZeroOne : CostKind::kParts;
  return {of_slack, slack, kind};
}

// The gamma of costs. Without costs there is nothing to violate.
double checked_gamma(const LossFamily& family) {
  if (!(family.gamma > 0)) throw InputError("constraints need costs: gamma must be positive.");
  return family.gamma;
}

// The outputs of joint constraints, as one_cut gives them: where those of the examples begin, their parts, factors and
// costs times gamma.
using JointArrays = std::vector<std::tuple<In<int64_t>, In<int32_t>, In<double>, In<double>>>;

std::vector<JointOutputs> joint_outputs(const Problem& p, const JointArrays& arrays) {
  std::vector<JointOutputs> found;
  for (const auto& [begin, parts, factor, cost] : arrays) {
    expect_size(begin, p.size() + 1, "begin");
    expect_size(cost, p.size(), "cost");
    check_bounds(begin, static_cast<int64_t>(parts.size()));
    for (int64_t i = 0; i < p.size(); ++i)
      check_parts({parts.data() + begin.data()[i], parts.data() + begin.data()[i + 1]}, p.parts(i));
    found.push_back({begin.data(), parts.data(), cost.data()});
  }
  return found;
}

struct JointSolution {
  std::vector<double> a;
  JointQP::Outcome outcome{false, 0, 0};
};

// Solves a program from `alpha`. `block` maps variables to blocks; q and cap are per block.
JointSolution solve_jointly(const In<double>& h, const In<double>& gram, const In<int64_t>& block,
                            const std::vector<double>& q, const std::vector<double>& cap, const In<double>& alpha,
                            double tol) {
  const size_t n = h.size();
  JointQP qp(q, cap);
  std::vector<double> slopes = to_vector(h), sums(q.size());
  for (size_t k = 0; k < n; ++k) {
    const double* row = gram.data() + k * n;
    qp.set_products(qp.add(block.data()[k], alpha.data()[k]), row);
    sums[block.data()[k]] += alpha.data()[k];
    for (size_t l = 0; l < n; ++l) slopes[l] -= row[l] * alpha.data()[k];
  }
  double size = 0;
  for (size_t k = 0; k < n; ++k) {
    const auto i = static_cast<size_t>(block.data()[k]);
    slopes[k] -= q[i] * sums[i];
    size = std::max({size, std::fabs(h.data()[k]), std::fabs(h.data()[k] - slopes[k])});
  }
  JointSolution found;
  const double rounding = cutting::kRounding * size;
  if (qp.factorize(slopes, rounding)) found.outcome = qp.solve(slopes, std::vector<double>(q.size(), tol), rounding);
  for (size_t k = 0; k < n; ++k) found.a.push_back(qp.mass(static_cast<int64_t>(k)));
  return found;
}

struct Cuts {
  OfProblem owner;
  std::vector<CutBlock> blocks;
  GramMemory memory{kMemory};

  static constexpr int64_t kMemory = 125'000'000;  // doubles: 1 GB

  int64_t size() const {
    int64_t n = 0;
    for (const CutBlock& block : blocks) n += static_cast<int64_t>(block.cuts.size());
    return n;
  }
  Cutting on(const Problem& p, Rescaling rule, const LossFamily& family, double* w) {
    owner.check(p, "this set of constraints");
    expect_gold(p);
    family.check(p);
    rule.gamma = checked_gamma(family);
    return {p, rule, family, w, blocks, memory};
  }
};

auto arrays_of(const Cuts& cuts) {
  OutputArrays outputs;
  std::vector<double> cost, linear, factor, multiplier;
  std::vector<int64_t> idle;
  for (const CutBlock& block : cuts.blocks) {
    for (const Cut& cut : block.cuts) {
      outputs.add(cut.y);
      cost.push_back(cut.cost);
      linear.push_back(cut.linear);
      factor.push_back(cut.factor);
      multiplier.push_back(cut.multiplier);
      idle.push_back(cut.idle);
    }
    outputs.end_example();
  }
  return std::move(outputs).with(std::move(cost), std::move(linear), std::move(factor), std::move(multiplier),
                                 std::move(idle));
}

Cuts cuts_from_arrays(const Problem& p, const In<int64_t>& begin, const In<int64_t>& part_begin,
                      const In<int32_t>& parts, const In<double>& cost, const In<double>& linear,
                      const In<double>& factor, const In<double>& multiplier, const In<int64_t>& idle) {
  const int64_t count = static_cast<int64_t>(part_begin.size()) - 1;
  expect_size(cost, count, "cost");
  expect_size(linear, count, "linear");
  expect_size(factor, count, "factor");
  expect_size(multiplier, count, "multiplier");
  expect_size(idle, count, "idle");
  Cuts cuts{OfProblem(p), std::vector<CutBlock>(static_cast<size_t>(p.size()))};
  for_outputs(p, begin, part_begin, parts, [&](int64_t i, int64_t k, Output y) {
    const Cut cut{std::move(y),     cost.data()[k],       linear.data()[k],
                  factor.data()[k], multiplier.data()[k], idle.data()[k]};
    if (!(cut.multiplier >= 0) || !std::isfinite(cut.multiplier + cut.cost + cut.linear + cut.factor))
      throw InputError("a constraint's numbers must be finite, and its multiplier not negative.");
    checked_count(cut.idle, "rounds without mass");
    cuts.blocks[i].cuts.push_back(cut);
  });
  return cuts;
}

static void bind_cuts(nb::module_& m) {
  nb::class_<Cuts>(
      m, "Cuts",
      "The constraints of the n-slack cutting plane with their multipliers. A cost is 'parts', 'zero-one', "
      "'f1', or a function of an example and an output's parts.")
      .def(nb::new_([](const Problem& p, int64_t memory) {
             expect_gold(p);
             if (memory < 0) throw InputError("memory must not be negative.");
             return new Cuts{OfProblem(p), std::vector<CutBlock>(static_cast<size_t>(p.size())), {memory}};
           }),
           "problem"_a, "memory"_a = Cuts::kMemory, "memory: how many doubles the stored inner products may take.")
      .def_static("from_arrays", &cuts_from_arrays, "problem"_a, "begin"_a, "part_begin"_a, "parts"_a, "cost"_a,
                  "linear"_a, "factor"_a, "multiplier"_a, "idle"_a)
      .def("arrays", &arrays_of,
           "Where the constraints of each example and the parts of each begin, the parts, and by constraint cost, "
           "linear "
           "part, factor, multiplier and rounds without mass.")
      .def("__len__", &Cuts::size)
      .def(
          "one_pass",
          [](Cuts& cuts, const Problem& p, InOut<double>& w, const LossFamily& family, const std::string& rescale,
             int slack, const Cost& cost, const In<int64_t>& order, double epsilon, int64_t rounds, bool variant_a,
             double goal) {
            expect_size(w, p.dim(), "w");
            expect_finite(w, "w");
            const Cutting task = cuts.on(p, rescaling_named(rescale, slack, cost), family, w.data());
            const std::vector<int64_t> visits = to_vector(order);
            CuttingPass pass;
            {
              const nb::gil_scoped_release release;
              pass = cutting_pass(task, {epsilon, rounds}, variant_a, goal, visits, check_signals);
            }
            std::vector<std::tuple<int64_t, double, double>> gains;
            for (const Gain& gain : pass.gains) gains.emplace_back(gain.example, gain.gain, gain.excess);
            return std::make_tuple(pass.added, pass.gap, pass.missed, pass.searches, pass.proved, pass.worst,
                                   pass.violation, gains, pass.steps);
          },
          "problem"_a, "w"_a.noconvert(), "family"_a, "rescale"_a, "slack"_a, "cost"_a, "order"_a, "epsilon"_a,
          "rounds"_a, "variant_a"_a, "goal"_a,
          "One pass of Algorithm 1: constraints added, gap, how much of it inference may have missed, the number of "
          "searches and of those proved exact, the worst example, its violation, and for variant (a) examples, gains "
          "of D and violations, and the steps of the optimizations over S.")
      .def(
          "optimize",
          [](Cuts& cuts, const Problem& p, InOut<double>& w, const LossFamily& family, const std::string& rescale,
             int slack, const Cost& cost, double goal, int64_t rounds) {
            expect_size(w, p.dim(), "w");
            expect_finite(w, "w");
            const Cutting task = cuts.on(p, rescaling_named(rescale, slack, cost), family, w.data());
            const nb::gil_scoped_release release;
            Worker worker;
            return optimize(task, goal, rounds, check_signals, worker);
          },
          "problem"_a, "w"_a.noconvert(), "family"_a, "rescale"_a, "slack"_a, "cost"_a, "goal"_a, "rounds"_a,
          "Optimizes over all constraints without inference until their gap is below `goal`. Returns the gap.")
      .def(
          "dual",
          [](Cuts& cuts, const Problem& p, InOut<double>& w, const LossFamily& family, const std::string& rescale,
             int slack, const Cost& cost) {
            expect_size(w, p.dim(), "w");
            return cutting_dual(cuts.on(p, rescaling_named(rescale, slack, cost), family, w.data()));
          },
          "problem"_a, "w"_a.noconvert(), "family"_a, "rescale"_a, "slack"_a, "cost"_a,
          "D at these multipliers, whose weights are w.")
      .def(
          "weights",
          [](Cuts& cuts, const Problem& p) {
            std::vector<double> w(static_cast<size_t>(p.dim()));
            const LossFamily family{kInfinity, 1.0};  // the multipliers already include C and the sample weights
            cutting_weights(cuts.on(p, {false, 1, CostKind::kParts}, family, w.data()), w.data());
            return to_numpy(std::move(w));
          },
          "problem"_a, "Recomputes w(alpha) from the multipliers.")
      .def(
          "slacks",
          [](Cuts& cuts, const Problem& p, const In<double>& w) {
            expect_size(w, p.dim(), "w");
            std::vector<double> slack(static_cast<size_t>(p.size()));
            const LossFamily family{kInfinity, 1.0};  // constraints already include gamma
            known_slacks(cuts.on(p, {false, 1, CostKind::kParts}, family, nullptr), w.data(), slack.data());
            return to_numpy(std::move(slack));
          },
          "problem"_a, "w"_a, "The smallest slacks that satisfy these constraints at w.");
}

}  // namespace

static void bind(nb::module_& m) {
  m.def(
      "most_violated",
      [](const Problem& p, const In<double>& w, int64_t i, const std::string& rescale, int slack, const Cost& cost,
         double gamma) {
        expect_size(w, p.dim(), "w");
        expect_gold(p);
        p.check_example(i);
        Rescaling rule = rescaling_named(rescale, slack, cost);
        rule.gamma = checked_gamma({kInfinity, gamma});
        Worker worker;
        worker.make_room(p.parts(i));
        Violation found = ViolationSearch(p, rule).most_violated(i, w.data(), worker);
        return std::make_tuple(found.value, found.cost, to_numpy(std::move(found.y)), found.exact, found.bound);
      },
      "problem"_a, "w"_a, "i"_a, "rescale"_a, "slack"_a, "cost"_a, "gamma"_a = 1.0,
      "The output with the most violated constraint: H, cost, parts, whether the search was exact, and an upper bound "
      "on all H. cost: 'parts', 'zero-one', 'f1', or a function of an example and an output's parts.");
  m.def(
      "svm_slacks",
      [](const Problem& p, const In<double>& w, const std::string& rescale, int slack, const Cost& cost, int threads,
         double gamma) {
        expect_size(w, p.dim(), "w");
        expect_gold(p);
        Rescaling rule = rescaling_named(rescale, slack, cost);
        rule.gamma = checked_gamma({kInfinity, gamma});
        std::vector<double> xi(static_cast<size_t>(p.size())), bound(static_cast<size_t>(p.size()));
        {
          const nb::gil_scoped_release release;
          svm_slacks(p, rule, w.data(), checked_threads(threads), check_signals, xi.data(), bound.data());
        }
        return std::make_pair(to_numpy(std::move(xi)), to_numpy(std::move(bound)));
      },
      "problem"_a, "w"_a, "rescale"_a, "slack"_a, "cost"_a, "threads"_a, "gamma"_a = 1.0,
      "The slack of every example at w, and an upper bound on it if inference is not exact. cost: as in "
      "most_violated.");
  m.def(
      "block_qp",
      [](const In<double>& h, const In<double>& gram, double q, double cap, const In<double>& alpha, double tol) {
        const auto n = static_cast<int64_t>(h.size());
        expect_size(gram, n * n, "gram");
        expect_size(alpha, n, "alpha");
        if (!(q >= 0) || q == kInfinity || !(cap > 0) || !(tol >= 0))
          throw InputError("q must be finite and not negative, cap positive, and tol not negative.");
        for (int64_t k = 0; k < n * n; ++k)
          if (!std::isfinite(gram.data()[k])) throw InputError("gram must be finite.");
        for (int64_t k = 0; k < n; ++k)
          if (!std::isfinite(h.data()[k]) || !std::isfinite(alpha.data()[k]))
            throw InputError("h and alpha must be finite.");
        std::vector<double> a = to_vector(alpha);
        double left;
        {
          const nb::gil_scoped_release release;
          left = BlockQP(h.data(), gram.data(), n, q, cap, check_signals).solve(tol, a);
        }
        return std::make_pair(to_numpy(std::move(a)), left);
      },
      "h"_a, "gram"_a, "q"_a, "cap"_a, "alpha"_a, "tol"_a,
      "Maximizes h'a - 1/2 a'Ga - q/2 (sum a)^2 over a >= 0, sum a <= cap, from alpha: a, and the remaining gain per "
      "unit of mass.");
  m.def(
      "joint_qp",
      [](const In<double>& h, const In<double>& gram, const In<int64_t>& block, const In<double>& q,
         const In<double>& cap, const In<double>& alpha, double tol) {
        const auto n = static_cast<int64_t>(h.size());
        expect_size(gram, n * n, "gram");
        expect_size(block, n, "block");
        expect_size(alpha, n, "alpha");
        expect_size(cap, static_cast<int64_t>(q.size()), "cap");
        expect_finite(h, "h");
        expect_finite(gram, "gram");
        expect_finite(alpha, "alpha");
        if (!(tol >= 0)) throw InputError("tol must not be negative.");
        std::vector<double> sums(q.size());
        for (int64_t k = 0; k < n; ++k) {
          check_number(block.data()[k], static_cast<int64_t>(q.size()));
          if (!(alpha.data()[k] >= 0)) throw InputError("alpha must not be negative.");
          sums[block.data()[k]] += alpha.data()[k];
        }
        for (size_t i = 0; i < sums.size(); ++i) {
          if (!(q.data()[i] >= 0) || !(cap.data()[i] > 0))
            throw InputError("q must not be negative, and cap positive.");
          if (!(sums[i] <= cap.data()[i] * (1 + 1e-12))) throw InputError("alpha must sum to at most the cap.");
        }
        JointSolution found = solve_jointly(h, gram, block, to_vector(q), to_vector(cap), alpha, tol);
        return std::make_tuple(to_numpy(std::move(found.a)), found.outcome.solved, found.outcome.steps);
      },
      "h"_a, "gram"_a, "block"_a, "q"_a, "cap"_a, "alpha"_a, "tol"_a,
      "The same as block_qp over several blocks with one Gram matrix: a, whether the remaining gain per unit of mass "
      "is at most tol, and the number of steps.");
  bind_cuts(m);
  nb::class_<OutputCache>(m, "OutputCache", "The most recent outputs of each example.")
      .def(nb::new_([](const Problem& p, int64_t most) {
             checked_count(most, "outputs in a cache");
             return new OutputCache(p, most);
           }),
           "problem"_a, "most"_a)
      .def(
          "arrays",
          [](const OutputCache& cache) {
            OutputArrays outputs;
            std::vector<double> cost;
            for (int64_t i = 0; i < cache.size(); ++i) {
              for (const OutputCache::Entry& entry : cache.of(i)) {
                outputs.add(entry.y);
                cost.push_back(entry.cost);
              }
              outputs.end_example();
            }
            return std::move(outputs).with(std::move(cost));
          },
          "Where the outputs of each example and the parts of each begin, the parts, and the costs; most recent first.")
      .def(
          "fill",
          [](OutputCache& cache, const Problem& p, const In<int64_t>& begin, const In<int64_t>& part_begin,
             const In<int32_t>& parts, const In<double>& cost) {
            cache.check(p);
            expect_size(cost, static_cast<int64_t>(part_begin.size()) - 1, "cost");
            for_outputs(p, begin, part_begin, parts, [&](int64_t i, int64_t k, Output y) {
              if (!std::isfinite(cost.data()[k])) throw InputError("costs must be finite.");
              cache.restore(i, {std::move(y), cost.data()[k]});
            });
          },
          "problem"_a, "begin"_a, "part_begin"_a, "parts"_a, "cost"_a, "Restores the result of `arrays`.");
  m.def(
      "one_cut",
      [](const Problem& p, const In<double>& w, const LossFamily& family, const std::string& rescale, const Cost& cost,
         OutputCache& cache, bool cached, const JointArrays& known, int threads) {
        expect_size(w, p.dim(), "w");
        expect_gold(p);
        cache.check(p);
        const std::vector<JointOutputs> outputs = joint_outputs(p, known);
        Rescaling rule = rescaling_named(rescale, 1, cost);
        rule.gamma = checked_gamma(family);
        OneCut cut;
        {
          const nb::gil_scoped_release release;
          cut = one_cut(p, rule, w.data(), family, cache, cached, outputs, checked_threads(threads), check_signals);
        }
        return std::make_tuple(cut.linear, to_numpy(std::move(cut.direction)), to_numpy(std::move(cut.violation)),
                               to_numpy(std::move(cut.begin)), to_numpy(std::move(cut.parts)),
                               to_numpy(std::move(cut.factor)), to_numpy(std::move(cut.cost)), cut.missed);
      },
      "problem"_a, "w"_a, "family"_a, "rescale"_a, "cost"_a, "cache"_a, "cached"_a, "known"_a, "threads"_a,
      "The most violated joint constraint at w, including the outputs of known constraints: linear term, "
      "direction, violations of all examples, where the parts of their outputs begin, the parts, their factors, their "
      "costs times gamma, and how much inexact inference may have missed. cost: as in most_violated.");
  m.def(
      "known_slacks",
      [](const Problem& p, const In<double>& w, const std::string& rescale, const JointArrays& outputs, int threads) {
        expect_size(w, p.dim(), "w");
        expect_gold(p);
        const std::vector<JointOutputs> known = joint_outputs(p, outputs);
        std::vector<double> slack(static_cast<size_t>(p.size()));
        {
          const nb::gil_scoped_release release;
          known_slacks(p, rescaling_named(rescale, 1, nb::str("parts")), known, w.data(), checked_threads(threads),
                       check_signals, slack.data());
        }
        return to_numpy(std::move(slack));
      },
      "problem"_a, "w"_a, "rescale"_a, "outputs"_a, "threads"_a,
      "The smallest slacks that satisfy these joint constraints at w, each as given by one_cut.");
}

static const Registration registration(bind);

}  // namespace margrave
