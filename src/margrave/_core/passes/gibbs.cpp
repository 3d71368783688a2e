// Python bindings of exponentiated gradient: Gibbs distributions over outputs.
#include "passes/gibbs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bindings/ascent.h"

namespace margrave {
namespace {

template <typename Real>
void bind_eg_pass(nb::module_& m) {
  m.def(
      "eg_pass",
      [](const Problem& p, InOut<double>& w, const LossFamily& family, const In<int64_t>& order, int threads,
         Sharing* sharing, const Stored& given, InOut<Real>& t, InOut<Real>& mu, InOut<double>& rate,
         InOut<double>& entropy, InOut<double>& cost, InOut<double>& gap, double growth, double cap, bool halving,
         bool first) {
        const Stored stored = checked(given, p);
        expect_size(t, stored->size(), "t");
        expect_size(mu, stored->size(), "mu");
        const int64_t n = p.size();
        const GibbsState<Real> state{t.data(),
                                     mu.data(),
                                     checked(rate, n, "rate"),
                                     checked(entropy, n, "entropy"),
                                     checked(cost, n, "cost"),
                                     checked(gap, n, "gap")};
        return run_pass(
            p, w, family, order, threads, sharing, [&](const Ascent& ascent, const std::vector<int64_t>& visits) {
              return eg_pass(ascent, state, *stored, {growth, cap, halving, first}, visits, threads, check_signals);
            });
      },
      "problem"_a, "w"_a.noconvert(), "family"_a, "order"_a, "threads"_a, "sharing"_a.none(), "stored"_a.none(),
      "t"_a.noconvert(), "mu"_a.noconvert(), "rate"_a.noconvert(), "entropy"_a.noconvert(), "cost"_a.noconvert(),
      "gap"_a.noconvert(), "growth"_a, "cap"_a, "halving"_a, "at_gold"_a,
      "One pass of online exponentiated gradient over `order`. Returns the number of trials. at_gold: all mass is on "
      "the gold outputs, and t contains the natural parameters from which the first step starts.");
}

template <typename Real>
void bind_expectations(nb::module_& m) {
  m.def(
      "gibbs_expectations",
      [](const Problem& p, const LossFamily& family, int threads, const Stored& given, const In<Real>& t,
         InOut<Real>& mu, InOut<double>& entropy, InOut<double>& cost) {
        expect_gold(p);
        const Stored stored = checked(given, p);
        expect_size(t, stored->size(), "t");
        if (mu.size() != 0) expect_size(mu, stored->size(), "mu");
        double* H = checked(entropy, p.size(), "entropy");
        double* c = checked(cost, p.size(), "cost");
        std::vector<double> w(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          GibbsSource<Real> source;
          source.t = t.data();
          gibbs_expectations(p, family, *stored, source, checked_threads(threads), check_signals, H, c,
                             mu.size() == 0 ? nullptr : mu.data(), w.data());
        }
        return to_numpy(std::move(w));
      },
      "problem"_a, "family"_a, "threads"_a, "stored"_a.none(), "t"_a.noconvert(), "mu"_a.noconvert(),
      "entropy"_a.noconvert(), "cost"_a.noconvert(),
      "w(alpha) of Gibbs distributions; fills marginals (unless empty), entropies and costs.");
}

template <typename Real>
void bind_begin_at_gold(nb::module_& m) {
  m.def(
      "begin_at_gold",
      [](const Problem& p, int threads, const Stored& given, double start, InOut<Real>& t, InOut<Real>& mu) {
        expect_gold(p);
        const Stored stored = checked(given, p);
        expect_size(t, stored->size(), "t");
        expect_size(mu, stored->size(), "mu");
        checked_threads(threads);
        const nb::gil_scoped_release release;
        for_examples(p, threads, check_signals, [&](int64_t i, int, Worker& worker) {
          const int64_t at = stored->begin(i);
          begin_at_gold(p, stored->of(p, i), start, i, worker, t.data() + at, mu.data() + at);
        });
      },
      "problem"_a, "threads"_a, "stored"_a.none(), "start"_a, "t"_a.noconvert(), "mu"_a.noconvert(),
      "Sets mu to the counts of the gold parts, and t to `start` on them and to 0 on others.");
}

template <typename Real>
void bind_batch_step(nb::module_& m) {
  m.def(
      "eg_batch_step",
      [](const Problem& p, const LossFamily& family, int threads, const Stored& given, const In<double>& w,
         const In<Real>& t, InOut<Real>& next, double rate, InOut<double>& entropy, InOut<double>& cost) {
        expect_gold(p);
        expect_size(w, p.dim(), "w");
        const Stored stored = checked(given, p);
        expect_size(t, stored->size(), "t");
        expect_size(next, stored->size(), "next");
        GibbsSource<Real> source;
        source.t = t.data();
        source.w = w.data();
        source.update = GibbsUpdate::of(family, rate);
        source.next = next.data();
        double* H = checked(entropy, p.size(), "entropy");
        double* c = checked(cost, p.size(), "cost");
        std::vector<double> sum(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          gibbs_expectations<Real>(p, family, *stored, source, checked_threads(threads), check_signals, H, c, nullptr,
                                   sum.data());
        }
        return to_numpy(std::move(sum));
      },
      "problem"_a, "family"_a, "threads"_a, "stored"_a.none(), "w"_a, "t"_a.noconvert(), "next"_a.noconvert(), "rate"_a,
      "entropy"_a.noconvert(), "cost"_a.noconvert(),
      "One step of batch EG from t to `next`, which may be t itself, at the weights w of t. Returns the weights of "
      "`next`.");
}

}  // namespace

static void bind(nb::module_& m) {
  m.def(
      "natural_parameters",
      [](const Problem& p, const In<double>& mu, int threads) {
        expect_size(mu, all_parts(p), "mu");
        std::vector<double> t(static_cast<size_t>(all_parts(p)));
        {
          const nb::gil_scoped_release release;
          natural_parameters(p, mu.data(), checked_threads(threads), check_signals, t.data());
        }
        return to_numpy(std::move(t));
      },
      "problem"_a, "mu"_a, "threads"_a,
      "The natural parameters of the maximum-entropy distributions with these expected parts of all examples.");
  bind_begin_at_gold<double>(m);
  bind_begin_at_gold<float>(m);
  m.def(
      "part_offsets", [](const Problem& p) { return to_numpy(part_offsets(p)); }, "problem"_a,
      "Where the parts of each example begin, concatenated over all examples.");
  m.def(
      "gold_parts",
      [](const Problem& p) {
        expect_gold(p);
        const std::vector<int64_t> begin = part_offsets(p);
        std::vector<int64_t> parts;
        Output gold;
        for (int64_t i = 0; i < p.size(); ++i) {
          p.gold(i, 0, gold);
          for (const int32_t part : gold) parts.push_back(begin[i] + part);
        }
        return to_numpy(std::move(parts));
      },
      "problem"_a, "The parts of the gold outputs, counted over all examples.");
  bind_eg_pass<double>(m);
  bind_eg_pass<float>(m);
  bind_expectations<double>(m);
  bind_expectations<float>(m);
  bind_batch_step<double>(m);
  bind_batch_step<float>(m);
  m.def(
      "eg_primal_form",
      [](const Problem& p, const LossFamily& family, int threads, const In<double>& z, double s, InOut<double>& entropy,
         InOut<double>& cost) {
        expect_gold(p);
        expect_size(z, p.dim(), "z");
        double* H = checked(entropy, p.size(), "entropy");
        double* c = checked(cost, p.size(), "cost");
        GibbsSource<double> source;
        source.z = z.data();
        source.s = s;
        std::vector<double> sum(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          const StoredParts stored(p);
          gibbs_expectations<double>(p, family, stored, source, checked_threads(threads), check_signals, H, c, nullptr,
                                     sum.data());
        }
        return to_numpy(std::move(sum));
      },
      "problem"_a, "family"_a, "threads"_a, "z"_a, "s"_a, "entropy"_a.noconvert(), "cost"_a.noconvert(),
      "The weights of Gibbs distributions with t = A z + s delta.");
}

static const Registration registration(bind);

}  // namespace margrave
