// Python bindings common to all structures of dependency trees.
#include "structures/tree_structure.h"

#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/structure.h"
#include "structures/arc_trees.h"

namespace margrave {
namespace {

// Calls visit(k, i, first, last) for outputs with concatenated parts; output k belongs to example i.
template <class Visit>
void each_output(const TreeStructure& trees, const In<int64_t>& begin, int64_t size,
                 const std::optional<In<int64_t>>& examples, const Visit& visit) {
  const auto outputs = static_cast<int64_t>(begin.size()) - 1;
  if (outputs < 0) throw InputError("begin must have an entry more than there are outputs.");
  if (examples)
    expect_size(*examples, outputs, "examples");
  else
    expect_size(begin, trees.size() + 1, "begin");
  int64_t before = 0;
  for (int64_t k = 0; k <= outputs; ++k) {
    if (begin.data()[k] < before || begin.data()[k] > size)
      throw InputError("begin must ascend from 0 to the number of parts.");
    before = begin.data()[k];
  }
  for (int64_t k = 0; k < outputs; ++k) {
    const int64_t i = examples ? examples->data()[k] : k;
    trees.check_example(i);
    visit(k, i, begin.data()[k], begin.data()[k + 1]);
  }
}

}  // namespace

static void bind(nb::module_& m) {
  after<Structure>();
  nb::class_<TreeStructure, Structure>(m, "TreeStructure", "Dependency trees over the sentences of a dataset.")
      .def_prop_ro(
          "words",
          [](const TreeStructure& s) {
            std::vector<int64_t> words;
            for (int64_t i = 0; i < s.size(); ++i) words.push_back(s.words(i));
            return to_numpy(std::move(words));
          },
          nb::rv_policy::move, "The number of words of every sentence.")
      .def_prop_ro("labels", &TreeStructure::labels, "The number of labels; 0: arcs have none.")
      .def_prop_ro(
          "part_counts",
          [](const TreeStructure& s) {
            std::vector<int64_t> counts;
            for (int64_t i = 0; i < s.size(); ++i) counts.push_back(s.parts(i));
            return to_numpy(std::move(counts));
          },
          nb::rv_policy::move, "The number of parts of every sentence.")
      .def(
          "arcs",
          [](const TreeStructure& s) {
            std::vector<int64_t> begin{0};
            std::vector<int32_t> heads, words, labels;
            for (int64_t i = 0; i < s.size(); ++i) {
              for (int64_t part = 0; part < s.arc_parts(i); ++part) {
                const TreeStructure::LabeledArc arc = s.arc(i, part);
                heads.push_back(arc.head);
                words.push_back(arc.word);
                labels.push_back(arc.label);
              }
              begin.push_back(static_cast<int64_t>(heads.size()));
            }
            return std::make_tuple(to_numpy(std::move(begin)), to_numpy(std::move(heads)), to_numpy(std::move(words)),
                                   to_numpy(std::move(labels)));
          },
          "The parts that are arcs, the first ones of every sentence: bounds, heads, words, and labels (-1 without "
          "labels).")
      .def(
          "read",
          [](const TreeStructure& s, const In<int64_t>& begin, const In<int32_t>& parts,
             const std::optional<In<int64_t>>& examples) {
            std::vector<int64_t> word_begin{0};
            std::vector<int32_t> heads, labels;
            {
              const nb::gil_scoped_release release;
              each_output(s, begin, static_cast<int64_t>(parts.size()), examples,
                          [&](int64_t, int64_t i, int64_t first, int64_t last) {
                            const size_t before = heads.size(), after = before + static_cast<size_t>(s.words(i));
                            heads.resize(after);
                            if (s.labels() > 0) labels.resize(after);
                            s.read(i, parts.data() + first, last - first, heads.data() + before,
                                   s.labels() > 0 ? labels.data() + before : nullptr);
                            word_begin.push_back(static_cast<int64_t>(after));
                          });
            }
            return std::make_tuple(to_numpy(std::move(word_begin)), to_numpy(std::move(heads)),
                                   to_numpy(std::move(labels)));
          },
          "begin"_a, "parts"_a, "examples"_a.none() = nb::none(),
          "Outputs as bounds, heads and labels (none without labels), concatenated. examples: which example each "
          "output belongs to; None: one output per example.")
      .def(
          "head_tables",
          [](const TreeStructure& s, const In<int64_t>& begin, const In<double>& mu) {
            std::vector<double> tables;
            {
              const nb::gil_scoped_release release;
              each_output(s, begin, static_cast<int64_t>(mu.size()), std::nullopt,
                          [&](int64_t, int64_t i, int64_t first, int64_t last) {
                            if (last - first != s.parts(i))
                              throw InputError("example " + std::to_string(i) + " has " + std::to_string(s.parts(i)) +
                                               " parts, and there are " + std::to_string(last - first) + " numbers.");
                            const auto before = tables.size();
                            tables.resize(before + static_cast<size_t>(int64_t{s.words(i)} * (s.words(i) + 1)));
                            s.head_table(i, mu.data() + first, tables.data() + before);
                          });
            }
            return to_numpy(std::move(tables));
          },
          "begin"_a, "mu"_a,
          "Values of parts, such as marginals, summed by arc: a table (words, words + 1) per example, with the root "
          "first, concatenated.");
  nb::class_<TreesOfArcs, TreeStructure>(m, "TreesOfArcs", "Trees without labels.");
}

static const Registration registration(bind);

}  // namespace margrave
