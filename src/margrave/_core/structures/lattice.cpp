// Python bindings of lattices.
#include "structures/lattice.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/edge_graphs.h"
#include "bindings/text.h"
#include "protocol/checks.h"
#include "protocol/structure.h"

namespace margrave {
namespace {

// nodes (examples); begin (examples + 1): where the edges of each example begin; good: where the strings of each
// example begin, where the words of each string begin, and the words.
std::vector<LatticeStructure::Example> examples_of(
    const In<int64_t>& nodes, const In<int64_t>& begin, const In<int32_t>& tails, const In<int32_t>& heads,
    const In<int32_t>& words, const std::optional<std::tuple<In<int64_t>, In<int64_t>, In<int32_t>>>& good) {
  const auto n = static_cast<int64_t>(nodes.size());
  expect_size(begin, n + 1, "begin");
  expect_size(heads, static_cast<int64_t>(tails.size()), "heads");
  expect_size(words, static_cast<int64_t>(tails.size()), "words");
  int64_t all_nodes = 0;
  for (int64_t i = 0; i < n; ++i) all_nodes += checked_count(nodes.data()[i], "nodes of a lattice", 1);
  check_used(all_nodes, n + 2 * static_cast<int64_t>(tails.size()), "nodes of all lattices");
  const auto tail_lists = lists_of(begin, tails, 0, n, "edges");
  const auto head_lists = lists_of(begin, heads, 0, n, "edges");
  const auto word_lists = lists_of(begin, words, 0, n, "edges");
  std::vector<std::vector<int32_t>> strings;
  if (good) {
    expect_size(std::get<0>(*good), n + 1, "the bounds of good strings");
    const auto count = static_cast<int64_t>(std::get<1>(*good).size()) - 1;
    strings = lists_of(std::get<1>(*good), std::get<2>(*good), 0, count, "good strings");
  }
  std::vector<LatticeStructure::Example> examples;
  for (int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<size_t>(i);
    std::vector<int32_t> parts(tail_lists[k].size());
    for (size_t e = 0; e < parts.size(); ++e) parts[e] = static_cast<int32_t>(e);
    LatticeStructure::Example example{
        Paths(nodes.data()[i], tail_lists[k], head_lists[k], std::move(parts)), word_lists[k], {}};
    if (good) {
      const int64_t first = std::get<0>(*good).data()[i];
      const int64_t last = std::get<0>(*good).data()[i + 1];
      if (first < 0 || last < first || last > static_cast<int64_t>(strings.size()))
        throw InputError("the bounds of good strings must ascend from 0 to their number.");
      example.good.assign(strings.begin() + first, strings.begin() + last);
    }
    examples.push_back(std::move(example));
  }
  return examples;
}

}  // namespace

static void bind(nb::module_& m) {
  after<Structure>();
  nb::class_<LatticeStructure, Structure>(m, "LatticeStructure")
      .def("kbest_strings", &kbest_strings<LatticeStructure>, "i"_a, "theta"_a, "k"_a,
           "The k best distinct strings, best first: the score and the edges of their best path.")
      .def(
          "spelled",
          [](const LatticeStructure& s, const std::optional<In<int64_t>>& examples, const In<int64_t>& begin,
             const In<int32_t>& parts) {
            if (begin.size() == 0) throw InputError("begin must have one more entry than there are outputs.");
            const auto outputs = static_cast<int64_t>(begin.size()) - 1;
            if (examples) expect_size(*examples, outputs, "examples");
            nb::typed<nb::list, nb::str> texts;
            for (int64_t k = 0; k < outputs; ++k) {
              const int64_t i = examples ? examples->data()[k] : k;
              s.check_example(i);
              const int64_t first = begin.data()[k];
              const int64_t last = begin.data()[k + 1];
              if (first < 0 || last < first || last > static_cast<int64_t>(parts.size()))
                throw InputError("the bounds of outputs must ascend from 0 to the number of their parts.");
              texts.append(decoded(s.spelled(i, parts.data() + first, last - first), "output", k));
            }
            return texts;
          },
          "examples"_a.none(), "begin"_a, "parts"_a,
          "The strings of paths; output k belongs to example examples[k], or to example k.");
  m.def(
      "lattices",
      [](const In<int64_t>& nodes, const In<int64_t>& begin, const In<int32_t>& tails, const In<int32_t>& heads,
         const In<int32_t>& words, const Vocabulary& names,
         const std::optional<std::tuple<In<int64_t>, In<int64_t>, In<int32_t>>>& good,
         bool costs) -> std::shared_ptr<LatticeStructure> {
        return std::make_shared<LatticeStructure>(examples_of(nodes, begin, tails, heads, words, good), names,
                                                  good.has_value(), costs);
      },
      "nodes"_a, "begin"_a, "tails"_a, "heads"_a, "words"_a, "names"_a, "good"_a.none(), "costs"_a,
      "The paths of lattices. words: the number of each edge's word in names, or -1. good: where the good strings of "
      "each example begin, where the words of each string begin, and the words. costs: whether edges that are in no "
      "good path cost 1.");
  m.def(
      "without_good_path",
      [](const In<int64_t>& nodes, const In<int64_t>& begin, const In<int32_t>& tails, const In<int32_t>& heads,
         const In<int32_t>& words, const std::tuple<In<int64_t>, In<int64_t>, In<int32_t>>& good) {
        const std::vector<uint8_t> flags =
            LatticeStructure::unreachable(examples_of(nodes, begin, tails, heads, words, good));
        std::vector<int64_t> found;
        for (size_t i = 0; i < flags.size(); ++i)
          if (flags[i]) found.push_back(static_cast<int64_t>(i));
        return to_numpy(std::move(found));
      },
      "nodes"_a, "begin"_a, "tails"_a, "heads"_a, "words"_a, "good"_a,
      "The lattices without a path that forms a good string.");
}

static const Registration registration(bind);

}  // namespace margrave
