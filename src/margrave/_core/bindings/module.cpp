// Python bindings of problems, structures, features and whole-data passes.
#include <nanobind/trampoline.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "engines/hypergraph.h"
#include "features/encode.h"
#include "features/table.h"
#include "features/vocabulary.h"
#include "passes/batch.h"
#include "passes/online.h"
#include "protocol/offset.h"
#include "structures/chain.h"
#include "structures/multiclass.h"
#include "structures/non_projective_tree.h"

namespace margrave {
namespace {

// ---- problems written in Python
// --------------------------------------------------------------------------------------

// Adds up the entries of a row that have the same index: the core relies on there being one.
void merge_equal(Row& row) {
  const auto strictly = [](int64_t a, int64_t b) { return a >= b; };
  if (std::adjacent_find(row.index.begin(), row.index.end(), strictly) == row.index.end()) return;
  std::map<int64_t, double> sums;
  for (size_t k = 0; k < row.index.size(); ++k) sums[row.index[k]] += row.value[k];
  row.index.clear();
  row.value.clear();
  for (const auto& [index, value] : sums) {
    row.index.push_back(index);
    row.value.push_back(value);
  }
}

// What Python returns is checked before it is used; what Python gets is a copy, so that keeping it can do no harm.
struct PythonProblem final : Problem {
  NB_TRAMPOLINE(Problem);

  unsigned offers() const override {
    const nb::gil_scoped_acquire gil;
    unsigned flags = 0;
    const std::pair<const char*, unsigned> all[] = {{"argmax", kArgmax}, {"argmax_by_cost", kArgmaxByCost},
                                                    {"logsum", kLogsum}, {"kbest", kKbest},
                                                    {"sample", kSample}, {"entropy", kEntropy}};
    for (const auto& [name, flag] : all)
      if (overrides(name)) flags |= flag;
    return flags;
  }
  // From an attribute or a property of the class in Python, or set on the object.
  bool exact() const override {
    const nb::gil_scoped_acquire gil;
    if (!overrides("exact")) return exact_;
    return result<bool>(nb_trampoline.base().attr("exact"), "exact must be True or False");
  }
  void set_exact(bool exact) { exact_ = exact; }
  bool has_gold() const override {
    const nb::gil_scoped_acquire gil;
    return overrides("gold");
  }
  // Asked once for each example: what there is room for must not change.
  int64_t parts(int64_t i) const override {
    const nb::gil_scoped_acquire gil;
    if (parts_.empty()) parts_.assign(static_cast<size_t>(size()), -1);
    int64_t& known = parts_[static_cast<size_t>(i)];
    if (known < 0) {
      const auto n = result<int64_t>(call("parts", i), "parts(i) must return a whole number");
      if (n < 0 || n > std::numeric_limits<int32_t>::max())
        throw InputError("parts(i) must not be negative, nor huge.");
      known = n;
    }
    return known;
  }
  void score(int64_t i, const double* w, double* theta) const override {
    const nb::gil_scoped_acquire gil;
    copy_result(call("score", i, copy_array(w, dim())), parts(i), "the result of score(i, w)", theta);
  }
  void visit(int64_t i, const double* w, Question question, double* theta) const override {
    const nb::gil_scoped_acquire gil;
    const nb::detail::ticket ticket(nb_trampoline, "visit", nb::detail::str_hash("visit"), false);
    if (!ticket.key.is_valid()) return score(i, w, theta);
    copy_result(nb_trampoline.base().attr("visit")(i, copy_array(w, dim()), question.gamma, question.k), parts(i),
                "the result of visit(i, w, gamma, k)", theta);
  }
  void row(int64_t i, const double* v, Row& row) const override {
    const nb::gil_scoped_acquire gil;
    const auto [index, value] = result<std::pair<nb::object, nb::object>>(call("row", i, copy_array(v, parts(i))),
                                                                          "row(i, v) must return indices and values");
    row.index = to_vector(as_array<int64_t>(index, "the indices of row(i, v)"));
    row.value = to_vector(as_array<double>(value, "the values of row(i, v)"));
    expect_size(row.value, static_cast<int64_t>(row.index.size()), "the values of row(i, v)");
    for (const int64_t k : row.index)
      if (k < 0 || k >= dim()) throw InputError("row(i, v) has the index " + std::to_string(k) + ", out of range.");
    merge_equal(row);
  }
  // A Python scatter works on a copy of g, which is slow: row is the better thing to write.
  void scatter(int64_t i, const double* mu, double c, double* g) const override {
    const nb::gil_scoped_acquire gil;
    const nb::detail::ticket ticket(nb_trampoline, "scatter", nb::detail::str_hash("scatter"), false);
    if (!ticket.key.is_valid()) return Problem::scatter(i, mu, c, g);
    const nb::object copy = nb::cast(copy_array(g, dim()));
    nb_trampoline.base().attr("scatter")(i, copy_array(mu, parts(i)), c, copy);
    copy_result(copy, dim(), "g", g);
  }
  bool euclidean() const override {
    const nb::gil_scoped_acquire gil;
    return !overrides("euclidean") ||
           result<bool>(nb_trampoline.base().attr("euclidean"), "euclidean must be True or False");
  }
  // An inner product of its own is asked for what it makes of the step; the Euclidean one follows from the row.
  double move(int64_t i, const double* v, double c, double* w) const override {
    const nb::gil_scoped_acquire gil;
    if (!overrides("dot") && !overrides("scatter")) return Problem::move(i, v, c, w);
    const double before = dot(w, w);
    scatter(i, v, c, w);
    return 0.5 * (dot(w, w) - before);
  }
  double dot(const double* u, const double* v) const override {
    const nb::gil_scoped_acquire gil;
    const nb::detail::ticket ticket(nb_trampoline, "dot", nb::detail::str_hash("dot"), false);
    if (!ticket.key.is_valid()) return Problem::dot(u, v);
    return result<double>(nb_trampoline.base().attr("dot")(copy_array(u, dim()), copy_array(v, dim())),
                          "dot(u, v) must return a number");
  }
  void clamp(int64_t i, double* theta) const override {
    const nb::gil_scoped_acquire gil;
    const nb::detail::ticket ticket(nb_trampoline, "clamp", nb::detail::str_hash("clamp"), false);
    if (!ticket.key.is_valid()) return;
    copy_result(nb_trampoline.base().attr("clamp")(i, copy_array(theta, parts(i))), parts(i),
                "the result of clamp(i, theta)", theta);
  }
  double radius(int64_t i) const override {
    const nb::gil_scoped_acquire gil;
    return result<double>(call("radius", i), "radius(i) must return a number");
  }
  int64_t gold(int64_t i, int64_t k, Output& y) const override {
    const nb::gil_scoped_acquire gil;
    const int64_t n = overrides("golds") ? result<int64_t>(call("golds", i), "golds(i) must return a whole number") : 1;
    if (n < 1) throw InputError("golds(i) must be at least 1, and it is " + std::to_string(n) + ".");
    if (k == 0)
      y = output(call("gold", i), i, "the result of gold(i)");
    else if (k < n)
      y = output(call("gold", i, k), i, "the result of gold(i, k)");
    return n;
  }
  double cost(int64_t i, double* delta) const override {
    const nb::gil_scoped_acquire gil;
    const auto [array, c0] = result<std::pair<nb::object, double>>(
        call("cost", i), "cost(i) must return the costs of the parts and a number");
    copy_result(array, parts(i), "the costs of cost(i)", delta);
    return c0;
  }
  double argmax(int64_t i, const double* theta, Output& y, Scratch&) const override {
    const nb::gil_scoped_acquire gil;
    const auto [value, parts_of_y] = result<std::pair<double, nb::object>>(
        call("argmax", i, copy_array(theta, parts(i))), "argmax(i, theta) must return a number and parts");
    y = output(parts_of_y, i, "the parts of argmax(i, theta)");
    return value;
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch&) const override {
    const nb::gil_scoped_acquire gil;
    const auto [value, array] = result<std::pair<double, nb::object>>(
        call("logsum", i, copy_array(theta, parts(i))), "logsum(i, theta) must return a number and marginals");
    copy_result(array, parts(i), "the marginals of logsum(i, theta)", mu);
    return value;
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const override {
    const nb::gil_scoped_acquire gil;
    ys.clear();
    for (const nb::handle item : call("kbest", i, copy_array(theta, parts(i)), k)) {
      const auto [value, y] = result<std::pair<double, nb::object>>(
          nb::borrow(item), "kbest(i, theta, k) must return pairs of a number and parts");
      ys.push_back({value, output(y, i, "the parts of kbest(i, theta, k)")});
    }
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, std::vector<CostedOutput>& ys,
                      Scratch&) const override {
    const nb::gil_scoped_acquire gil;
    ys.clear();
    for (const nb::handle item : call("argmax_by_cost", i, copy_array(theta, parts(i)), copy_array(delta, parts(i)))) {
      const auto [cost, value, y] = result<std::tuple<int64_t, double, nb::object>>(
          nb::borrow(item), "argmax_by_cost(i, theta, delta) must return triples of cost, number and parts");
      ys.push_back({cost, value, output(y, i, "the parts of argmax_by_cost(i, theta, delta)")});
    }
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch&) const override {
    const nb::gil_scoped_acquire gil;
    y = output(call("sample", i, copy_array(theta, parts(i)), random.next() >> 1), i, "the result of sample");
  }
  double entropy(int64_t i, const double* mu, double* t, Scratch&) const override {
    const nb::gil_scoped_acquire gil;
    const auto [value, array] = result<std::pair<double, nb::object>>(
        call("entropy", i, copy_array(mu, parts(i))), "entropy(i, mu) must return a number and parameters");
    copy_result(array, parts(i), "the parameters of entropy(i, mu)", t);
    return value;
  }

 private:
  bool overrides(const char* name) const {
    return !nb_trampoline.base().type().attr(name).is(nb::type<Problem>().attr(name));
  }
  // Without this check a call would come back here for ever.
  template <typename... Args>
  nb::object call(const char* name, Args&&... args) const {
    if (!overrides(name)) unsupported(name);
    return nb_trampoline.base().attr(name)(std::forward<Args>(args)...);
  }
  template <typename T>
  static T result(const nb::object& object, const char* expected) {
    try {
      return nb::cast<T>(object);
    } catch (const nb::cast_error&) {
      throw InputError(std::string(expected) + ", not " + Py_TYPE(object.ptr())->tp_name + ".");
    }
  }
  template <typename T>
  static In<T> as_array(const nb::handle& object, const char* what) {
    const char* type = std::is_same_v<T, double> ? "float64" : sizeof(T) == 8 ? "int64" : "int32";
    try {
      return nb::cast<In<T>>(nb::module_::import_("numpy").attr("ascontiguousarray")(object, type));
    } catch (const nb::cast_error&) {
      throw InputError(std::string(what) + " must be a list of numbers.");
    }
  }
  static void copy_result(const nb::handle& object, int64_t n, const char* what, double* to) {
    const In<double> array = as_array<double>(object, what);
    expect_size(array, n, what);
    std::copy(array.data(), array.data() + n, to);
  }
  Output output(const nb::handle& object, int64_t i, const char* what) const {
    Output y = to_vector(as_array<int32_t>(object, what));
    check_parts(y, parts(i));
    return y;
  }

  bool exact_ = true;
  mutable std::vector<int64_t> parts_;  // -1: not asked yet; changed only under Python's lock
};

// ---- binding by parts
// ------------------------------------------------------------------------------------------------

std::vector<std::pair<double, Array<int32_t>>> scored(std::vector<ScoredOutput>&& ys) {
  std::vector<std::pair<double, Array<int32_t>>> result;
  for (ScoredOutput& y : ys) result.emplace_back(y.value, to_numpy(std::move(y.y)));
  return result;
}

bool is_score(double value) { return !std::isnan(value) && value != kInfinity; }

std::vector<std::string> offered(unsigned flags) {
  const std::pair<const char*, unsigned> all[] = {{"argmax", kArgmax}, {"argmax_by_cost", kArgmaxByCost},
                                                  {"logsum", kLogsum}, {"kbest", kKbest},
                                                  {"sample", kSample}, {"entropy", kEntropy},
                                                  {"untied", kUntied}};
  std::vector<std::string> names;
  for (const auto& [name, flag] : all)
    if (flags & flag) names.emplace_back(name);
  return names;
}

struct Checked {  // an example and its scores, checked
  Checked(const Problem& problem, int64_t i, const In<double>& theta) {
    problem.check_example(i);
    expect_size(theta, problem.parts(i), "the scores of this example");
    for (size_t k = 0; k < theta.size(); ++k)
      if (!is_score(theta.data()[k]))
        throw InputError("part " + std::to_string(k) + " has the score " + std::to_string(theta.data()[k]) +
                         "; scores must be finite, or -inf for a forbidden part.");
  }
};

void bind_problem(nb::module_& m) {
  nb::class_<Problem, PythonProblem>(
      m, "Problem", "A structured prediction problem: a structure with its features, bound to a data set.")
      .def(nb::init<int64_t, int64_t>(), "size"_a, "dim"_a)
      .def_prop_ro("size", &Problem::size, "The number of examples.")
      .def_prop_ro("dim", &Problem::dim, "The number of weights.")
      .def_prop_ro(
          "offers", [](const Problem& p) { return offered(p.offers()); }, "What it can do beyond scoring.")
      .def_prop_rw(
          "exact", &Problem::exact,
          [](Problem& p, bool exact) {
            auto* written_in_python = dynamic_cast<PythonProblem*>(&p);
            if (!written_in_python) throw InputError("whether inference is exact follows from the structure.");
            written_in_python->set_exact(exact);
          },
          "Whether inference is exact. A problem written in Python may say that its own is not.")
      .def_prop_ro("zero_one_is_of_parts", &Problem::zero_one_is_of_parts, "Whether every output is a single part.")
      .def_prop_ro("has_gold", &Problem::has_gold, "Whether gold outputs are known.")
      .def_prop_ro("euclidean", &Problem::euclidean, "Whether the inner product of weights is the Euclidean one.")
      .def(
          "parts", [](const Problem& p, int64_t i) { return p.check_example(i), p.parts(i); }, "i"_a,
          "The number of parts of example i.")
      .def(
          "score",
          [](const Problem& p, int64_t i, const In<double>& w) {
            p.check_example(i);
            expect_size(w, p.dim(), "w");
            std::vector<double> theta(static_cast<size_t>(p.parts(i)));
            p.score(i, w.data(), theta.data());
            return to_numpy(std::move(theta));
          },
          "i"_a, "w"_a, "Part scores theta = A_i w.")
      .def(
          "visit",
          [](const Problem& p, int64_t i, const In<double>& w, double gamma, int64_t k) {
            p.check_example(i);
            expect_size(w, p.dim(), "w");
            std::vector<double> theta(static_cast<size_t>(p.parts(i)));
            p.visit(i, w.data(), {gamma, k}, theta.data());
            return to_numpy(std::move(theta));
          },
          "i"_a, "w"_a, "gamma"_a, "k"_a,
          "The same, where the k best outputs, or the log partition function (k = 0), are asked for next, with gamma "
          "times the cost.")
      .def(
          "scatter",
          [](const Problem& p, int64_t i, const In<double>& mu, double c, InOut<double>& g) {
            p.check_example(i);
            expect_size(mu, p.parts(i), "mu");
            expect_size(g, p.dim(), "g");
            p.scatter(i, mu.data(), c, g.data());
          },
          "i"_a, "mu"_a, "c"_a, "g"_a.noconvert(), "g += c A_i' mu, the adjoint of score.")
      .def(
          "move",
          [](const Problem& p, int64_t i, const In<double>& v, double c, InOut<double>& w) {
            p.check_example(i);
            expect_size(v, p.parts(i), "v");
            expect_size(w, p.dim(), "w");
            return p.move(i, v.data(), c, w.data());
          },
          "i"_a, "v"_a, "c"_a, "w"_a.noconvert(), "w += c A_i' v, and the change of 1/2 dot(w, w).")
      .def(
          "row",
          [](const Problem& p, int64_t i, const In<double>& v) {
            p.check_example(i);
            expect_size(v, p.parts(i), "v");
            Row row;
            p.row(i, v.data(), row);
            return std::make_pair(to_numpy(std::move(row.index)), to_numpy(std::move(row.value)));
          },
          "i"_a, "v"_a, "A_i' v as a sparse vector: indices and values.")
      .def(
          "dot",
          [](const Problem& p, const In<double>& u, const In<double>& v) {
            expect_size(u, p.dim(), "u");
            expect_size(v, p.dim(), "v");
            return p.dot(u.data(), v.data());
          },
          "u"_a, "v"_a, "The inner product of weights.")
      .def(
          "radius", [](const Problem& p, int64_t i) { return p.check_example(i), p.radius(i); }, "i"_a,
          "A bound on |A_i' (y - y')| over the outputs of example i.")
      .def(
          "gold",
          [](const Problem& p, int64_t i, int64_t k) {
            p.check_example(i);
            Output y;
            if (const int64_t n = p.gold(i, std::max<int64_t>(k, 0), y); k < 0 || k >= n)
              throw InputError("good output " + std::to_string(k) + " of example " + std::to_string(i) +
                               " is out of range: there are " + std::to_string(n) + ".");
            return to_numpy(std::move(y));
          },
          "i"_a, "k"_a = 0, "The parts of the gold output; of the k-th, best first, where several are good.")
      .def(
          "golds",
          [](const Problem& p, int64_t i) {
            p.check_example(i);
            Output y;
            return p.gold(i, 0, y);
          },
          "i"_a, "The number of good outputs of example i, nearly always 1.")
      .def(
          "clamp",
          [](const Problem& p, int64_t i, const In<double>& theta) {
            p.check_example(i);
            expect_size(theta, p.parts(i), "theta");
            std::vector<double> clamped = to_vector(theta);
            p.clamp(i, clamped.data());
            return to_numpy(std::move(clamped));
          },
          "i"_a, "theta"_a, "The scores, with -inf on forbidden parts.")
      .def(
          "cost",
          [](const Problem& p, int64_t i) {
            p.check_example(i);
            std::vector<double> delta(static_cast<size_t>(p.parts(i)));
            const double c0 = p.cost(i, delta.data());
            return std::make_pair(to_numpy(std::move(delta)), c0);
          },
          "i"_a, "The cost of every output: c0 + <delta, y>.")
      .def(
          "argmax",
          [](const Problem& p, int64_t i, const In<double>& theta) {
            const Checked checked(p, i, theta);
            Scratch scratch;
            Output y;
            const double value = p.argmax(i, theta.data(), y, scratch);
            return std::make_pair(value, to_numpy(std::move(y)));
          },
          "i"_a, "theta"_a, "The best score and the parts of the best output.")
      .def(
          "logsum",
          [](const Problem& p, int64_t i, const In<double>& theta) {
            const Checked checked(p, i, theta);
            Scratch scratch;
            std::vector<double> mu(static_cast<size_t>(p.parts(i)));
            const double value = p.logsum(i, theta.data(), mu.data(), scratch);
            return std::make_pair(value, to_numpy(std::move(mu)));
          },
          "i"_a, "theta"_a, "The log partition function and the marginals.")
      .def(
          "argmax_by_cost",
          [](const Problem& p, int64_t i, const In<double>& theta, const In<double>& delta) {
            const Checked checked(p, i, theta);
            expect_size(delta, p.parts(i), "delta");
            Scratch scratch;
            std::vector<CostedOutput> ys;
            p.argmax_by_cost(i, theta.data(), delta.data(), ys, scratch);
            std::vector<std::tuple<int64_t, double, Array<int32_t>>> result;
            for (CostedOutput& y : ys) result.emplace_back(y.cost, y.value, to_numpy(std::move(y.y)));
            return result;
          },
          "i"_a, "theta"_a, "delta"_a, "The best output at each value of a whole-number cost: (cost, value, parts).")
      .def(
          "kbest",
          [](const Problem& p, int64_t i, const In<double>& theta, int64_t k) {
            const Checked checked(p, i, theta);
            if (k < 1) throw InputError("k must be at least 1.");
            Scratch scratch;
            std::vector<ScoredOutput> ys;
            p.kbest(i, theta.data(), k, ys, scratch);
            return scored(std::move(ys));
          },
          "i"_a, "theta"_a, "k"_a, "The k best distinct outputs, best first: (value, parts).")
      .def(
          "sample",
          [](const Problem& p, int64_t i, const In<double>& theta, uint64_t seed) {
            const Checked checked(p, i, theta);
            Scratch scratch;
            Random random(seed);
            Output y;
            p.sample(i, theta.data(), random, y, scratch);
            return to_numpy(std::move(y));
          },
          "i"_a, "theta"_a, "seed"_a, "An output drawn with probability proportional to exp(score).")
      .def(
          "entropy",
          [](const Problem& p, int64_t i, const In<double>& mu) {
            p.check_example(i);
            expect_size(mu, p.parts(i), "mu");
            Scratch scratch;
            std::vector<double> t(mu.size());
            const double value = p.entropy(i, mu.data(), t.data(), scratch);
            return std::make_pair(value, to_numpy(std::move(t)));
          },
          "i"_a, "mu"_a, "Entropy and natural parameters of the maximum-entropy distribution with these marginals.")
      .def(
          "oracle",
          [](const Problem& p, int64_t i, const In<double>& w, double beta, double gamma, bool zero_one) {
            p.check_example(i);
            expect_size(w, p.dim(), "w");
            const LossFamily family{beta, gamma, zero_one};
            family.check(p);
            Worker worker;
            std::vector<double> theta(static_cast<size_t>(p.parts(i)));
            std::vector<double> direction(theta.size());
            p.visit(i, w.data(), family.question(p), theta.data());
            const LossValue value = evaluate(p, i, family, theta.data(), direction.data(), worker, true);
            Row row;
            p.row(i, direction.data(), row);
            return std::make_tuple(value.loss, value.cost, value.entropy, to_numpy(std::move(row.index)),
                                   to_numpy(std::move(row.value)));
          },
          "i"_a, "w"_a, "beta"_a, "gamma"_a, "zero_one"_a = false,
          "Loss, expected cost, entropy and sparse gradient (indices, values) of one example.")
      .def(
          "slice",
          [](std::shared_ptr<const Problem> p, int64_t begin, int64_t end) -> std::shared_ptr<Problem> {
            return std::make_shared<SliceProblem>(std::move(p), begin, end);
          },
          "begin"_a, "end"_a, "Examples [begin, end) as a problem of their own.");
  nb::class_<BoundProblem, Problem>(m, "BoundProblem");
  nb::class_<SliceProblem, Problem>(m, "SliceProblem");
  nb::class_<OffsetProblem, SliceProblem>(m, "OffsetProblem");
  m.def(
      "offset",
      [](std::shared_ptr<const Problem> p, const In<double>& r, bool zero_one) -> std::shared_ptr<OffsetProblem> {
        if (!p) throw InputError("an offset needs a problem.");
        expect_size(r, p->dim(), "r");
        return std::make_shared<OffsetProblem>(std::move(p), to_vector(r), zero_one);
      },
      "problem"_a, "r"_a, "zero_one"_a = false,
      "The same problem with the scores of r in its costs: its loss (beta, gamma) at u is the other's at u + gamma r.");
}

std::vector<uint8_t> flags_of(const std::optional<In<bool>>& array) {
  return array ? std::vector<uint8_t>(array->data(), array->data() + array->size()) : std::vector<uint8_t>();
}

Array<int64_t> of_examples(const Structure& structure, int64_t (Structure::*ask)(int64_t) const) {
  std::vector<int64_t> answers;
  for (int64_t i = 0; i < structure.size(); ++i) answers.push_back((structure.*ask)(i));
  return to_numpy(std::move(answers));
}

void bind_label_costs(nb::module_& m) {
  nb::class_<LabelCost>(m, "LabelCost", "What it costs to predict one label where another is right.")
      .def_prop_ro("labels", &LabelCost::labels, "The number of labels.")
      .def(
          "row",
          [](const LabelCost& cost, int64_t gold) {
            if (gold < 0 || gold >= cost.labels())
              throw InputError("label " + std::to_string(gold) + " is out of range: there are " +
                               std::to_string(cost.labels()) + ".");
            std::vector<double> delta(static_cast<size_t>(cost.labels()));
            cost.row(static_cast<int32_t>(gold), delta.data());
            return to_numpy(std::move(delta));
          },
          "gold"_a, "The cost of predicting each label where `gold` is right.");
  nb::class_<HammingCost, LabelCost>(m, "HammingCost");
  nb::class_<MatrixCost, LabelCost>(m, "MatrixCost");
  nb::class_<TreeCost, LabelCost>(m, "TreeCost");
  m.def(
      "hamming_cost",
      [](const In<double>& weights) -> std::shared_ptr<HammingCost> {
        return std::make_shared<HammingCost>(to_vector(weights));
      },
      "weights"_a, "Every wrong label costs the weight of the right one.");
  m.def(
      "matrix_cost",
      [](int64_t labels, const In<double>& costs) -> std::shared_ptr<MatrixCost> {
        return std::make_shared<MatrixCost>(labels, to_vector(costs));
      },
      "labels"_a, "costs"_a, "The cost of every pair of labels: (right, predicted), row by row.");
  m.def(
      "tree_cost",
      [](const In<int64_t>& above_begin, const In<int32_t>& above, const In<int64_t>& below_begin,
         const In<int32_t>& below, const In<double>& height, double root) -> std::shared_ptr<TreeCost> {
        return std::make_shared<TreeCost>(to_vector(above_begin), to_vector(above), to_vector(below_begin),
                                          to_vector(below), to_vector(height), root);
      },
      "above_begin"_a, "above"_a, "below_begin"_a, "below"_a, "height"_a, "root"_a,
      "The cost of two classes is the height of the lowest node that is above both, or `root` if there is none. "
      "Given: the nodes above each class, the classes below each node, and the height of each node.");
}

void bind_structures(nb::module_& m) {
  bind_label_costs(m);
  nb::class_<Structure>(m, "Structure", "Which bags of parts are outputs, for every example of a data set.")
      .def_prop_ro("size", &Structure::size, "The number of examples.")
      .def(
          "parts", [](const Structure& s, int64_t i) { return s.check_example(i), s.parts(i); }, "i"_a,
          "The number of parts of example i.")
      .def_prop_ro(
          "offers", [](const Structure& s) { return offered(s.offers()); }, "What it can do beyond scoring.")
      .def_prop_ro("exact", &Structure::exact, "Whether inference is exact.")
      .def_prop_ro("has_gold", &Structure::has_gold, "Whether gold outputs are known.")
      .def_prop_ro("columns", &Structure::columns,
                   "How many parts each row of features has: the number of labels, or 1 if every part has its own row.")
      .def(
          "choice", [](const Structure& s, int64_t i) { return s.check_example(i), s.choice(i); }, "i"_a,
          "Parts come in groups of this many, of which an output has exactly one; 1: a part may be there or not.")
      .def_prop_ro(
          "choices", [](const Structure& s) { return of_examples(s, &Structure::choice); }, nb::rv_policy::move,
          "choice(i) for every example.")
      .def_prop_ro(
          "repeats", [](const Structure& s) { return of_examples(s, &Structure::repeats); }, nb::rv_policy::move,
          "How often an output of each example can have the same part, at most.")
      .def(
          "gold_parts",
          [](const Structure& s) {
            if (!s.has_gold()) throw InputError("this structure was bound without gold outputs.");
            std::vector<int64_t> begin{0};
            std::vector<int32_t> parts;
            {
              const nb::gil_scoped_release release;
              Output y;
              for (int64_t i = 0; i < s.size(); ++i) {
                s.gold(i, 0, y);
                parts.insert(parts.end(), y.begin(), y.end());
                begin.push_back(static_cast<int64_t>(parts.size()));
              }
            }
            return std::make_pair(to_numpy(std::move(begin)), to_numpy(std::move(parts)));
          },
          "The parts of the first gold output of every example, one after another: bounds and parts.");
  nb::class_<MulticlassStructure, Structure>(m, "MulticlassStructure");
  nb::class_<ChainStructure, Structure>(m, "ChainStructure")
      .def_prop_ro("gram_parts", [](const ChainStructure& c) { return c.grams().parts(); })
      .def_prop_ro("order", [](const ChainStructure& c) { return c.grams().order(); })
      .def_prop_ro("tied", [](const ChainStructure& c) { return c.tied(); })
      .def(
          "gold",
          [](const ChainStructure& c, int64_t i) {
            c.check_example(i);
            Output y;
            c.gold(i, 0, y);
            return to_numpy(std::move(y));
          },
          "i"_a);
  nb::class_<TreeStructure, Structure>(m, "TreeStructure");
  nb::class_<HypergraphStructure, Structure>(m, "HypergraphStructure");

  const auto labels_of = [](int64_t labels, const In<int64_t>& begin, const std::optional<In<int32_t>>& gold,
                            std::shared_ptr<LabelCost> cost, const std::optional<In<bool>>& allowed) {
    return Labels(labels, to_vector(begin), to_vector(gold), std::move(cost), flags_of(allowed));
  };
  m.def(
      "multiclass",
      [labels_of](int64_t labels, const In<int64_t>& begin, const std::optional<In<int32_t>>& gold,
                  std::shared_ptr<LabelCost> cost,
                  const std::optional<In<bool>>& allowed) -> std::shared_ptr<MulticlassStructure> {
        return std::make_shared<MulticlassStructure>(labels_of(labels, begin, gold, std::move(cost), allowed));
      },
      "labels"_a, "begin"_a, "gold"_a.none(), "cost"_a.none(), "allowed"_a.none());
  m.def(
      "chain",
      [labels_of](int64_t labels, const In<int64_t>& begin, const std::optional<In<int32_t>>& gold,
                  std::shared_ptr<LabelCost> cost, const std::optional<In<bool>>& allowed, int64_t order, bool tied,
                  const std::optional<In<bool>>& forbidden) -> std::shared_ptr<ChainStructure> {
        return std::make_shared<ChainStructure>(labels_of(labels, begin, gold, std::move(cost), allowed), order, tied,
                                                flags_of(forbidden));
      },
      "labels"_a, "begin"_a, "gold"_a.none(), "cost"_a.none(), "allowed"_a.none(), "order"_a, "tied"_a,
      "forbidden"_a.none());
  m.def(
      "non_projective_tree",
      [](const In<int64_t>& words, const std::optional<In<int32_t>>& heads,
         bool single_root) -> std::shared_ptr<TreeStructure> {
        return std::make_shared<TreeStructure>(to_vector(words), to_vector(heads), single_root);
      },
      "words"_a, "heads"_a.none(), "single_root"_a);

  nb::class_<Hypergraph>(m, "Hypergraph")
      .def(
          "__init__",
          [](Hypergraph* self, int64_t nodes, const In<int32_t>& heads, const In<int64_t>& tail_begin,
             const In<int32_t>& tails, const In<int64_t>& part_begin, const In<int32_t>& parts) {
            new (self) Hypergraph(nodes, to_vector(heads), to_vector(tail_begin), to_vector(tails),
                                  to_vector(part_begin), to_vector(parts));
          },
          "nodes"_a, "heads"_a, "tail_begin"_a, "tails"_a, "part_begin"_a, "parts"_a)
      .def_prop_ro("nodes", &Hypergraph::nodes)
      .def_prop_ro("edges", &Hypergraph::edges)
      .def_prop_ro("parts", &Hypergraph::parts);
  m.def(
      "hypergraphs",
      [](const std::vector<std::shared_ptr<Hypergraph>>& graphs, const In<int64_t>& parts,
         const std::optional<std::vector<In<int32_t>>>& gold, const std::optional<std::vector<In<double>>>& delta,
         const std::optional<In<double>>& c0) -> std::shared_ptr<HypergraphStructure> {
        const auto n = static_cast<int64_t>(graphs.size());
        expect_size(parts, n, "parts");
        if (gold) expect_size(*gold, n, "gold");
        if (delta) expect_size(*delta, n, "delta");
        if (c0) expect_size(*c0, n, "c0");
        std::vector<HypergraphStructure::Example> examples;
        for (size_t i = 0; i < graphs.size(); ++i) {
          if (!graphs[i]) throw InputError("example " + std::to_string(i) + " has no hypergraph.");
          examples.push_back({graphs[i], parts.data()[i], gold ? to_vector((*gold)[i]) : Output(),
                              delta ? to_vector((*delta)[i]) : std::vector<double>(), c0 ? c0->data()[i] : 0.0});
        }
        return std::make_shared<HypergraphStructure>(std::move(examples), gold.has_value());
      },
      "graphs"_a, "parts"_a, "gold"_a.none(), "delta"_a.none(), "c0"_a.none());
}

// Where a value of row t stands, for a person.
std::string place(const Tokens& tokens, size_t t, size_t column, bool single, const std::string& unit) {
  const auto& begin = tokens.example_begin;
  const auto after = std::upper_bound(begin.begin(), begin.end(), static_cast<int64_t>(t));
  const auto example = after - begin.begin() - 1;
  std::string where = "example " + std::to_string(example);
  if (!single && after != begin.begin())
    where += ", " + unit + " " + std::to_string(static_cast<int64_t>(t) - *(after - 1));
  return where + ", column " + std::to_string(column) + ": the value is ";
}

void bind_features(nb::module_& m) {
  nb::class_<Features>(m, "Features").def_prop_ro("dim", &Features::dim);
  nb::class_<Table, Features>(m, "Table");
  nb::class_<SparseParts, Features>(m, "SparseParts");

  nb::class_<Vocabulary>(m, "Vocabulary")
      .def(nb::init<>())
      .def(
          "__init__",
          [](Vocabulary* self, const In<uint8_t>& bytes, const In<int64_t>& offsets) {
            new (self) Vocabulary(std::vector<char>(bytes.data(), bytes.data() + bytes.size()), to_vector(offsets));
          },
          "bytes"_a, "offsets"_a)
      .def("__len__", &Vocabulary::size)
      .def(
          "find",
          [](const Vocabulary& v, std::string_view name) { return v.find(name, hash_bytes(name.data(), name.size())); },
          "name"_a, "The number of an attribute, or -1.")
      .def(
          "names",
          [](const Vocabulary& v) {
            nb::typed<nb::list, nb::str> names;
            for (int64_t k = 0; k < v.size(); ++k) {
              const std::string_view name = v.name(k);
              PyObject* text = PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "strict");
              if (!text) {
                PyErr_Clear();
                throw InputError("name " + std::to_string(k) + " of the vocabulary is not valid UTF-8.");
              }
              names.append(nb::steal(text));
            }
            return names;
          },
          "All names, by number.")
      .def(
          "arrays",
          [](const Vocabulary& v) {
            return std::make_pair(to_numpy(std::vector<uint8_t>(v.bytes().begin(), v.bytes().end())),
                                  to_numpy(std::vector<int64_t>(v.offsets())));
          },
          "The names one after another as bytes, and where each begins.")
      .def(
          "merge", [](Vocabulary& v, const Vocabulary& other) { return to_numpy(v.merge(other)); }, "other"_a,
          "Adds the names of another vocabulary in their order; their numbers here.")
      .def("__getstate__", [](const nb::object& self) { return self.attr("arrays")(); })
      .def("__setstate__", [](Vocabulary& self, const std::pair<In<uint8_t>, In<int64_t>>& state) {
        const auto& [bytes, offsets] = state;
        new (&self) Vocabulary(std::vector<char>(bytes.data(), bytes.data() + bytes.size()), to_vector(offsets));
      });

  nb::class_<Tokens>(m, "Tokens", "Sparse rows of the tokens of a data set.")
      .def(
          "__init__",
          [](Tokens* self, const In<int64_t>& example_begin, const In<int64_t>& row_begin, const In<int32_t>& index,
             const std::optional<In<double>>& value) {
            Tokens tokens{to_vector(example_begin), to_vector(row_begin), to_vector(index), to_vector(value)};
            tokens.check();
            new (self) Tokens(std::move(tokens));
          },
          "example_begin"_a, "row_begin"_a, "index"_a, "value"_a.none())
      .def_prop_ro("examples", &Tokens::examples)
      .def_prop_ro("tokens", &Tokens::tokens)
      .def_prop_ro("entries", [](const Tokens& t) { return t.index.size(); })
      .def_prop_ro(
          "example_begin", [](const Tokens& t) { return to_numpy(std::vector<int64_t>(t.example_begin)); },
          nb::rv_policy::move)
      .def(
          "arrays",
          [](const Tokens& t) {
            std::optional<Array<double>> value;
            if (!t.value.empty()) value = to_numpy(std::vector<double>(t.value));
            return std::make_tuple(to_numpy(std::vector<int64_t>(t.example_begin)),
                                   to_numpy(std::vector<int64_t>(t.row_begin)), to_numpy(std::vector<int32_t>(t.index)),
                                   std::move(value));
          },
          "Where the tokens of each example begin, where the entries of each token begin, and the entries: their "
          "attributes and their values (None: all are 1).")
      .def(
          "renumbered",
          [](const Tokens& t, const In<int32_t>& map) {
            return t.renumbered(map.data(), static_cast<int64_t>(map.size()));
          },
          "map"_a, "The same rows, with map[a] in the place of attribute a.");

  m.def(
      "dense_rows",
      [](const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& x, const In<int64_t>& begin,
         bool single, const std::string& unit) {
        auto tokens = std::make_shared<Tokens>();
        tokens->example_begin = to_vector(begin);
        tokens->row_begin.reserve(x.shape(0) + 1);
        for (size_t t = 0; t < x.shape(0); ++t) {
          const double* row = x.data() + t * x.shape(1);
          for (size_t k = 0; k < x.shape(1); ++k) {
            if (row[k] == 0) continue;
            if (!std::isfinite(row[k])) throw InputError(place(*tokens, t, k, single, unit) + not_finite(row[k]));
            tokens->index.push_back(static_cast<int32_t>(k));
            tokens->value.push_back(row[k]);
          }
          tokens->row_begin.push_back(static_cast<int64_t>(tokens->index.size()));
        }
        tokens->check();
        return tokens;
      },
      "x"_a, "begin"_a, "single"_a, "unit"_a = "token", "Tokens from the rows of a dense matrix, without its zeros.");
  m.def(
      "encode",
      [](const nb::object& examples, Vocabulary* vocabulary, bool grow, int hash_bits, bool single,
         const std::string& unit) {
        if (!vocabulary && hash_bits == 0) throw InputError("a vocabulary or a number of hash bits is needed.");
        return Encoder(vocabulary, grow, hash_bits, unit).encode(examples, single);
      },
      "examples"_a.none(), "vocabulary"_a.none(), "grow"_a, "hash_bits"_a, "single"_a, "unit"_a = "token",
      "Tokens from lists of attribute strings or dictionaries.");

  nb::class_<Pairs>(m, "Pairs", "Which (attribute, label) pairs have a weight.")
      .def(nb::init<int64_t, int64_t>(), "attributes"_a, "labels"_a)
      .def(
          "__init__",
          [](Pairs* self, int64_t labels, const In<int64_t>& begin, const In<uint16_t>& column) {
            new (self) Pairs(labels, to_vector(begin), to_vector(column));
          },
          "labels"_a, "begin"_a, "column"_a)
      .def_prop_ro("attributes", &Pairs::attributes)
      .def_prop_ro("labels", &Pairs::labels)
      .def_prop_ro("size", &Pairs::size)
      .def_prop_ro("packed", &Pairs::packed)
      .def("union", &Pairs::united, "other"_a,
           "The pairs of both tables, for as many attributes as the larger one has.")
      .def(
          "arrays",
          [](const Pairs& p) {
            return std::make_pair(to_numpy(std::vector<int64_t>(p.begin())),
                                  to_numpy(std::vector<uint16_t>(p.column())));
          },
          "Row bounds and columns of a packed table.")
      .def("__getstate__",
           [](const Pairs& p) {
             return std::make_tuple(p.packed(), p.attributes(), p.labels(), to_numpy(std::vector<int64_t>(p.begin())),
                                    to_numpy(std::vector<uint16_t>(p.column())));
           })
      .def("__setstate__", [](Pairs& self, const std::tuple<bool, int64_t, int64_t, In<int64_t>, In<uint16_t>>& state) {
        const auto& [packed, attributes, labels, begin, column] = state;
        if (packed)
          new (&self) Pairs(labels, to_vector(begin), to_vector(column));
        else
          new (&self) Pairs(attributes, labels);
      });
  m.def(
      "observed_pairs",
      [](const Tokens& tokens, int64_t attributes, int64_t labels, const In<int64_t>& column_begin,
         const In<int32_t>& columns) {
        return observed_pairs(tokens, attributes, labels, to_vector(column_begin), to_vector(columns));
      },
      "tokens"_a, "attributes"_a, "labels"_a, "column_begin"_a, "columns"_a);
  m.def(
      "table",
      [](std::shared_ptr<Tokens> tokens, std::shared_ptr<Pairs> pairs, const In<int64_t>& gram_weight,
         int64_t gram_weights, int64_t gram_lengths, bool tied, double scale, bool start, bool stop,
         std::shared_ptr<Tokens> edges, std::shared_ptr<Pairs> edge_pairs) -> std::shared_ptr<Table> {
        if (!tokens || !pairs || !edges != !edge_pairs) throw InputError("a table needs tokens and pairs.");
        return std::make_shared<Table>(
            std::move(tokens), std::move(pairs),
            GramWeights{to_vector(gram_weight), gram_weights, gram_lengths, tied, scale, start, stop}, std::move(edges),
            std::move(edge_pairs));
      },
      "tokens"_a, "pairs"_a, "gram_weight"_a, "gram_weights"_a, "gram_lengths"_a, "tied"_a, "scale"_a, "start"_a,
      "stop"_a, "edges"_a.none(), "edge_pairs"_a.none());
  m.def(
      "sparse_parts",
      [](int64_t dim, std::shared_ptr<Tokens> rows, const In<int64_t>& choice,
         const std::optional<In<int64_t>>& repeats) -> std::shared_ptr<SparseParts> {
        if (!rows) throw InputError("sparse parts need rows.");
        return std::make_shared<SparseParts>(dim, std::move(rows), to_vector(choice), to_vector(repeats));
      },
      "dim"_a, "rows"_a, "choice"_a, "repeats"_a.none() = nb::none(),
      "A sparse vector for every part. choice, repeats: the structure's choices and repeats, for the radius.");
  m.def(
      "join",
      [](std::shared_ptr<Structure> structure, std::shared_ptr<Features> features) -> std::shared_ptr<BoundProblem> {
        if (!structure || !features) throw InputError("a problem needs a structure and features.");
        return std::make_shared<BoundProblem>(std::move(structure), std::move(features));
      },
      "structure"_a, "features"_a, "A structure with its features.");
}

// ---- passes
// ----------------------------------------------------------------------------------------------------------

// Bags of parts one after another.
struct Lists {
  std::vector<int64_t> begin{0};
  std::vector<int32_t> parts;
  void add(const Output& y) {
    parts.insert(parts.end(), y.begin(), y.end());
    begin.push_back(static_cast<int64_t>(parts.size()));
  }
};

using Weights = std::optional<In<double>>;

// The scores that a pass over all examples is to use: exactly one of w and theta is given.
Scores scores_of(const Problem& p, const Weights& w, const Weights& theta) {
  if (w.has_value() == theta.has_value())
    throw InputError("pass weights w, or scores theta and None for the weights: exactly one of the two.");
  if (w) {
    expect_size(*w, p.dim(), "w");
    return Scores(p, w->data());
  }
  std::vector<int64_t> begin = part_offsets(p);
  expect_size(*theta, begin.back(), "theta");
  for (size_t k = 0; k < theta->size(); ++k)
    if (!is_score(theta->data()[k]))
      throw InputError("theta has " + std::to_string(theta->data()[k]) + " at place " + std::to_string(k) +
                       "; scores must be finite, or -inf for a forbidden part.");
  return Scores(p, theta->data(), std::move(begin));
}

void expect_beta(double beta, const char* what) {
  if (!(beta > 0 && beta < kInfinity))
    throw InputError(std::string(what) + " need a beta that is positive and finite.");
}

void bind_passes(nb::module_& m) {
  m.def(
      "losses_and_gradient",
      [](const Problem& p, const In<double>& w, double beta, double gamma, bool zero_one, double scale,
         const std::optional<In<double>>& sample_weight, int threads, bool gradient) {
        expect_size(w, p.dim(), "w");
        expect_gold(p);
        const double* weight = weights_or_null(p, sample_weight);
        std::vector<double> losses(static_cast<size_t>(p.size()));
        std::vector<double> sum(gradient ? static_cast<size_t>(p.dim()) : 0);
        {
          const nb::gil_scoped_release release;
          losses_and_gradient(p, w.data(), {beta, gamma, zero_one}, weight, scale, checked_threads(threads),
                              check_signals, losses.data(), gradient ? sum.data() : nullptr);
        }
        return std::make_pair(to_numpy(std::move(losses)), to_numpy(std::move(sum)));
      },
      "problem"_a, "w"_a, "beta"_a, "gamma"_a, "zero_one"_a, "scale"_a, "sample_weight"_a.none(), "threads"_a,
      "gradient"_a, "All losses L_i(w), and scale * sum_i sample_weight_i grad L_i (empty unless asked for).");
  m.def(
      "add_scaled",
      [](const In<double>& u, double c, InOut<double>& v) {
        expect_size(u, static_cast<int64_t>(v.size()), "u");
        loops().add_scaled(u.data(), c, v.data(), static_cast<int64_t>(v.size()));
      },
      "u"_a, "c"_a, "v"_a.noconvert(), "v += c u, without the copy that an expression makes.");
  m.def(
      "argmax_all",
      [](const Problem& p, const Weights& w, int threads, const Weights& theta) {
        const Scores scores = scores_of(p, w, theta);
        std::vector<Output> outputs;
        {
          const nb::gil_scoped_release release;
          outputs = argmax_all(p, scores, checked_threads(threads), check_signals);
        }
        Lists lists;
        for (const Output& y : outputs) lists.add(y);
        return std::make_pair(to_numpy(std::move(lists.begin)), to_numpy(std::move(lists.parts)));
      },
      "problem"_a, "w"_a.none(), "threads"_a, nb::kw_only(), "theta"_a.none() = nb::none(),
      "The best output of every example: bounds and parts. Scores are those of the weights w, or theta: the scores of "
      "the parts of all examples, one after another.");
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
        if (k < 1) throw InputError("k must be at least 1.");
        std::vector<std::vector<ScoredOutput>> outputs;
        {
          const nb::gil_scoped_release release;
          outputs = kbest_all(p, scores, k, checked_threads(threads), check_signals);
        }
        std::vector<int64_t> output_begin{0};
        std::vector<double> values;
        Lists lists;
        for (const std::vector<ScoredOutput>& ys : outputs) {
          for (const ScoredOutput& y : ys) {
            values.push_back(y.value);
            lists.add(y.y);
          }
          output_begin.push_back(static_cast<int64_t>(values.size()));
        }
        return std::make_tuple(to_numpy(std::move(output_begin)), to_numpy(std::move(values)),
                               to_numpy(std::move(lists.begin)), to_numpy(std::move(lists.parts)));
      },
      "problem"_a, "w"_a.none(), "k"_a, "threads"_a, nb::kw_only(), "theta"_a.none() = nb::none(),
      "The k best outputs of every example, best first, or all if there are fewer: where those of each example begin, "
      "their values, where the parts of each output begin, and the parts.");
  m.def(
      "sample_all",
      [](const Problem& p, const Weights& w, double beta, int64_t n, uint64_t seed, int threads, const Weights& theta) {
        const Scores scores = scores_of(p, w, theta);
        expect_beta(beta, "samples");
        if (n < 1) throw InputError("n must be at least 1.");
        std::vector<std::vector<Output>> outputs;
        {
          const nb::gil_scoped_release release;
          outputs = sample_all(p, scores, beta, n, seed, checked_threads(threads), check_signals);
        }
        Lists lists;
        for (const std::vector<Output>& drawn : outputs)
          for (const Output& y : drawn) lists.add(y);
        return std::make_pair(to_numpy(std::move(lists.begin)), to_numpy(std::move(lists.parts)));
      },
      "problem"_a, "w"_a.none(), "beta"_a, "n"_a, "seed"_a, "threads"_a, nb::kw_only(), "theta"_a.none() = nb::none(),
      "n outputs of every example, drawn in proportion to exp(beta score), example by example: bounds and parts. They "
      "depend on the seed and on the number of the example only.");
  m.def(
      "sgd_pass",
      [](const Problem& p, InOut<double>& w, double beta, double gamma, bool zero_one, const In<int64_t>& order,
         double C, double eta, int64_t step, const std::optional<In<double>>& sample_weight) {
        expect_size(w, p.dim(), "w");
        expect_gold(p);
        const double* weight = weights_or_null(p, sample_weight);
        const std::vector<int64_t> visits = to_vector(order);
        const nb::gil_scoped_release release;
        return sgd_pass(p, {beta, gamma, zero_one}, visits, C, eta, step, weight, check_signals, w.data());
      },
      "problem"_a, "w"_a.noconvert(), "beta"_a, "gamma"_a, "zero_one"_a, "order"_a, "C"_a, "eta"_a, "step"_a,
      "sample_weight"_a.none(), "One pass of stochastic gradient descent over `order`; the number of steps so far.");
  m.def(
      "perceptron_pass",
      [](const Problem& p, InOut<double>& w, InOut<double>& sum, const In<int64_t>& order, int64_t step,
         const std::optional<In<double>>& sample_weight) {
        expect_size(w, p.dim(), "w");
        expect_size(sum, p.dim(), "sum");
        expect_gold(p);
        const double* weight = weights_or_null(p, sample_weight);
        const std::vector<int64_t> visits = to_vector(order);
        const nb::gil_scoped_release release;
        return perceptron_pass(p, visits, step, weight, check_signals, w.data(), sum.data());
      },
      "problem"_a, "w"_a.noconvert(), "sum"_a.noconvert(), "order"_a, "step"_a, "sample_weight"_a.none(),
      "One pass of the perceptron over `order`; the number of mistakes.");
}

}  // namespace
}  // namespace margrave

NB_MODULE(_core, m) {
  using namespace margrave;
  m.doc() = "Margrave's native core.";
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const InputError& error) {
      PyErr_SetString(nb::module_::import_("margrave.errors").attr("MargraveError").ptr(), error.what());
    }
  });
  m.def("instruction_set", [] { return loops().name; }, "For which instruction set the loops in use are compiled.");
  m.def(
      "choose_instruction_set",
      [](const std::string& name) {
        if (!choose_loops(name.c_str())) throw InputError("this processor has no loops named " + name + ".");
      },
      "name"_a, "Use the loops compiled for another instruction set ('baseline' is always there).");
  bind_problem(m);
  bind_structures(m);
  bind_features(m);
  bind_passes(m);
  bind_dual(m);
  bind_kernels(m);
  bind_cutting(m);
  bind_output(m);
  bind_candidates(m);
  bind_lp(m);
}
