// Python bindings of compiled templates.
#include "inputs/templates.h"

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/template_functions.h"

namespace margrave {
namespace {

using Term = std::tuple<int64_t, int64_t, std::string>;
std::shared_ptr<TemplateNames> compile(const std::vector<std::string>& templates,
                                       const std::vector<std::vector<Term>>& terms) {
  std::vector<std::vector<TemplateTerm>> parsed;
  for (const std::vector<Term>& of : terms) {
    parsed.emplace_back();
    for (const auto& [column, offset, function] : of)
      parsed.back().push_back({column, checked_offset(offset), function});
  }
  return std::make_shared<TemplateNames>(templates, parsed);
}

}  // namespace

static void bind(nb::module_& m) {
  after<KeyedAttributes, KeyedNames>();
  nb::class_<TemplateAttributes, KeyedAttributes>(m, "TemplateAttributes");
  nb::class_<TemplateNames, KeyedNames>(m, "TemplateNames", nb::is_weak_referenceable(),
                                        "Compiled templates, with the numbers of the values seen so far.")
      .def(nb::new_(&compile), "templates"_a, "terms"_a)
      .def("__len__", &count_numbers, "How many values and pairs of values have a number.")
      .def(
          "attributes",
          [](const std::shared_ptr<TemplateNames>& names, const ColumnTable& table, int64_t label,
             const ResultsOf& results_of) {
            std::vector<std::vector<int32_t>> ids = interned(*names, table, label, results_of);
            return std::make_shared<TemplateAttributes>(names, std::move(ids), table.begin());
          },
          "table"_a, "label"_a, "results_of"_a,
          "The attributes of all tokens. label: a column to skip, or -1. results_of(name, values) returns the results "
          "of a function, with None for no result.");
}

static const Registration registration(bind);

}  // namespace margrave
