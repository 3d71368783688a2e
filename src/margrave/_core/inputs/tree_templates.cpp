// Python bindings of compiled templates over the parts of trees.
#include "inputs/tree_templates.h"

#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/template_functions.h"
#include "protocol/checks.h"

namespace margrave {
namespace {

using Term = std::tuple<std::string, int64_t, int64_t, std::string>;

TreeTerm::Kind kind_of(const std::string& name) {
  using Kind = TreeTerm::Kind;
  static constexpr std::pair<const char*, Kind> kKinds[] = {
      {"h", Kind::kHead},        {"w", Kind::kWord},        {"s", Kind::kSibling},
      {"g", Kind::kGrandparent}, {"c", Kind::kChild},       {"between", Kind::kBetween},
      {"way", Kind::kWay},       {"dir", Kind::kDirection}, {"label", Kind::kLabel}};
  for (const auto& [known, kind] : kKinds)
    if (name == known) return kind;
  throw InputError("unknown term '" + name + "' of a template.");
}

std::shared_ptr<TreeTemplates> compile(std::vector<std::string> templates, const std::vector<std::vector<Term>>& terms,
                                       int64_t tags) {
  std::vector<std::vector<TreeTerm>> parsed;
  for (const std::vector<Term>& of : terms) {
    parsed.emplace_back();
    for (const auto& [kind, column, offset, function] : of)
      parsed.back().push_back({kind_of(kind), column, checked_offset(offset), function});
  }
  return std::make_shared<TreeTemplates>(std::move(templates), std::move(parsed), tags);
}

std::shared_ptr<TreeAttributes> attributes(const std::shared_ptr<TreeTemplates>& templates, const ColumnTable& table,
                                           int64_t label, const ResultsOf& results_of) {
  TemplateNames& names = *templates->names();
  const std::vector<std::vector<int32_t>> ids = interned(names, table, label, results_of);
  const nb::gil_scoped_release release;
  const std::lock_guard lock(names.mutex);
  return std::make_shared<TreeAttributes>(templates, ids, table.begin());
}

std::vector<int64_t> arc_begin(const TreeAttributes& of) {
  std::vector<int64_t> begin{0};
  for (int64_t i = 0; i < of.examples(); ++i) begin.push_back(begin.back() + int64_t{of.words(i)} * of.words(i));
  return begin;
}

}  // namespace

static void bind(nb::module_& m) {
  nb::class_<TreeAttributes>(m, "TreeAttributes", "The values of the words of sentences, for templates of trees.")
      .def("__len__", &TreeAttributes::examples)
      .def_prop_ro(
          "words",
          [](const TreeAttributes& of) {
            std::vector<int64_t> words;
            for (int64_t i = 0; i < of.examples(); ++i) words.push_back(of.words(i));
            return to_numpy(std::move(words));
          },
          nb::rv_policy::move, "The number of words of every sentence.")
      .def_prop_ro(
          "example_begin", [](const TreeAttributes& of) { return to_numpy(arc_begin(of)); }, nb::rv_policy::move,
          "Where the arcs of each sentence begin, n * n of them for n words.");
  nb::class_<TreeTemplates>(m, "TreeTemplates", "Compiled templates over the parts of trees.")
      .def(nb::new_(&compile), "templates"_a, "terms"_a, "tags"_a)
      .def(
          "__len__", [](const TreeTemplates& of) { return count_numbers(*of.names()); },
          "How many values have a number so far.")
      .def("attributes", &attributes, "table"_a, "label"_a, "results_of"_a,
           "The attributes of all sentences. label: a column to skip, or -1. results_of(name, values) returns the "
           "results of a function, with None for no result.");
}

static const Registration registration(bind);

}  // namespace margrave
