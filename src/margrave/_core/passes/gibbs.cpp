// Python bindings of exponentiated gradient: Gibbs distributions over outputs.
#include "passes/gibbs.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "bindings/ascent.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"

namespace margrave {
namespace {

// The arrays in which Python stores the numbers of all examples, as arguments of the functions below.
struct InDouble {
  InOut<double> t, mu;

  // Batch EG has no marginals: their array is then empty.
  DoubleDistributions checked(const Problem&, const StoredParts& stored, bool marginals) const {
    expect_size(t, stored.size(), "t");
    if (marginals) expect_size(mu, stored.size(), "mu");
    return {t.data(), marginals ? mu.data() : nullptr};
  }
};

struct Compactly {
  InOut<int16_t> t;
  InOut<uint16_t> mu;
  InOut<double> steps;
  In<int64_t> room;
  InOut<int32_t> heavy, part;
  InOut<float> heavy_t, heavy_mu;

  CompactDistributions checked(const Problem& p, const StoredParts& stored, bool) const {
    expect_size(t, stored.size(), "t");
    expect_size(mu, stored.size(), "mu");
    expect_size(steps, 2 * p.size(), "steps");
    expect_size(room, p.size() + 1, "room");
    expect_size(heavy, p.size(), "heavy");
    const int64_t* const begin = room.data();
    if (begin[0] != 0 || !std::is_sorted(begin, begin + p.size() + 1))
      throw InputError("the room for heavy parts must ascend from 0.");
    expect_size(part, begin[p.size()], "part");
    expect_size(heavy_t, begin[p.size()], "heavy_t");
    expect_size(heavy_mu, begin[p.size()], "heavy_mu");
    return {t.data(), mu.data(), steps.data(), begin, heavy.data(), part.data(), heavy_t.data(), heavy_mu.data()};
  }
};

template <typename Numbers>
void bind_eg_pass(nb::module_& m) {
  m.def(
      "eg_pass",
      [](const Problem& p, InOut<double>& w, const LossFamily& family, const In<int64_t>& order, int threads,
         Sharing* sharing, const Stored& given, const Numbers& numbers, InOut<double>& rate, InOut<double>& entropy,
         InOut<double>& cost, InOut<double>& gap, double growth, double cap, bool halving, bool first) {
        const Stored stored = checked(given, p);
        const int64_t n = p.size();
        const GibbsState state{numbers.checked(p, *stored, true), checked(rate, n, "rate"),
                               checked(entropy, n, "entropy"), checked(cost, n, "cost"), checked(gap, n, "gap")};
        return run_pass(
            p, w, family, order, threads, sharing, [&](const Ascent& ascent, const std::vector<int64_t>& visits) {
              return eg_pass(ascent, state, *stored, {growth, cap, halving, first}, visits, threads, check_signals);
            });
      },
      "problem"_a, "w"_a.noconvert(), "family"_a, "order"_a, "threads"_a, "sharing"_a.none(), "stored"_a.none(),
      "numbers"_a, "rate"_a.noconvert(), "entropy"_a.noconvert(), "cost"_a.noconvert(), "gap"_a.noconvert(), "growth"_a,
      "cap"_a, "halving"_a, "at_gold"_a,
      "One pass of online exponentiated gradient over `order`. Returns the number of trials. at_gold: all mass is on "
      "the gold outputs, and t contains the natural parameters from which the first step starts.");
}

template <typename Numbers>
void bind_expectations(nb::module_& m) {
  m.def(
      "gibbs_expectations",
      [](const Problem& p, const LossFamily& family, int threads, const Stored& given, const Numbers& numbers,
         bool store, InOut<double>& entropy, InOut<double>& cost) {
        expect_gold(p);
        const Stored stored = checked(given, p);
        double* H = checked(entropy, p.size(), "entropy");
        double* c = checked(cost, p.size(), "cost");
        GibbsSource<decltype(numbers.checked(p, *stored, true))> source;
        source.numbers = numbers.checked(p, *stored, store);
        std::vector<double> w(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          gibbs_expectations(p, family, *stored, source, store, checked_threads(threads), check_signals, H, c,
                             w.data());
        }
        return to_numpy(std::move(w));
      },
      "problem"_a, "family"_a, "threads"_a, "stored"_a.none(), "numbers"_a, "store"_a, "entropy"_a.noconvert(),
      "cost"_a.noconvert(), "w(alpha) of Gibbs distributions; fills entropies, costs and, to store them, marginals.");
}

template <typename Numbers>
void bind_begin_at_gold(nb::module_& m) {
  m.def(
      "begin_at_gold",
      [](const Problem& p, int threads, const Stored& given, double start, const Numbers& numbers) {
        expect_gold(p);
        const Stored stored = checked(given, p);
        const auto distributions = numbers.checked(p, *stored, true);
        checked_threads(threads);
        const nb::gil_scoped_release release;
        for_examples(p, threads, check_signals, [&](int64_t i, int, Worker& worker) {
          const WeightedParts own = stored->of(p, i);
          begin_at_gold(p, own, start, i, worker, distributions.of(*stored, i, own.size()));
        });
      },
      "problem"_a, "threads"_a, "stored"_a.none(), "start"_a, "numbers"_a,
      "Sets mu to the counts of the gold parts, and t to `start` on them and to 0 on others.");
}

template <typename Numbers>
void bind_batch_step(nb::module_& m) {
  m.def(
      "eg_batch_step",
      [](const Problem& p, const LossFamily& family, int threads, const Stored& given, const In<double>& w,
         const Numbers& numbers, const Numbers& next, double rate, InOut<double>& entropy, InOut<double>& cost) {
        expect_gold(p);
        expect_size(w, p.dim(), "w");
        const Stored stored = checked(given, p);
        GibbsSource<decltype(numbers.checked(p, *stored, true))> source;
        source.numbers = numbers.checked(p, *stored, false);
        source.next = next.checked(p, *stored, false);
        source.w = w.data();
        source.update = GibbsUpdate::of(family, rate);
        double* H = checked(entropy, p.size(), "entropy");
        double* c = checked(cost, p.size(), "cost");
        std::vector<double> sum(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          gibbs_expectations(p, family, *stored, source, false, checked_threads(threads), check_signals, H, c,
                             sum.data());
        }
        return to_numpy(std::move(sum));
      },
      "problem"_a, "family"_a, "threads"_a, "stored"_a.none(), "w"_a, "numbers"_a, "next"_a, "rate"_a,
      "entropy"_a.noconvert(), "cost"_a.noconvert(),
      "One step of batch EG from t to the t of `next`, which may be the same, at the weights w of t. Returns the "
      "weights of `next`.");
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
  nb::class_<InDouble>(m, "DoubleNumbers", "Natural parameters and marginals of all examples in double precision.")
      .def(
          "__init__",
          [](InDouble* self, InOut<double> t, InOut<double> mu) { new (self) InDouble{std::move(t), std::move(mu)}; },
          "t"_a.noconvert(), "mu"_a.noconvert());
  nb::class_<Compactly>(m, "CompactNumbers", "The same in about a quarter of the memory (passes/distributions.h).")
      .def(
          "__init__",
          [](Compactly* self, InOut<int16_t> t, InOut<uint16_t> mu, InOut<double> steps, In<int64_t> room,
             InOut<int32_t> heavy, InOut<int32_t> part, InOut<float> heavy_t, InOut<float> heavy_mu) {
            new (self) Compactly{std::move(t),     std::move(mu),   std::move(steps),   std::move(room),
                                 std::move(heavy), std::move(part), std::move(heavy_t), std::move(heavy_mu)};
          },
          "t"_a.noconvert(), "mu"_a.noconvert(), "steps"_a.noconvert(), "room"_a, "heavy"_a.noconvert(),
          "part"_a.noconvert(), "heavy_t"_a.noconvert(), "heavy_mu"_a.noconvert());
  m.def(
      "heavy_room",
      [](const Problem& p, const Stored& given) {
        expect_gold(p);
        return to_numpy(heavy_room(p, *checked(given, p)));
      },
      "problem"_a, "stored"_a.none(),
      "Where the heavy parts of each example begin in the arrays of CompactNumbers, and where the last ones end.");
  bind_begin_at_gold<InDouble>(m);
  bind_begin_at_gold<Compactly>(m);
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
  bind_eg_pass<InDouble>(m);
  bind_eg_pass<Compactly>(m);
  bind_expectations<InDouble>(m);
  bind_expectations<Compactly>(m);
  bind_batch_step<InDouble>(m);
  bind_batch_step<Compactly>(m);
  m.def(
      "eg_primal_form",
      [](const Problem& p, const LossFamily& family, int threads, const In<double>& z, double s, InOut<double>& entropy,
         InOut<double>& cost) {
        expect_gold(p);
        expect_size(z, p.dim(), "z");
        double* H = checked(entropy, p.size(), "entropy");
        double* c = checked(cost, p.size(), "cost");
        GibbsSource<DoubleDistributions> source;
        source.z = z.data();
        source.s = s;
        std::vector<double> sum(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          const StoredParts stored(p);
          gibbs_expectations(p, family, stored, source, false, checked_threads(threads), check_signals, H, c,
                             sum.data());
        }
        return to_numpy(std::move(sum));
      },
      "problem"_a, "family"_a, "threads"_a, "z"_a, "s"_a, "entropy"_a.noconvert(), "cost"_a.noconvert(),
      "The weights of Gibbs distributions with t = A z + s delta.");
}

static const Registration registration(bind);

}  // namespace margrave
