// Python bindings of problems, and problems written in Python.
#include "protocol/problem.h"

#include <nanobind/trampoline.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/offers.h"
#include "bindings/output_arrays.h"
#include "losses/family.h"
#include "losses/offset.h"
#include "protocol/bound_problem.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/good_outputs.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/slice.h"
#include "protocol/structure.h"

namespace margrave {
namespace {

// Sums the entries of a row with the same index: the core requires distinct indices.
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

// Results from Python are checked before use. Python receives copies, so it may safely keep them.
struct PythonProblem final : Problem {
  NB_TRAMPOLINE(Problem);

  // Each comes from a Python attribute or property of the same name.
  Traits traits() const override {
    const nb::gil_scoped_acquire gil;
    return {offers(), is("exact", exact_), overrides("gold"), false, is("euclidean", true), is("any_scores", true)};
  }
  void set_exact(bool exact) { exact_ = exact; }
  // Cached per example: the number of parts must not change.
  int64_t parts(int64_t i) const override {
    const nb::gil_scoped_acquire gil;
    const auto k = static_cast<size_t>(i);
    if (k < parts_.size() && parts_[k] >= 0) return parts_[k];
    const auto n = result<int64_t>(call("parts", i), "parts(i) must return a whole number");
    if (n < 0 || n > std::numeric_limits<int32_t>::max()) throw InputError("parts(i) must not be negative, nor huge.");
    if (k >= parts_.size()) parts_.resize(k + 1, -1);
    return parts_[k] = n;
  }
  void score(int64_t i, const double* w, double* theta) const override {
    const nb::gil_scoped_acquire gil;
    copy_result(call("score", i, copy_array(w, dim())), parts(i), "the result of score(i, w)", theta);
  }
  // A problem that overrides infer returns the scores of its parts with the answer: pairs of a number and parts, best
  // first, or for the log partition function, the number and the expected features.
  void infer(int64_t i, const double* w, const Question& question, double* theta, double* mu, Answer& answer,
             Scratch& scratch) const override {
    const nb::gil_scoped_acquire gil;
    const nb::detail::ticket ticket(nb_trampoline, "infer", nb::detail::str_hash("infer"), false);
    if (!ticket.key.is_valid()) return Problem::infer(i, w, question, theta, mu, answer, scratch);
    const auto [scores, found] = result<std::pair<nb::object, nb::object>>(
        nb_trampoline.base().attr("infer")(i, copy_array(w, dim()), question),
        "infer(i, w, question) must return the scores of the parts and an answer");
    copy_result(scores, parts(i), "the scores of infer(i, w, question)", theta);
    add_costs(i, question, answer, scratch);
    answer.ranking = nullptr;
    answer.has_mixture = question.kind == Question::Kind::kLogsum;
    if (answer.has_mixture) {
      if (!is("euclidean", true)) throw InputError("expected features need the Euclidean inner product of weights.");
      const auto [value, index, features] = result<std::tuple<double, nb::object, nb::object>>(
          found, "the answer of infer to 'logsum' must be a number, indices and values");
      answer.value = value;
      checked_row(index, features, "infer(i, w, question)", answer.mixture);
      answer.mixture_score = 0;
      for (size_t k = 0; k < answer.mixture.index.size(); ++k)
        answer.mixture_score += question.scale * w[answer.mixture.index[k]] * answer.mixture.value[k];
      return;
    }
    answer.ys.clear();
    for (const nb::handle item : found) {
      const auto [value, y] = result<std::pair<double, nb::object>>(
          nb::borrow(item), "the answer of infer must be pairs of a number and parts");
      answer.ys.push_back({value, output(y, i, "the parts of infer(i, w, question)")});
    }
    if (question.kind == Question::Kind::kKbest) return;
    if (answer.ys.empty()) throw InputError("infer(i, w, question) returned no output.");
    answer.value = answer.ys[0].value;
    answer.y = std::move(answer.ys[0].y);
  }
  void row(int64_t i, const double* v, Row& row) const override {
    const nb::gil_scoped_acquire gil;
    const auto [index, value] = result<std::pair<nb::object, nb::object>>(call("row", i, copy_array(v, parts(i))),
                                                                          "row(i, v) must return indices and values");
    checked_row(index, value, "row(i, v)", row);
  }
  // A Python scatter works on a copy of g, which is slow; writing row is better.
  void scatter(int64_t i, const double* mu, double c, double* g) const override {
    const nb::gil_scoped_acquire gil;
    const nb::detail::ticket ticket(nb_trampoline, "scatter", nb::detail::str_hash("scatter"), false);
    if (!ticket.key.is_valid()) return Problem::scatter(i, mu, c, g);
    const nb::object copy = nb::cast(copy_array(g, dim()));
    nb_trampoline.base().attr("scatter")(i, copy_array(mu, parts(i)), c, copy);
    copy_result(copy, dim(), "g", g);
  }
  // With a custom dot or scatter, the change is measured by dot. Otherwise it follows from the row.
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
  void forbid(int64_t i, double* theta) const override {
    const nb::gil_scoped_acquire gil;
    const nb::detail::ticket ticket(nb_trampoline, "forbid", nb::detail::str_hash("forbid"), false);
    if (!ticket.key.is_valid()) return;
    copy_result(nb_trampoline.base().attr("forbid")(i, copy_array(theta, parts(i))), parts(i),
                "the result of forbid(i, theta)", theta);
  }
  double radius(int64_t i) const override {
    const nb::gil_scoped_acquire gil;
    return result<double>(call("radius", i), "radius(i) must return a number");
  }
  int64_t gold(int64_t i, int64_t k, Output& y) const override {
    const nb::gil_scoped_acquire gil;
    const int64_t n = overrides("gold_count")
                          ? result<int64_t>(call("gold_count", i), "gold_count(i) must return a whole number")
                          : 1;
    if (n < 1) throw InputError("gold_count(i) must be at least 1, and it is " + std::to_string(n) + ".");
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
  double relaxed_argmax(int64_t i, const double* theta, double* mu, Scratch&) const override {
    const nb::gil_scoped_acquire gil;
    const auto [value, array] =
        result<std::pair<double, nb::object>>(call("relaxed_argmax", i, copy_array(theta, parts(i))),
                                              "relaxed_argmax(i, theta) must return a bound and marginals");
    copy_result(array, parts(i), "the marginals of relaxed_argmax(i, theta)", mu);
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
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch&) const override {
    const nb::gil_scoped_acquire gil;
    ys.clear();
    for (const nb::handle item : call("argmax_by_cost", i, copy_array(theta, parts(i)), copy_array(delta, parts(i)))) {
      const auto [cost, value, y] = result<std::tuple<int64_t, double, nb::object>>(
          nb::borrow(item), "argmax_by_cost(i, theta, delta) must return triples of cost, number and parts");
      ys.push_back({cost, value, output(y, i, "the parts of argmax_by_cost(i, theta, delta)")});
    }
  }
  void sample(int64_t i, const double* theta, Random& random, std::vector<Output>& ys, Scratch&) const override {
    const nb::gil_scoped_acquire gil;
    for (Output& y : ys)
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
  // Without a property of that name: the operations that the Python class defines.
  unsigned offers() const {
    unsigned flags = 0;
    if (overrides("offers")) {
      for (const std::string& name :
           result<std::vector<std::string>>(nb_trampoline.base().attr("offers"), "offers must be a list of words")) {
        const auto* known =
            std::find_if(std::begin(kOffers), std::end(kOffers), [&](const auto& each) { return each.first == name; });
        if (known == std::end(kOffers)) throw InputError("offers has the unknown word '" + name + "'.");
        flags |= known->second;
      }
      return flags;
    }
    for (const auto& [name, flag] : kOffers)
      if (flag != kUntied && flag != kMostViolated && overrides(name)) flags |= flag;
    return flags;
  }
  bool is(const char* name, bool by_default) const {
    if (!overrides(name)) return by_default;
    return result<bool>(nb_trampoline.base().attr(name), (std::string(name) + " must be True or False").c_str());
  }
  // Without this check, the call would recurse forever.
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
  void checked_row(const nb::handle& index, const nb::handle& value, const std::string& what, Row& row) const {
    row.index = to_vector(as_array<int64_t>(index, ("the indices of " + what).c_str()));
    row.value = to_vector(as_array<double>(value, ("the values of " + what).c_str()));
    expect_size(row.value, static_cast<int64_t>(row.index.size()), ("the values of " + what).c_str());
    for (const int64_t k : row.index)
      if (k < 0 || k >= dim()) throw InputError(what + " has the index " + std::to_string(k) + ", out of range.");
    merge_equal(row);
  }
  Output output(const nb::handle& object, int64_t i, const char* what) const {
    Output y = to_vector(as_array<int32_t>(object, what));
    check_parts(y, parts(i));
    return y;
  }

  bool exact_ = true;
  mutable std::vector<int64_t> parts_;  // -1: not yet known; changed only under the GIL
};

std::vector<std::pair<double, Array<int32_t>>> scored(std::vector<ScoredOutput>&& ys) {
  std::vector<std::pair<double, Array<int32_t>>> result;
  for (ScoredOutput& y : ys) result.emplace_back(y.value, to_numpy(std::move(y.y)));
  return result;
}

constexpr std::pair<const char*, Question::Kind> kKinds[] = {{"argmax", Question::Kind::kArgmax},
                                                             {"kbest", Question::Kind::kKbest},
                                                             {"logsum", Question::Kind::kLogsum},
                                                             {"relaxed_argmax", Question::Kind::kRelaxed},
                                                             {"most_violated", Question::Kind::kMostViolated}};

Question question_of(const std::string& kind, double gamma, bool zero_one, int64_t k, double beta, double scale,
                     const std::string& rescale, int slack) {
  const auto* known =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& each) { return each.first == kind; });
  if (known == std::end(kKinds))
    throw InputError("a question is 'argmax', 'kbest', 'logsum', 'relaxed_argmax' or 'most_violated'.");
  if (!(gamma >= 0) || gamma == kInfinity) throw InputError("gamma must be finite and not negative.");
  if (k < 1 || k > kMostCount) throw InputError("k must be from 1 to " + std::to_string(kMostCount) + ".");
  if (!(beta > 0) || beta == kInfinity) throw InputError("beta must be positive and finite.");
  if (!(scale > 0) || scale == kInfinity) throw InputError("scale must be positive and finite.");
  if (rescale != "margin" && rescale != "slack") throw InputError("rescale must be 'margin' or 'slack'.");
  if (slack < 1 || slack > 2) throw InputError("slack must be 1 or 2.");
  return {known->second, gamma, zero_one, k, beta, scale, rescale == "slack", slack};
}

static void bind_question(nb::module_& m) {
  nb::class_<Question>(m, "Question", "An inference query at weights, as sent by learners.")
      .def(nb::new_(&question_of), "kind"_a, nb::kw_only(), "gamma"_a = 0.0, "zero_one"_a = false, "k"_a = 1,
           "beta"_a = 1.0, "scale"_a = 1.0, "rescale"_a = "margin", "slack"_a = 1)
      .def_prop_ro(
          "kind",
          [](const Question& q) {
            for (const auto& [name, kind] : kKinds)
              if (kind == q.kind) return name;
            return "";
          },
          "'argmax', 'kbest', 'logsum', 'relaxed_argmax' or 'most_violated'.")
      .def_ro("gamma", &Question::gamma, "The factor of the cost that is added to the score of an output.")
      .def_ro("zero_one", &Question::zero_one, "Whether that cost is 1 for every part except the gold ones.")
      .def_ro("k", &Question::k, "The number of outputs for 'kbest'.")
      .def_ro("beta", &Question::beta, "The factor on scores and costs in the partition function of 'logsum'.")
      .def_ro("scale", &Question::scale, "The query is at the weights scale * w.")
      .def_prop_ro(
          "rescale", [](const Question& q) { return q.of_slack ? "slack" : "margin"; },
          "What the cost re-scales in the constraints of 'most_violated'.")
      .def_ro("slack", &Question::slack, "The power of the slack in those constraints: 1 or 2.");
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

}  // namespace

static void bind(nb::module_& m) {
  bind_question(m);
  nb::class_<Problem, PythonProblem>(
      m, "Problem", "A structured prediction problem: a structure with its features, bound to a dataset.")
      .def(nb::init<int64_t, int64_t>(), "size"_a, "dim"_a)
      .def_prop_ro("size", &Problem::size, "The number of examples.")
      .def_prop_ro("dim", &Problem::dim, "The number of weights.")
      .def_prop_ro(
          "offers", [](const Problem& p) { return offered(p.traits().offers); },
          "The supported operations, beyond scoring.")
      .def_prop_rw(
          "exact", [](const Problem& p) { return p.traits().exact; },
          [](Problem& p, bool exact) {
            auto* written_in_python = dynamic_cast<PythonProblem*>(&p);
            if (!written_in_python) throw InputError("whether inference is exact follows from the structure.");
            written_in_python->set_exact(exact);
          },
          "Whether inference is exact. A problem written in Python may set it to False.")
      .def_prop_ro(
          "zero_one_is_of_parts", [](const Problem& p) { return p.traits().zero_one_is_of_parts; },
          "Whether every output is a single part.")
      .def_prop_ro(
          "has_gold", [](const Problem& p) { return p.traits().has_gold; }, "Whether gold outputs are known.")
      .def_prop_ro(
          "euclidean", [](const Problem& p) { return p.traits().euclidean; },
          "Whether the inner product of weights is Euclidean.")
      .def_prop_ro(
          "any_scores", [](const Problem& p) { return p.traits().any_scores; },
          "Whether inference accepts any scores of parts, not only those of weights.")
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
          "infer",
          [](const Problem& p, int64_t i, const In<double>& w, const Question& question) {
            p.check_example(i);
            expect_size(w, p.dim(), "w");
            const auto n = static_cast<size_t>(p.parts(i));
            std::vector<double> theta(n), mu(n);
            Answer answer;
            Scratch scratch;
            p.infer(i, w.data(), question, theta.data(), mu.data(), answer, scratch);
            nb::object found;
            if (question.kind == Question::Kind::kLogsum) {
              if (!answer.has_mixture) p.row(i, mu.data(), answer.mixture);
              found = nb::make_tuple(answer.value, to_numpy(std::move(answer.mixture.index)),
                                     to_numpy(std::move(answer.mixture.value)));
            } else {
              if (question.kind != Question::Kind::kKbest) answer.ys = {{answer.value, std::move(answer.y)}};
              found = nb::cast(scored(std::move(answer.ys)));
            }
            return std::make_pair(to_numpy(std::move(theta)), found);
          },
          "i"_a, "w"_a, "question"_a,
          "Part scores theta at the weights scale * w, and the result of inference: the best outputs as (value, "
          "parts), or the log partition function with the expected features as indices and values. Values do not "
          "include the constant term of the cost.")
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
          "weighted_parts",
          [](const Problem& p, int64_t i) {
            p.check_example(i);
            const Offered<Weighted> some = p.interfaces().weighted;
            const WeightedParts weighted =
                some ? some.of->weighted_parts(some.first + i) : WeightedParts::all(p.parts(i));
            std::vector<int32_t> parts(static_cast<size_t>(weighted.size()));
            weighted.each([&](int64_t k, int64_t part) { parts[k] = static_cast<int32_t>(part); });
            return to_numpy(std::move(parts));
          },
          "i"_a, "The parts that have a weight. The scores of others are always 0.")
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
          "i"_a, "k"_a = 0, "The parts of the gold output, or of the k-th good output, best first.")
      .def(
          "gold_count",
          [](const Problem& p, int64_t i) {
            p.check_example(i);
            Output y;
            return p.gold(i, 0, y);
          },
          "i"_a, "The number of good outputs of example i, nearly always 1.")
      .def(
          "forbid",
          [](const Problem& p, int64_t i, const In<double>& theta) {
            p.check_example(i);
            expect_size(theta, p.parts(i), "theta");
            std::vector<double> allowed = to_vector(theta);
            p.forbid(i, allowed.data());
            return to_numpy(std::move(allowed));
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
          "relaxed_argmax",
          [](const Problem& p, int64_t i, const In<double>& theta) {
            const Checked checked(p, i, theta);
            Scratch scratch;
            std::vector<double> mu(static_cast<size_t>(p.parts(i)));
            const double value = p.relaxed_argmax(i, theta.data(), mu.data(), scratch);
            return std::make_pair(value, to_numpy(std::move(mu)));
          },
          "i"_a, "theta"_a,
          "A bound on the score of every output, and the marginals of the point of the relaxation that attains it.")
      .def(
          "argmax_by_cost",
          [](const Problem& p, int64_t i, const In<double>& theta, const In<double>& delta, double least,
             int64_t base) {
            const Checked checked(p, i, theta);
            expect_size(delta, p.parts(i), "delta");
            if (base < 0) throw InputError("base must not be negative.");
            for (size_t k = 0; base > 0 && k < delta.size(); ++k)
              if (!(delta.data()[k] >= 0)) throw InputError("numbers of right and wrong items must not be negative.");
            Scratch scratch;
            std::vector<CostedOutput> ys;
            p.argmax_by_cost(i, theta.data(), delta.data(), {least, base}, ys, scratch);
            std::vector<std::tuple<int64_t, double, Array<int32_t>>> result;
            for (CostedOutput& y : ys) result.emplace_back(y.cost, y.value, to_numpy(std::move(y.y)));
            return result;
          },
          "i"_a, "theta"_a, "delta"_a, "least"_a = -kInfinity, "base"_a = 0,
          "The best output at each value of an integer cost: (cost, value, parts). Outputs with values below `least` "
          "may be missing. If costs are correct + base * wrong items, an output may also be missing if another one has "
          "no lower value, no more correct items, and no fewer wrong ones.")
      .def(
          "kbest",
          [](const Problem& p, int64_t i, const In<double>& theta, int64_t k) {
            const Checked checked(p, i, theta);
            checked_count(k, "outputs", 1);
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
            std::vector<Output> ys(1);
            p.sample(i, theta.data(), random, ys, scratch);
            return to_numpy(std::move(ys[0]));
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
          [](const Problem& p, int64_t i, const In<double>& w, const LossFamily& family) {
            p.check_example(i);
            expect_size(w, p.dim(), "w");
            family.check(p);
            Worker worker;
            worker.make_room(p.parts(i));
            const LossValue value =
                evaluate(p, i, family, w.data(), worker.theta.data(), worker.direction.data(), worker, true);
            Row row;
            p.row(i, worker.direction.data(), row);
            if (worker.answer.has_mixture) {
              const Row& mixture = worker.answer.mixture;
              row.index.insert(row.index.end(), mixture.index.begin(), mixture.index.end());
              row.value.insert(row.value.end(), mixture.value.begin(), mixture.value.end());
              merge_equal(row);
            }
            return std::make_tuple(value.loss, value.cost, value.entropy, to_numpy(std::move(row.index)),
                                   to_numpy(std::move(row.value)));
          },
          "i"_a, "w"_a, "family"_a,
          "Loss, expected cost (NaN if the problem returns only expected features), entropy and sparse gradient "
          "(indices, values) of one example.")
      .def(
          "slice",
          [](const std::shared_ptr<const Problem>& p, int64_t begin, int64_t end) -> std::shared_ptr<Problem> {
            return std::make_shared<SliceProblem>(p, begin, end);
          },
          "begin"_a, "end"_a, "Examples [begin, end) as a separate problem.");
  nb::class_<BoundProblem, Problem>(m, "BoundProblem");
  nb::class_<SliceProblem, Problem>(m, "SliceProblem");
  nb::class_<OffsetProblem, Problem>(m, "OffsetProblem");
  nb::class_<GoodProblem, Problem>(m, "GoodProblem");
  nb::class_<DividedProblem, Problem>(m, "DividedProblem", "A problem with too many good outputs to list.")
      .def_prop_ro(
          "offers",
          [](const DividedProblem& p) {
            std::vector<std::string> words = offered(p.traits().offers);
            words.emplace_back("good");
            return words;
          },
          "The supported operations; 'good' is inference among the good outputs, and among the others.")
      .def(
          "argmax_among",
          [](const DividedProblem& p, bool good, int64_t i, const In<double>& theta) {
            const Checked checked(p, i, theta);
            Scratch scratch;
            Output y;
            const double value = p.argmax_among(good, i, theta.data(), y, scratch);
            return std::make_pair(value, to_numpy(std::move(y)));
          },
          "good"_a, "i"_a, "theta"_a, "The best of the good outputs, or of all others, and its score.")
      .def(
          "logsum_among",
          [](const DividedProblem& p, bool good, int64_t i, const In<double>& theta) {
            const Checked checked(p, i, theta);
            Scratch scratch;
            std::vector<double> mu(static_cast<size_t>(p.parts(i)));
            const double value = p.logsum_among(good, i, theta.data(), mu.data(), scratch);
            return std::make_pair(value, to_numpy(std::move(mu)));
          },
          "good"_a, "i"_a, "theta"_a, "The log sum over the good outputs, or over all others, and the marginals.");
  m.def(
      "good_outputs",
      [](std::shared_ptr<const DividedProblem> p) -> std::shared_ptr<GoodProblem> {
        if (!p) throw InputError("good outputs need a problem.");
        return std::make_shared<GoodProblem>(std::move(p));
      },
      "problem"_a, "The same problem, restricted to its good outputs.");
  m.def(
      "offset",
      [](std::shared_ptr<const Problem> p, const In<double>& r, bool zero_one,
         bool costs) -> std::shared_ptr<OffsetProblem> {
        if (!p) throw InputError("an offset needs a problem.");
        expect_size(r, p->dim(), "r");
        return std::make_shared<OffsetProblem>(std::move(p), to_vector(r), zero_one, costs);
      },
      "problem"_a, "r"_a, "zero_one"_a = false, "costs"_a = true,
      "The same problem with the scores of r in its costs: its loss (beta, gamma) at u equals that of the original at "
      "u + gamma r. costs: whether to include the original costs.");
  m.def(
      "join",
      [](std::shared_ptr<Structure> structure, std::shared_ptr<Features> features) -> std::shared_ptr<BoundProblem> {
        if (!structure || !features) throw InputError("a problem needs a structure and features.");
        return std::make_shared<BoundProblem>(std::move(structure), std::move(features));
      },
      "structure"_a, "features"_a, "A structure with its features.");
  m.def(
      "divide",
      [](std::shared_ptr<Structure> structure, std::shared_ptr<Features> features) -> std::shared_ptr<DividedProblem> {
        if (!structure || !features) throw InputError("a problem needs a structure and features.");
        const auto division = std::dynamic_pointer_cast<const GoodInference>(structure);
        if (!division) throw InputError("this structure does not divide its outputs into good ones and others.");
        return std::make_shared<DividedProblem>(
            std::make_shared<BoundProblem>(std::move(structure), std::move(features)), division);
      },
      "structure"_a, "features"_a, "A structure with its features, and with inference among its good outputs.");
}

static const Registration registration(bind);

}  // namespace margrave
