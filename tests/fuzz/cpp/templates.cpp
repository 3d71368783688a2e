// Templates over columns: compiled from terms that the input chooses, and evaluated on tables that it writes.
#include "inputs/templates.h"

#include "input.h"
#include "inputs/columns.h"

using namespace margrave;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::tried(data, size, [](fuzz::Input& input) {
    static const char* const functions[] = {"", "lower", "shape", "prefix2", "suffix3", "digits", "suffix0", "no such"};
    std::vector<std::string> templates;
    std::vector<std::vector<TemplateTerm>> terms;
    for (int64_t k = input.number(4); k >= 0; --k) {
      terms.emplace_back();
      for (int64_t t = input.number(3); t > 0; --t)
        terms.back().push_back({input.number(3) - 1, input.number(6) - 3, functions[input.number(7)]});
      templates.push_back(terms.back().empty() ? (input.number(1) > 0 ? "begin" : "end") : "t" + std::to_string(k));
    }
    TemplateNames names(templates, terms);
    const ColumnTable table = parse_columns(input.shared_rest(), std::nullopt, 0, false).table;
    for (const int64_t column : names.columns()) table.expect_column(column);
    const auto ids = names.intern(table, names.columns());
    for (size_t k = 0; k < names.functions(); ++k) {
      const auto unknown = names.apply(k);
      names.add_results(k, unknown, std::vector<std::optional<std::string>>(unknown.numbers.size(), "x"));
    }
    std::vector<int32_t> keys;
    std::string name;
    for (int64_t s = 0; s < table.sentences(); ++s) {
      std::vector<const int32_t*> at;
      for (const std::vector<int32_t>& column : ids) at.push_back(column.data() + table.begin()[s]);
      names.evaluate(at, table.begin()[s + 1] - table.begin()[s], keys);
      for (size_t k = 0; k < keys.size(); ++k)
        if (keys[k] >= 0) names.spell(static_cast<int64_t>(k) % names.kinds(), keys[k], name);
    }
  });
}
