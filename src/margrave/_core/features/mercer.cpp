// Python bindings of kernels between inputs.
#include "features/mercer.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "threads/parallel.h"

namespace margrave {
namespace {

KernelFunction kernel_named(const std::string& name, double gamma, double coef0, int degree) {
  const std::pair<const char*, KernelFunction::Kind> all[] = {
      {"linear", KernelFunction::kLinear}, {"polynomial", KernelFunction::kPolynomial}, {"rbf", KernelFunction::kRbf}};
  for (const auto& [known, kind] : all)
    if (name == known) {
      const KernelFunction kernel{kind, gamma, coef0, degree};
      kernel.check();
      return kernel;
    }
  throw InputError("there is no kernel named " + name + ".");
}

std::tuple<Array<int64_t>, Array<int32_t>, Array<double>> arrays_of(const Inputs& inputs) {
  const Tokens& rows = inputs.rows();
  return {to_numpy(std::vector<int64_t>(rows.row_begin)), to_numpy(std::vector<int32_t>(rows.index)),
          to_numpy(std::vector<double>(rows.value))};
}

}  // namespace

static void bind(nb::module_& m) {
  after<Features>();
  nb::class_<KernelFeatures, Features>(m, "KernelFeatures");
  nb::class_<Inputs>(m, "Inputs", "The distinct rows of tokens, in order of first occurrence.")
      .def(nb::init<const Tokens&>(), "tokens"_a)
      .def("__len__", &Inputs::size)
      .def_prop_ro(
          "origin", [](const Inputs& x) { return to_numpy(std::vector<int64_t>(x.origin())); }, nb::rv_policy::move,
          "The first token with each row.")
      .def_prop_ro(
          "squares",
          [](const Inputs& x) {
            std::vector<double> squares;
            for (int64_t s = 0; s < x.size(); ++s) squares.push_back(x.square(s));
            return to_numpy(std::move(squares));
          },
          nb::rv_policy::move, "The squared norm of each row.")
      .def(
          "numbers", [](const Inputs& x, const Tokens& tokens) { return to_numpy(x.numbers(tokens)); }, "tokens"_a,
          "The number of each token's row; -1 if it is not among these.")
      .def(
          "subset",
          [](const Inputs& x, const In<int64_t>& kept) -> std::shared_ptr<Inputs> { return x.subset(to_vector(kept)); },
          "kept"_a, "The inputs with these numbers.")
      .def("arrays", &arrays_of, "Row bounds, indices and values.")
      .def("__getstate__", &arrays_of)
      .def("__setstate__", [](Inputs& self, const std::tuple<In<int64_t>, In<int32_t>, In<double>>& state) {
        Tokens tokens{{0}, to_vector(std::get<0>(state)), to_vector(std::get<1>(state)), to_vector(std::get<2>(state))};
        for (int64_t s = 0; s < tokens.tokens(); ++s) tokens.example_begin.push_back(s + 1);
        tokens.check();
        new (&self) Inputs(tokens);
      });

  m.def(
      "kernel_features",
      [](const std::string& name, double gamma, double coef0, int degree, std::shared_ptr<Inputs> support,
         const Tokens& tokens, bool single, int64_t bytes, int64_t labels, std::shared_ptr<Features> rest,
         const std::optional<In<int64_t>>& first_parts) -> std::shared_ptr<KernelFeatures> {
        if (!support || !rest) throw InputError("a kernel needs support inputs and the rest of the features.");
        checked_count(labels, "labels");
        std::vector<int64_t> number = support->numbers(tokens);
        const bool own = std::find(number.begin(), number.end(), -1) == number.end();
        std::shared_ptr<const Inputs> inputs = support;
        if (!own) {
          inputs = std::make_shared<const Inputs>(tokens);
          number = inputs->numbers(tokens);
        }
        auto source = std::make_unique<ComputedGram>(kernel_named(name, gamma, coef0, degree), std::move(inputs),
                                                     std::move(support));
        return std::make_shared<KernelFeatures>(std::make_shared<Gram>(std::move(source), single, bytes),
                                                std::move(number), tokens.example_begin, labels, own, std::move(rest),
                                                first_parts ? to_vector(*first_parts) : std::vector<int64_t>());
      },
      "name"_a, "gamma"_a, "coef0"_a, "degree"_a, "support"_a, "tokens"_a, "single"_a, "bytes"_a, "labels"_a, "rest"_a,
      "first_parts"_a = nb::none(),
      "Scores from a kernel with support inputs, in addition to those of other features. The (position, label) parts "
      "begin with the first part of each example, or with the given one.");
  m.def(
      "given_kernel_features",
      [](const In<int64_t>& support, const Tokens& tokens, bool own, bool single, int64_t bytes, int64_t labels,
         std::shared_ptr<Features> rest) -> std::shared_ptr<KernelFeatures> {
        if (!rest) throw InputError("a kernel needs the rest of the features.");
        checked_count(labels, "labels");
        const auto inputs = std::make_shared<const Inputs>(tokens);
        auto source = std::make_unique<GivenGram>(inputs, to_vector(support));
        if (own && to_vector(support) != inputs->origin())
          throw InputError("the support inputs must be the distinct inputs.");
        return std::make_shared<KernelFeatures>(std::make_shared<Gram>(std::move(source), single, bytes),
                                                inputs->numbers(tokens), tokens.example_begin, labels, own,
                                                std::move(rest));
      },
      "support"_a, "tokens"_a, "own"_a, "single"_a, "bytes"_a, "labels"_a, "rest"_a,
      "The same if the rows of tokens contain their kernel values with all training inputs.");
  m.def(
      "kernel_matrix",
      [](const std::string& name, double gamma, double coef0, int degree, std::shared_ptr<Inputs> inputs,
         std::shared_ptr<Inputs> support, int threads) {
        if (!support || !inputs) throw InputError("a kernel is one of inputs with inputs.");
        const ComputedGram source(kernel_named(name, gamma, coef0, degree), std::move(inputs), std::move(support));
        std::vector<double> matrix(static_cast<size_t>(source.rows() * source.columns()));
        {
          const nb::gil_scoped_release release;
          const auto work = [&](int64_t row, int) { source.fill(row, matrix.data() + row * source.columns()); };
          for_blocks(source.rows(), checked_threads(threads), work, [] {});
        }
        return to_numpy(std::move(matrix));
      },
      "name"_a, "gamma"_a, "coef0"_a, "degree"_a, "inputs"_a, "support"_a, "threads"_a,
      "The kernel of all inputs with all support inputs, row by row.");
}

static const Registration registration(bind);

}  // namespace margrave
