// Python bindings of compiled templates.
#include "inputs/templates.h"

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/binding.h"

namespace margrave {
namespace {

using Term = std::tuple<int64_t, int64_t, std::string>;
using ResultsOf = nb::typed<nb::callable, nb::object(nb::str, nb::typed<nb::list, nb::str>)>;

std::shared_ptr<TemplateNames> compile(const std::vector<std::string>& templates,
                                       const std::vector<std::vector<Term>>& terms) {
  std::vector<std::vector<TemplateTerm>> parsed;
  for (const std::vector<Term>& of : terms) {
    parsed.emplace_back();
    for (const auto& [column, offset, function] : of) parsed.back().push_back({column, offset, function});
  }
  return std::make_shared<TemplateNames>(templates, parsed);
}

// The results of all functions for values that are new; Python is asked once for those that the core does not know.
// The mutex is not held while Python runs.
void apply_functions(TemplateNames& names, const ResultsOf& results_of) {
  for (size_t k = 0; k < names.functions(); ++k) {
    TemplateNames::Unknown unknown;
    {
      const nb::gil_scoped_release release;
      const std::lock_guard lock(names.mutex);
      unknown = names.apply(k);
    }
    if (unknown.texts.empty()) continue;
    const nb::list results = nb::cast<nb::list>(results_of(names.function(k), unknown.texts));
    if (results.size() != unknown.texts.size())
      throw InputError("a function of templates must give one result per value.");
    std::vector<std::optional<std::string>> found;
    for (const nb::handle result : results) found.push_back(nb::cast<std::optional<std::string>>(result));
    const nb::gil_scoped_release release;
    const std::lock_guard lock(names.mutex);
    names.add_results(k, unknown, found);
  }
}

}  // namespace

void bind_templates(nb::module_& m) {
  nb::class_<TemplateAttributes, KeyedAttributes>(m, "TemplateAttributes");
  nb::class_<TemplateNames, KeyedNames>(m, "TemplateNames", nb::is_weak_referenceable(),
                                        "Compiled templates, with the numbers of the values met so far.")
      .def(nb::new_(&compile), "templates"_a, "terms"_a)
      .def("__len__", &TemplateNames::size, "How many values and pairs of values have a number.")
      .def(
          "attributes",
          [](const std::shared_ptr<TemplateNames>& names, const ColumnTable& table, int64_t label,
             const ResultsOf& results_of) {
            std::vector<int64_t> place;
            for (const int64_t column : names->columns()) {
              place.push_back(label >= 0 && column >= label ? column + 1 : column);
              table.expect_column(place.back());
            }
            std::vector<std::vector<int32_t>> ids;
            {
              const nb::gil_scoped_release release;
              const std::lock_guard lock(names->mutex);
              ids = names->intern(table, place);
            }
            apply_functions(*names, results_of);
            return std::make_shared<TemplateAttributes>(names, std::move(ids), table.begin());
          },
          "table"_a, "label"_a, "results_of"_a,
          "The attributes of all tokens. label: a column to pass over, or -1. results_of(name, values) gives the "
          "results "
          "of a function, None where it has none.");
}

}  // namespace margrave
