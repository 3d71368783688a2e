// Python bindings of column files, CoNLL-U files, and tables of Python's strings.
#include "inputs/columns.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "inputs/conllu.h"
#include "protocol/checks.h"
#include "rows/vocabulary.h"

namespace margrave {
namespace {

std::shared_ptr<const std::string> copied(const nb::bytes& text) {
  return std::make_shared<const std::string>(text.c_str(), text.size());
}

nb::str decoded(std::string_view text) {
  PyObject* result = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
  if (!result) throw nb::python_error();
  return nb::steal<nb::str>(result);
}

// The cells of a column, sentence by sentence; equal cells share one object.
nb::typed<nb::list, nb::typed<nb::list, nb::str>> column_lists(const ColumnTable& table, int64_t column) {
  table.expect_column(column);
  Vocabulary distinct;
  std::vector<nb::str> texts;
  nb::typed<nb::list, nb::typed<nb::list, nb::str>> lists;
  for (int64_t s = 0; s < table.sentences(); ++s) {
    const int64_t first = table.begin()[s], last = table.begin()[s + 1];
    nb::object list = nb::steal(PyList_New(last - first));
    if (!list.is_valid()) throw nb::python_error();
    for (int64_t t = first; t < last; ++t) {
      const std::string_view cell = table.cell(t, column);
      const auto number = static_cast<size_t>(distinct.add(cell, hash_bytes(cell.data(), cell.size())));
      if (number == texts.size()) texts.push_back(decoded(cell));
      PyList_SET_ITEM(list.ptr(), t - first, nb::str(texts[number]).release().ptr());
    }
    lists.append(list);
  }
  return lists;
}

// A table from sentences of rows of strings, each with these columns, or with one more for the label. Returns nullopt
// for anything else; the caller reports the error.
std::optional<ColumnTable> table_of_rows(const nb::handle& sentences, int64_t columns, int64_t label) {
  checked_count(columns, "columns");
  const auto is_sequence = [](PyObject* object) { return PyList_CheckExact(object) || PyTuple_CheckExact(object); };
  if (!is_sequence(sentences.ptr())) return std::nullopt;
  auto text = std::make_shared<std::string>();
  std::vector<size_t> ends;
  std::vector<int64_t> begin{0};
  const int64_t skipped = label < 0 || label > columns ? columns : label;
  for (Py_ssize_t s = 0; s < PySequence_Fast_GET_SIZE(sentences.ptr()); ++s) {
    PyObject* rows = PySequence_Fast_GET_ITEM(sentences.ptr(), s);
    if (!is_sequence(rows)) return std::nullopt;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(rows);
    for (Py_ssize_t t = 0; t < n; ++t) {
      PyObject* row = PySequence_Fast_GET_ITEM(rows, t);
      if (!is_sequence(row)) return std::nullopt;
      const Py_ssize_t width = PySequence_Fast_GET_SIZE(row);
      if (width != columns && width != columns + 1) return std::nullopt;
      for (Py_ssize_t c = 0; c < width; ++c) {
        PyObject* cell = PySequence_Fast_GET_ITEM(row, c);
        if (width > columns && c == skipped) continue;
        Py_ssize_t size = 0;
        const char* bytes = PyUnicode_CheckExact(cell) ? PyUnicode_AsUTF8AndSize(cell, &size) : nullptr;
        if (!bytes) {
          PyErr_Clear();
          return std::nullopt;
        }
        text->append(bytes, static_cast<size_t>(size));
        ends.push_back(text->size());
      }
    }
    begin.push_back(begin.back() + n);
  }
  ColumnTable table(text, columns);
  size_t from = 0;
  size_t cell = 0;
  for (size_t s = 1; s < begin.size(); ++s) {
    for (; cell < static_cast<size_t>(begin[s] * columns); ++cell) {
      table.add(std::string_view(*text).substr(from, ends[cell] - from));
      from = ends[cell];
    }
    table.end_sentence();
  }
  return table;
}

void expect_numbers(int64_t tokens, size_t labels, const In<int32_t>& numbers) {
  expect_size(numbers, tokens, "numbers");
  for (size_t t = 0; t < numbers.size(); ++t)
    if (numbers.data()[t] < 0 || static_cast<size_t>(numbers.data()[t]) >= labels)
      throw InputError("label " + std::to_string(numbers.data()[t]) + " is out of range.");
}

const double* expect_probabilities(int64_t tokens, const std::optional<In<double>>& probabilities) {
  if (probabilities) expect_size(*probabilities, tokens, "probabilities");
  return probabilities ? probabilities->data() : nullptr;
}

using Column = std::pair<int64_t, std::string>;  // a field of CoNLL-U, and a key of misc with its =, or an empty key

ConlluColumn conllu_column(const Column& column) {
  if (column.first < 1 || column.first >= conllu::kFields)
    throw InputError("CoNLL-U has columns 1 to 9 besides the id.");
  return {column.first, column.second};
}

}  // namespace

static void bind(nb::module_& m) {
  using Labels = std::vector<std::string>;
  nb::class_<ColumnTable>(m, "ColumnTable", "Sentences whose tokens have columns of text.")
      .def(nb::new_([] { return ColumnTable(nullptr, 0); }), "A table without sentences.")
      .def_prop_ro("width", &ColumnTable::width)
      .def_prop_ro("tokens", &ColumnTable::tokens)
      .def("__len__", &ColumnTable::sentences)
      .def("without_column", &ColumnTable::without_column, "column"_a, "The same sentences without a column.")
      .def("slice", &ColumnTable::slice, "first"_a, "last"_a,
           "The sentences from `first` up to, not including, `last`.")
      .def("some", &ColumnTable::some, "sentences"_a, "The sentences with these numbers, in this order.")
      .def("column", &column_lists, "column"_a, "The texts of a column, sentence by sentence.")
      .def(
          "lines",
          [](const ColumnTable& table, const std::string& separator, Labels labels, const In<int32_t>& numbers,
             const std::optional<In<double>>& probabilities) {
            expect_numbers(table.tokens(), labels.size(), numbers);
            const Added added{std::move(labels), numbers.data(), expect_probabilities(table.tokens(), probabilities)};
            std::string text;
            {
              const nb::gil_scoped_release release;
              text = column_lines(table, separator, added);
            }
            return decoded(text);
          },
          "separator"_a, "labels"_a, "numbers"_a, "probabilities"_a.none(),
          "The rows with a label and, optionally, a probability; a blank line after each sentence.");
  nb::class_<ConlluText>(m, "ConlluText", "Sentences of a CoNLL-U file.")
      .def_prop_ro(
          "table", [](const ConlluText& text) { return text.table; }, "The requested columns of the words.")
      .def_prop_ro(
          "heads", [](const ConlluText& text) { return to_numpy(std::vector<int32_t>(text.heads)); },
          nb::rv_policy::move, "The heads of all words, -1 if not annotated.")
      .def(
          "lines",
          [](const ConlluText& parsed, const std::vector<std::tuple<Column, Labels, In<int32_t>>>& columns,
             const std::optional<In<double>>& probabilities) {
            std::vector<Filled> filled;
            // A table without columns has no tokens, even if the file has words.
            const int64_t words = std::count_if(parsed.lines.begin(), parsed.lines.end(),
                                                [](const ConlluText::Line& line) { return line.token >= 0; });
            for (const auto& [column, labels, numbers] : columns) {
              expect_numbers(words, labels.size(), numbers);
              filled.push_back({conllu_column(column), labels, numbers.data()});
            }
            const double* const probability = expect_probabilities(words, probabilities);
            std::string text;
            {
              const nb::gil_scoped_release release;
              text = conllu_lines(parsed, filled, probability);
            }
            return decoded(text);
          },
          "columns"_a, "probabilities"_a.none(),
          "All lines, with columns of words filled in, and optionally with probabilities in misc. A column is its "
          "possible texts and, for each word, the index of its text. If a head changes, the relation becomes _ "
          "unless it is filled in too.");
  m.def("table_of_rows", &table_of_rows, "sentences"_a.none(), "columns"_a, "label"_a,
        "The table of sentences of rows of strings, without the label. None for any other input.");
  m.def(
      "parse_columns",
      [](const nb::bytes& text, const std::optional<nb::bytes>& separator, int64_t width, bool header) {
        const std::shared_ptr<const std::string> owned = copied(text);
        std::optional<std::string> between;
        if (separator) between.emplace(separator->c_str(), separator->size());
        if (between && between->empty()) throw InputError("separator is empty.");
        std::optional<ParsedColumns> parsed;
        {
          const nb::gil_scoped_release release;
          parsed = parse_columns(owned, between, width, header);
        }
        nb::typed<nb::list, nb::str> names;
        for (const std::string_view name : parsed->header) names.append(decoded(name));
        return std::make_tuple(std::move(parsed->table), std::move(names), parsed->stopped);
      },
      "text"_a, "separator"_a.none(), "width"_a, "header"_a,
      "The table of a text in columns, the names in its header, if any, and the number of the first malformed line, or "
      "0. On an error, the table has the complete sentences before that line.");
  m.def(
      "parse_conllu",
      [](const nb::bytes& text, const std::vector<Column>& columns, bool words_only, bool trees) {
        std::shared_ptr<const std::string> owned = copied(text);
        std::vector<ConlluColumn> fields;
        for (const auto& column : columns) fields.push_back(conllu_column(column));
        std::optional<ConlluText> parsed;
        {
          const nb::gil_scoped_release release;
          parsed = parse_conllu(std::move(owned), std::move(fields), words_only, trees);
        }
        const int64_t stopped = parsed->stopped;
        return std::make_pair(std::move(*parsed), stopped);
      },
      "text"_a, "columns"_a, "words_only"_a = false, "trees"_a = true,
      "The sentences of a CoNLL-U text, or of a CoNLL-X text (words_only), with these columns of words (a field from 1 "
      "to 9, and a key of misc with its =, or an empty key), and the last line of the first malformed sentence, or 0. "
      "Without `trees`, the column of heads is not read.");
  m.def(
      "after_last_blank_line",
      [](const nb::bytes& text, const std::string& blanks) {
        return after_last_blank_line(std::string_view(text.c_str(), text.size()), blanks);
      },
      "text"_a, "blanks"_a, "Where the text after its last blank line begins; 0 if there is none.");
}

static const Registration registration(bind);

}  // namespace margrave
