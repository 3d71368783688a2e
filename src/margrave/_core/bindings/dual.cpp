// Python bindings of the dual learners' passes. State lives in arrays that Python owns, so that it can be kept and
// restored as it is; only the outputs that a block remembers are kept here.
#include "bindings/binding.h"
#include "bindings/output_arrays.h"
#include "passes/mira.h"

namespace margrave {
namespace {

int64_t all_parts(const Problem& p) { return part_offsets(p).back(); }

double* checked(InOut<double>& array, int64_t n, const char* what) {
  expect_size(array, n, what);
  return array.data();
}

// Runs pass(ascent, threads, order) without Python's lock.
template <typename Pass>
auto run_pass(const Problem& p, InOut<double>& w, const LossFamily& family, double C,
              const std::optional<In<double>>& sample_weight, const In<int64_t>& order, int threads,
              const Sharing* sharing, const Pass& pass, double* sum = nullptr) {
  expect_size(w, p.dim(), "w");
  expect_gold(p);
  if (!(C > 0) || C == kInfinity) throw InputError("C must be positive and finite.");
  const double* weight = weights_or_null(p, sample_weight);
  const std::vector<int64_t> visits = to_vector(order);
  if (checked_threads(threads) > 1 && !(sharing && sharing->dim() == p.dim()))
    throw InputError("several threads need the Sharing of their problem.");
  const Ascent ascent{p, family, C, weight, w.data(), sum, sharing};
  const nb::gil_scoped_release release;
  return pass(ascent, visits);
}

template <typename Real>
void bind_eg_pass(nb::module_& m) {
  m.def(
      "eg_pass",
      [](const Problem& p, InOut<double>& w, double beta, double gamma, bool zero_one, double C,
         const std::optional<In<double>>& sample_weight, const In<int64_t>& order, int threads, const Sharing* sharing,
         InOut<Real>& t, InOut<Real>& mu, InOut<double>& rate, InOut<double>& entropy, InOut<double>& cost,
         InOut<double>& gap, double growth, double cap) {
        expect_size(t, all_parts(p), "t");
        expect_size(mu, all_parts(p), "mu");
        const int64_t n = p.size();
        const GibbsState<Real> state{t.data(),
                                     mu.data(),
                                     checked(rate, n, "rate"),
                                     checked(entropy, n, "entropy"),
                                     checked(cost, n, "cost"),
                                     checked(gap, n, "gap")};
        return run_pass(p, w, {beta, gamma, zero_one}, C, sample_weight, order, threads, sharing,
                        [&](const Ascent& ascent, const std::vector<int64_t>& visits) {
                          return eg_pass(ascent, state, {growth, cap}, visits, threads, check_signals);
                        });
      },
      "problem"_a, "w"_a.noconvert(), "beta"_a, "gamma"_a, "zero_one"_a, "C"_a, "sample_weight"_a.none(), "order"_a,
      "threads"_a, "sharing"_a.none(), "t"_a.noconvert(), "mu"_a.noconvert(), "rate"_a.noconvert(),
      "entropy"_a.noconvert(), "cost"_a.noconvert(), "gap"_a.noconvert(), "growth"_a, "cap"_a,
      "One pass of online exponentiated gradient over `order`; the number of trials.");
}

template <typename Real>
void bind_expectations(nb::module_& m) {
  m.def(
      "gibbs_expectations",
      [](const Problem& p, double beta, double gamma, bool zero_one, double C,
         const std::optional<In<double>>& sample_weight, int threads, const In<double>& t, InOut<Real>& mu,
         InOut<double>& entropy, InOut<double>& cost) {
        expect_gold(p);
        expect_size(t, all_parts(p), "t");
        if (mu.size() != 0) expect_size(mu, all_parts(p), "mu");
        const double* weight = weights_or_null(p, sample_weight);
        double* H = checked(entropy, p.size(), "entropy");
        double* c = checked(cost, p.size(), "cost");
        std::vector<double> w(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          GibbsSource source;
          source.t = t.data();
          gibbs_expectations(p, {beta, gamma, zero_one}, source, C, weight, checked_threads(threads), check_signals, H,
                             c, mu.size() == 0 ? nullptr : mu.data(), w.data());
        }
        return to_numpy(std::move(w));
      },
      "problem"_a, "beta"_a, "gamma"_a, "zero_one"_a, "C"_a, "sample_weight"_a.none(), "threads"_a, "t"_a,
      "mu"_a.noconvert(), "entropy"_a.noconvert(), "cost"_a.noconvert(),
      "w(alpha) of Gibbs distributions; fills marginals (unless empty), entropies and costs.");
}

template <typename Real>
void bind_gold_parameters(nb::module_& m) {
  m.def(
      "gold_parameters",
      [](const Problem& p, int threads, double start, InOut<Real>& t) {
        expect_gold(p);
        expect_size(t, all_parts(p), "t");
        checked_threads(threads);
        const nb::gil_scoped_release release;
        const std::vector<int64_t> begin = part_offsets(p);
        const auto visit = [&](int64_t i, int, Worker& worker) {
          Real* own = t.data() + begin[static_cast<size_t>(i)];
          std::fill(own, own + p.parts(i), Real{0});
          p.gold(i, 0, worker.gold);
          for (const int32_t part : worker.gold) own[part] = static_cast<Real>(start);
        };
        for_examples(p, threads, check_signals, visit);
      },
      "problem"_a, "threads"_a, "start"_a, "t"_a.noconvert(),
      "Sets t to `start` on the gold parts and to 0 on others.");
}

void bind_eg(nb::module_& m) {
  bind_gold_parameters<double>(m);
  bind_gold_parameters<float>(m);
  m.def(
      "part_offsets", [](const Problem& p) { return to_numpy(part_offsets(p)); }, "problem"_a,
      "Where the parts of each example begin, of all examples one after another.");
  m.def(
      "gold_parts",
      [](const Problem& p) {
        expect_gold(p);
        const std::vector<int64_t> begin = part_offsets(p);
        std::vector<int64_t> parts;
        Output gold;
        for (int64_t i = 0; i < p.size(); ++i) {
          p.gold(i, 0, gold);
          for (const int32_t part : gold) parts.push_back(begin[static_cast<size_t>(i)] + part);
        }
        return to_numpy(std::move(parts));
      },
      "problem"_a, "The parts of the gold outputs, counted over all examples.");
  bind_eg_pass<double>(m);
  bind_eg_pass<float>(m);
  bind_expectations<double>(m);
  bind_expectations<float>(m);
  m.def(
      "eg_batch_step",
      [](const Problem& p, double beta, double gamma, bool zero_one, double C,
         const std::optional<In<double>>& sample_weight, int threads, const In<double>& w, const In<double>& t,
         InOut<double>& next, double rate, InOut<double>& entropy, InOut<double>& cost) {
        expect_gold(p);
        expect_size(w, p.dim(), "w");
        expect_size(t, all_parts(p), "t");
        const double* weight = weights_or_null(p, sample_weight);
        const LossFamily family{beta, gamma, zero_one};
        GibbsSource source;
        source.t = t.data();
        source.w = w.data();
        source.update = GibbsUpdate::of(family, rate);
        source.next = checked(next, all_parts(p), "next");
        double* H = checked(entropy, p.size(), "entropy");
        double* c = checked(cost, p.size(), "cost");
        std::vector<double> sum(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          gibbs_expectations<double>(p, family, source, C, weight, checked_threads(threads), check_signals, H, c,
                                     nullptr, sum.data());
        }
        return to_numpy(std::move(sum));
      },
      "problem"_a, "beta"_a, "gamma"_a, "zero_one"_a, "C"_a, "sample_weight"_a.none(), "threads"_a, "w"_a, "t"_a,
      "next"_a.noconvert(), "rate"_a, "entropy"_a.noconvert(), "cost"_a.noconvert(),
      "One step of batch EG from t to `next` at the weights w of t; the weights of `next`.");
  m.def(
      "eg_primal_form",
      [](const Problem& p, double beta, double gamma, bool zero_one, double C,
         const std::optional<In<double>>& sample_weight, int threads, const In<double>& z, double s,
         InOut<double>& entropy, InOut<double>& cost) {
        expect_gold(p);
        expect_size(z, p.dim(), "z");
        const double* weight = weights_or_null(p, sample_weight);
        double* H = checked(entropy, p.size(), "entropy");
        double* c = checked(cost, p.size(), "cost");
        GibbsSource source;
        source.z = z.data();
        source.s = s;
        std::vector<double> sum(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          gibbs_expectations<double>(p, {beta, gamma, zero_one}, source, C, weight, checked_threads(threads),
                                     check_signals, H, c, nullptr, sum.data());
        }
        return to_numpy(std::move(sum));
      },
      "problem"_a, "beta"_a, "gamma"_a, "zero_one"_a, "C"_a, "sample_weight"_a.none(), "threads"_a, "z"_a, "s"_a,
      "entropy"_a.noconvert(), "cost"_a.noconvert(), "The weights of Gibbs distributions with t = A z + s delta.");
}

void bind_weights(nb::module_& m) {
  nb::class_<Sharing>(m, "Sharing", "How often several threads exchange which weights.")
      .def(
          "__init__",
          [](Sharing* self, const Problem& problem, int threads) {
            checked_threads(threads);
            const nb::gil_scoped_release release;
            new (self) Sharing(problem, threads);
          },
          "problem"_a, "threads"_a);
  m.def(
      "weights_of",
      [](const Problem& p, double C, const std::optional<In<double>>& sample_weight, int threads,
         const In<double>& mu) {
        expect_gold(p);
        expect_size(mu, all_parts(p), "mu");
        const double* weight = weights_or_null(p, sample_weight);
        std::vector<double> w(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          weights_of(p, mu.data(), C, weight, checked_threads(threads), check_signals, w.data());
        }
        return to_numpy(std::move(w));
      },
      "problem"_a, "C"_a, "sample_weight"_a.none(), "threads"_a, "mu"_a,
      "w(alpha) of distributions with these expected parts.");
}

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
    blocks[static_cast<size_t>(i)].atoms.push_back({std::move(y), cost.data()[k], alpha.data()[k], 0.0});
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
  return Blocks(std::move(blocks));
}

void bind_mixing(nb::module_& m) {
  m.def(
      "mixing_pass",
      [](const Problem& p, InOut<double>& w, double beta, double gamma, bool zero_one, double C,
         const std::optional<In<double>>& sample_weight, const In<int64_t>& order, int threads, const Sharing* sharing,
         InOut<double>& mu, InOut<double>& entropy, InOut<double>& cost, InOut<double>& gap, bool exact_entropy) {
        const MixingState state{checked(mu, all_parts(p), "mu"), checked(entropy, p.size(), "entropy"),
                                checked(cost, p.size(), "cost"), checked(gap, p.size(), "gap")};
        run_pass(p, w, {beta, gamma, zero_one}, C, sample_weight, order, threads, sharing,
                 [&](const Ascent& ascent, const std::vector<int64_t>& visits) {
                   mixing_pass(ascent, state, exact_entropy, visits, threads, check_signals);
                 });
      },
      "problem"_a, "w"_a.noconvert(), "beta"_a, "gamma"_a, "zero_one"_a, "C"_a, "sample_weight"_a.none(), "order"_a,
      "threads"_a, "sharing"_a.none(), "mu"_a.noconvert(), "entropy"_a.noconvert(), "cost"_a.noconvert(),
      "gap"_a.noconvert(), "exact_entropy"_a, "One pass of BCFW (SDCA at finite beta) over `order`.");
  m.def(
      "smo_pass",
      [](const Problem& p, InOut<double>& w, double beta, double gamma, bool zero_one, double C,
         const std::optional<In<double>>& sample_weight, const In<int64_t>& order, int threads, const Sharing* sharing,
         InOut<double>& mu, InOut<double>& cost, InOut<double>& gap) {
        const MixingState state{checked(mu, all_parts(p), "mu"), nullptr, checked(cost, p.size(), "cost"),
                                checked(gap, p.size(), "gap")};
        return run_pass(p, w, {beta, gamma, zero_one}, C, sample_weight, order, threads, sharing,
                        [&](const Ascent& ascent, const std::vector<int64_t>& visits) {
                          return smo_pass(ascent, state, visits, threads, check_signals);
                        });
      },
      "problem"_a, "w"_a.noconvert(), "beta"_a, "gamma"_a, "zero_one"_a, "C"_a, "sample_weight"_a.none(), "order"_a,
      "threads"_a, "sharing"_a.none(), "mu"_a.noconvert(), "cost"_a.noconvert(), "gap"_a.noconvert(),
      "One pass of factored SMO over `order`; the number of inferences.");
  nb::class_<Blocks>(m, "Blocks", "Sparse distributions over outputs, one an example; at first on the gold output.")
      .def(nb::new_([](const Problem& p) {
             expect_gold(p);
             return new Blocks(p);
           }),
           "problem"_a)
      .def_static("from_arrays", &blocks_from_arrays, "problem"_a, "begin"_a, "part_begin"_a, "parts"_a, "alpha"_a,
                  "cost"_a, "gram"_a)
      .def(
          "marginals",
          [](const Blocks& blocks, const Problem& p) {
            if (blocks.size() != p.size()) throw InputError("there must be one block for every example.");
            const std::vector<int64_t> begin = part_offsets(p);
            std::vector<double> mu(static_cast<size_t>(begin.back()));
            for (int64_t i = 0; i < p.size(); ++i)
              for (const Atom& atom : blocks[i].atoms) {
                check_parts(atom.y, p.parts(i));
                for (const int32_t part : atom.y)
                  mu[static_cast<size_t>(begin[static_cast<size_t>(i)] + part)] += atom.alpha;
              }
            return to_numpy(std::move(mu));
          },
          "problem"_a, "The expected parts of every block, one after another.")
      .def(
          "costs",
          [](const Blocks& blocks) {
            std::vector<double> costs;
            for (int64_t i = 0; i < blocks.size(); ++i) costs.push_back(blocks[i].cost());
            return to_numpy(std::move(costs));
          },
          "The expected cost of every block.")
      .def("arrays", &arrays_of, "Everything, as `from_arrays` takes it.");
  m.def(
      "pairwise_pass",
      [](const Problem& p, InOut<double>& w, double beta, double gamma, bool zero_one, double C,
         const std::optional<In<double>>& sample_weight, const In<int64_t>& order, int threads, const Sharing* sharing,
         Blocks& blocks, InOut<double>& gap, int64_t cached_steps, int64_t memory, double enough) {
        double* gaps = checked(gap, p.size(), "gap");
        run_pass(p, w, {beta, gamma, zero_one}, C, sample_weight, order, threads, sharing,
                 [&](const Ascent& ascent, const std::vector<int64_t>& visits) {
                   pairwise_pass(ascent, blocks, {cached_steps, memory, enough}, gaps, visits, threads, check_signals);
                 });
      },
      "problem"_a, "w"_a.noconvert(), "beta"_a, "gamma"_a, "zero_one"_a, "C"_a, "sample_weight"_a.none(), "order"_a,
      "threads"_a, "sharing"_a.none(), "blocks"_a, "gap"_a.noconvert(), "cached_steps"_a, "memory"_a, "enough"_a,
      "One pass of pairwise BCFW over `order`.");
}

// Runs pass(ascent, state, visits); steps so far, what the pass adds to the dual beside |w|^2, and inferences.
template <typename Pass>
std::tuple<int64_t, double, int64_t> run_mira(const Problem& p, InOut<double>& w, const LossFamily& family, double C,
                                              const std::optional<In<double>>& sample_weight, const In<int64_t>& order,
                                              int threads, const Sharing* sharing, InOut<double>& sum, int64_t step,
                                              const Pass& pass) {
  double* sums = checked(sum, p.dim(), "sum");
  MiraPass state{step, {}, 0};
  run_pass(
      p, w, family, C, sample_weight, order, threads, sharing,
      [&](const Ascent& ascent, const std::vector<int64_t>& visits) { pass(ascent, state, visits); }, sums);
  double dual = 0;
  for (const double value : state.dual) dual += value;
  return {state.step(static_cast<int64_t>(state.dual.size()) - 1), dual, state.inferences.load()};
}

void bind_mira(nb::module_& m) {
  m.def(
      "mira_pass",
      [](const Problem& p, InOut<double>& w, double beta, double gamma, bool zero_one, double C,
         const std::optional<In<double>>& sample_weight, const In<int64_t>& order, int threads, const Sharing* sharing,
         InOut<double>& sum, int64_t step, bool exact, bool prediction) {
        const MiraUpdate kind = exact        ? MiraUpdate::kExact
                                : prediction ? MiraUpdate::kPrediction
                                             : MiraUpdate::kClosedForm;
        return run_mira(p, w, {beta, gamma, zero_one}, C, sample_weight, order, threads, sharing, sum, step,
                        [&](const Ascent& ascent, MiraPass& state, const std::vector<int64_t>& visits) {
                          mira_pass(ascent, state, kind, visits, threads, check_signals);
                        });
      },
      "problem"_a, "w"_a.noconvert(), "beta"_a, "gamma"_a, "zero_one"_a, "C"_a, "sample_weight"_a.none(), "order"_a,
      "threads"_a, "sharing"_a.none(), "sum"_a.noconvert(), "step"_a, "exact"_a, "prediction"_a,
      "One pass of dual coordinate ascent over `order`; steps so far, what the pass adds to the dual beside |w|^2, and "
      "inferences.");
  m.def(
      "kbest_mira_pass",
      [](const Problem& p, InOut<double>& w, double beta, double gamma, bool zero_one, double C,
         const std::optional<In<double>>& sample_weight, const In<int64_t>& order, int threads, const Sharing* sharing,
         InOut<double>& sum, int64_t step, int64_t k) {
        return run_mira(p, w, {beta, gamma, zero_one}, C, sample_weight, order, threads, sharing, sum, step,
                        [&](const Ascent& ascent, MiraPass& state, const std::vector<int64_t>& visits) {
                          kbest_mira_pass(ascent, state, k, visits, threads, check_signals);
                        });
      },
      "problem"_a, "w"_a.noconvert(), "beta"_a, "gamma"_a, "zero_one"_a, "C"_a, "sample_weight"_a.none(), "order"_a,
      "threads"_a, "sharing"_a.none(), "sum"_a.noconvert(), "step"_a, "k"_a,
      "One pass of k-best MIRA over `order`; as mira_pass.");
}

}  // namespace

void bind_dual(nb::module_& m) {
  bind_eg(m);
  bind_weights(m);
  bind_mixing(m);
  bind_mira(m);
}

}  // namespace margrave
