// CoNLL columns: reading, taking tables apart, and writing rows with labels.
#include "inputs/columns.h"

#include <optional>

#include "input.h"

using namespace margrave;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::tried(data, size, [](fuzz::Input& input) {
    static const std::optional<std::string> separators[] = {std::nullopt, "\t", " ", "|", "| "};
    const auto& separator = separators[input.number(4)];
    const int64_t width = input.number(4);
    const bool header = input.number(1) > 0;
    const ParsedColumns parsed = parse_columns(input.shared_rest(), separator, width, header);
    const ColumnTable& table = parsed.table;
    const std::vector<int32_t> number(static_cast<size_t>(table.tokens()), 0);
    const std::vector<double> probability(static_cast<size_t>(table.tokens()), 0.5);
    column_lines(table, "\t", {{"label"}, number.data(), probability.data()});
    if (table.sentences() > 1) table.slice(1, table.sentences()).some({0});
    if (table.width() > 0) table.without_column(table.width() - 1);
  });
}
