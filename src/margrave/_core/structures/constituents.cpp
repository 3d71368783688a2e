// Python bindings of grammars and of constituent trees.
#include "structures/constituents.h"

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/structure.h"

namespace margrave {
namespace {

// Rows of integers as structs with one int32_t per column.
template <class T>
std::vector<T> rows(const In<int32_t>& numbers, const char* what) {
  constexpr size_t kWidth = sizeof(T) / sizeof(int32_t);
  if (numbers.size() % kWidth) throw InputError(std::string(what) + " must be rows of " + std::to_string(kWidth) + ".");
  std::vector<T> found(numbers.size() / kWidth);
  if (!found.empty()) std::copy_n(numbers.data(), numbers.size(), reinterpret_cast<int32_t*>(found.data()));
  return found;
}

constexpr int64_t kMostSymbols = int64_t{1} << 24;

std::shared_ptr<Grammar> make_grammar(int32_t symbols, int32_t terminals, int32_t spans, const In<int32_t>& binary,
                                      const In<int32_t>& lexical, int32_t unary, const In<int32_t>& roots,
                                      const In<int32_t>& labels, const In<int64_t>& path_begin,
                                      const In<int32_t>& paths, const In<int32_t>& overlaps, int32_t piece,
                                      int32_t pieces) {
  checked_count(symbols, "symbols", 1, kMostSymbols);
  checked_count(terminals, "terminals", 0, kMostSymbols);
  checked_count(spans, "labeled spans", 0, kMostSymbols);
  checked_count(unary, "unary rules");
  return std::make_shared<Grammar>(symbols, terminals, spans, rows<Grammar::Binary>(binary, "binary rules"),
                                   rows<Grammar::Lexical>(lexical, "lexical rules"), unary, to_vector(roots),
                                   rows<Grammar::Label>(labels, "labels"), to_vector(path_begin), to_vector(paths),
                                   to_vector(overlaps), piece, pieces);
}

std::shared_ptr<ConstituentStructure> make_structure(const std::shared_ptr<Grammar>& grammar, const In<int64_t>& begin,
                                                     const In<int32_t>& terminals,
                                                     const std::optional<In<int64_t>>& node_begin,
                                                     const std::optional<In<int32_t>>& nodes,
                                                     const std::optional<In<bool>>& left, bool tied, bool splits,
                                                     unsigned anchors) {
  if (!grammar) throw InputError("there is no grammar.");
  if (anchors > 7) throw InputError("anchors are sums of 1, 2 and 4.");
  std::vector<ConstituentStructure::Node> derivations;
  if (nodes) derivations = rows<ConstituentStructure::Node>(*nodes, "nodes");
  std::vector<int64_t> bounds = to_vector(begin), node_bounds = to_vector(node_begin);
  std::vector<int32_t> sentences = to_vector(terminals);
  std::vector<char> cells;
  if (left) cells.assign(left->data(), left->data() + left->size());
  const nb::gil_scoped_release release;
  return std::make_shared<ConstituentStructure>(grammar, std::move(bounds), std::move(sentences),
                                                std::move(node_bounds), derivations, std::move(cells),
                                                ConstituentStructure::Settings{tied, splits, anchors});
}

// The labeled spans of outputs: where those of each begin, spans, their begins and ends, and whether it has fragments.
auto read(const ConstituentStructure& trees, const In<int64_t>& begin, const In<int32_t>& parts,
          const std::optional<In<int64_t>>& examples) {
  const auto outputs = static_cast<int64_t>(begin.size()) - 1;
  if (examples)
    expect_size(*examples, outputs, "examples");
  else
    expect_size(begin, trees.size() + 1, "begin");
  std::vector<int64_t> bounds{0};
  std::vector<int32_t> spans, begins, ends;
  std::vector<bool> in_pieces;
  for (int64_t k = 0; k < outputs; ++k) {
    const int64_t i = examples ? examples->data()[k] : k, first = begin.data()[k], last = begin.data()[k + 1];
    trees.check_example(i);
    if (first < 0 || last < first || last > static_cast<int64_t>(parts.size()))
      throw InputError("begin must ascend from 0 to the number of parts.");
    in_pieces.push_back(trees.each_span(i, parts.data() + first, last - first, [&](int32_t span, int s, int e) {
      spans.push_back(span);
      begins.push_back(s);
      ends.push_back(e);
    }));
    bounds.push_back(static_cast<int64_t>(spans.size()));
  }
  std::vector<uint8_t> flags(in_pieces.begin(), in_pieces.end());
  return std::make_tuple(to_numpy(std::move(bounds)), to_numpy(std::move(spans)), to_numpy(std::move(begins)),
                         to_numpy(std::move(ends)), to_numpy(std::move(flags)));
}

}  // namespace

static void bind(nb::module_& m) {
  after<Structure>();
  nb::class_<Grammar>(m, "Grammar", "A grammar in numbers, for CKY.")
      .def(nb::new_(&make_grammar), "symbols"_a, "terminals"_a, "spans"_a, "binary"_a, "lexical"_a, "unary"_a,
           "roots"_a, "labels"_a, "path_begin"_a, "paths"_a, "overlaps"_a, "piece"_a, "pieces"_a)
      .def_prop_ro("symbols", &Grammar::symbols)
      .def_prop_ro("spans", &Grammar::spans);
  nb::class_<ConstituentStructure, Structure>(m, "ConstituentStructure",
                                              "Derivations of a grammar over the sentences of a dataset.")
      .def_prop_ro(
          "words",
          [](const ConstituentStructure& s) {
            std::vector<int64_t> words;
            for (int64_t i = 0; i < s.size(); ++i) words.push_back(s.words(i));
            return to_numpy(std::move(words));
          },
          nb::rv_policy::move, "The number of words of every sentence.")
      .def_prop_ro(
          "part_counts",
          [](const ConstituentStructure& s) {
            std::vector<int64_t> counts;
            for (int64_t i = 0; i < s.size(); ++i) counts.push_back(s.parts(i));
            return to_numpy(std::move(counts));
          },
          nb::rv_policy::move, "The number of parts of every sentence.")
      .def_prop_ro(
          "first_spans",
          [](const ConstituentStructure& s) {
            std::vector<int64_t> first;
            for (int64_t i = 0; i < s.size(); ++i) first.push_back(s.layout(i).first_span());
            return to_numpy(std::move(first));
          },
          nb::rv_policy::move, "The number of parts before the labeled spans of every sentence.")
      .def("read", &read, "begin"_a, "parts"_a, "examples"_a.none() = nb::none(),
           "The labeled spans of outputs: where those of each output begin, their numbers, where they begin and end in "
           "the sentence, and whether each output consists of fragments.");
  m.def("constituents", &make_structure, "grammar"_a, "begin"_a, "terminals"_a, "node_begin"_a.none(), "nodes"_a.none(),
        "left"_a.none(), "tied"_a, "splits"_a, "anchors"_a);
}

static const Registration registration(bind);

}  // namespace margrave
