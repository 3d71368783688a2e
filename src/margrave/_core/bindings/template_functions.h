// Helpers of the bindings of templates: numbers the values of a table, with the results of Python functions.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bindings/binding.h"
#include "inputs/templates.h"
#include "protocol/checks.h"

namespace margrave {

// How far a term looks; a place plus an offset must not overflow.
inline int64_t checked_offset(int64_t offset) {
  if (offset < -kMostCount || offset > kMostCount)
    throw InputError("the offset of a term must be from -" + std::to_string(kMostCount) + " to " +
                     std::to_string(kMostCount) + ".");
  return offset;
}

using ResultsOf = nb::typed<nb::callable, nb::object(nb::str, nb::typed<nb::list, nb::str>)>;

// The results of all functions for new values. Python is called once for those that the core cannot compute. The mutex
// is not held while Python runs.
inline void apply_functions(TemplateNames& names, const ResultsOf& results_of) {
  for (size_t k = 0; k < names.functions(); ++k) {
    TemplateNames::Unknown unknown;
    {
      const nb::gil_scoped_release release;
      const std::lock_guard lock(names.mutex);
      unknown = names.apply(k);
    }
    if (unknown.texts.empty()) continue;
    nb::list results;
    if (!nb::try_cast(results_of(names.function(k), unknown.texts), results) || results.size() != unknown.texts.size())
      throw InputError("a function of templates must give one result per value.");
    std::vector<std::optional<std::string>> found;
    for (const nb::handle result : results)
      if (!nb::try_cast(result, found.emplace_back()))
        throw InputError("a function of templates must give texts, or None for no result.");
    const nb::gil_scoped_release release;
    const std::lock_guard lock(names.mutex);
    names.add_results(k, unknown, found);
  }
}

// How many values and pairs of values have a number; other threads may be adding some.
inline int64_t count_numbers(TemplateNames& names) {
  const nb::gil_scoped_release release;
  const std::lock_guard lock(names.mutex);
  return names.size();
}

// The numbers of the values of all columns used by templates, with the functions applied. label: a column of the table
// to skip, or -1.
inline std::vector<std::vector<int32_t>> interned(TemplateNames& names, const ColumnTable& table, int64_t label,
                                                  const ResultsOf& results_of) {
  std::vector<int64_t> place;
  for (const int64_t column : names.columns()) {
    if (column > kMostCount) throw InputError("a table has no column " + std::to_string(column) + ".");
    place.push_back(label >= 0 && column >= label ? column + 1 : column);
    table.expect_column(place.back());
  }
  std::vector<std::vector<int32_t>> ids;
  {
    const nb::gil_scoped_release release;
    const std::lock_guard lock(names.mutex);
    ids = names.intern(table, place);
  }
  apply_functions(names, results_of);
  return ids;
}

}  // namespace margrave
