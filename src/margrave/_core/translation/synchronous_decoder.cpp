// Python bindings of synchronous grammars and their decoder.
#include "translation/synchronous_decoder.h"

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/features.h"

namespace margrave {
namespace {

using Found = std::tuple<double, std::string, SynchronousDecoder::Features>;

std::vector<Found> tuples(std::vector<SynchronousDecoder::Translation>&& translations) {
  std::vector<Found> found;
  for (auto& each : translations) found.emplace_back(each.score, std::move(each.text), std::move(each.features));
  return found;
}

void check(const SynchronousDecoder& decoder, const In<double>& weights, int64_t k, int64_t beam) {
  expect_size(weights, decoder.features().size(), "weights");
  for (size_t f = 0; f < weights.size(); ++f)
    if (!std::isfinite(weights.data()[f])) throw InputError("weights must be finite.");
  checked_count(k, "translations", 1);
  checked_count(beam, "combinations per node");
}

std::vector<std::string> names(const Vocabulary& vocabulary) {
  std::vector<std::string> found;
  for (int64_t k = 0; k < vocabulary.size(); ++k) found.emplace_back(vocabulary.name(k));
  return found;
}

}  // namespace

static void bind(nb::module_& m) {
  nb::class_<SynchronousGrammar>(m, "SynchronousGrammar")
      .def(nb::init<>())
      .def("__len__", &SynchronousGrammar::size, "The number of rules.")
      .def_prop_ro("line", &SynchronousGrammar::line, "The number of the last line read.")
      .def_prop_ro("labels", [](const SynchronousGrammar& grammar) { return names(grammar.labels()); })
      .def_prop_ro("features", [](const SynchronousGrammar& grammar) { return names(grammar.features()); })
      .def("begin", &SynchronousGrammar::begin, "prefix"_a, "sign"_a, "limit"_a, "Begins the next file.")
      .def(
          "feed",
          [](SynchronousGrammar& grammar, const nb::bytes& text) {
            const std::string_view view(text.c_str(), text.size());
            const nb::gil_scoped_release release;
            grammar.feed(view);
          },
          "text"_a, "Reads the next lines.");
  nb::class_<SynchronousDecoder>(m, "SynchronousDecoder")
      .def(
          "__init__",
          [](SynchronousDecoder* self, const SynchronousGrammar& grammar, const std::shared_ptr<LanguageModel>& model,
             std::string goal, std::string label, bool pass_all, double word_value, std::string model_name,
             std::string word_name, std::string unknown_name) {
            // A copy, because more rules may be read into the original.
            new (self) SynchronousDecoder(std::make_shared<const SynchronousGrammar>(grammar), model,
                                          {std::move(goal), std::move(label), pass_all, word_value,
                                           std::move(model_name), std::move(word_name), std::move(unknown_name)});
          },
          "grammar"_a, "model"_a.none(), "goal"_a, "label"_a, "pass_all"_a, "word_value"_a, "model_name"_a,
          "word_name"_a, "unknown_name"_a)
      .def_prop_ro("features", [](const SynchronousDecoder& decoder) { return names(decoder.features()); })
      .def(
          "decode",
          [](const SynchronousDecoder& decoder, const std::vector<std::string_view>& source, const In<double>& weights,
             int64_t k, int64_t beam, bool distinct) {
            check(decoder, weights, k, beam);
            const nb::gil_scoped_release release;
            return tuples(decoder.decode(source, weights.data(), k, beam, distinct));
          },
          "source"_a, "weights"_a, "k"_a, "beam"_a, "distinct"_a,
          "The k best translations, best first: score, text and features. beam: maximum number of combinations per "
          "node; 0 for all.")
      .def(
          "forced",
          [](const SynchronousDecoder& decoder, const std::vector<std::string_view>& source,
             const std::vector<std::string_view>& target, const In<double>& weights, int64_t k) {
            check(decoder, weights, k, 0);
            const nb::gil_scoped_release release;
            return tuples(decoder.forced(source, target, weights.data(), k));
          },
          "source"_a, "target"_a, "weights"_a, "k"_a, "The k best derivations of one translation.")
      .def(
          "forest",
          [](const SynchronousDecoder& decoder, const std::vector<std::string_view>& source, const In<double>& weights,
             int64_t beam) {
            check(decoder, weights, 1, beam);
            using Edge = std::tuple<int32_t, std::vector<int32_t>, std::vector<std::pair<int32_t, std::string>>,
                                    SynchronousDecoder::Features>;
            std::vector<Edge> edges;
            const nb::gil_scoped_release release;
            for (auto& edge : decoder.forest(source, weights.data(), beam))
              edges.emplace_back(edge.head, std::move(edge.tails), std::move(edge.target), std::move(edge.features));
            return edges;
          },
          "source"_a, "weights"_a, "beam"_a,
          "The derivations found by the search: the head of each edge, its tails, its target and its features. A "
          "target has the indices of tails, or -1 and a word.")
      .def("unknown", &SynchronousDecoder::unknown, "source"_a, "The positions of words that occur in no rule.");
}

static const Registration registration(bind);

}  // namespace margrave
