// Python bindings of the sparse rows of tokens.
#include "rows/tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "rows/encode.h"

namespace margrave {
namespace {

// The location of a value of row t, for an error message.
std::string place(const Tokens& tokens, size_t t, size_t column, bool single, const std::string& unit) {
  const auto& begin = tokens.example_begin;
  const auto after = std::upper_bound(begin.begin(), begin.end(), static_cast<int64_t>(t));
  const auto example = after - begin.begin() - 1;
  std::string where = "example " + std::to_string(example);
  if (!single && after != begin.begin())
    where += ", " + unit + " " + std::to_string(static_cast<int64_t>(t) - *(after - 1));
  return where + ", column " + std::to_string(column) + ": the value is ";
}

}  // namespace

static void bind(nb::module_& m) {
  nb::class_<Tokens>(m, "Tokens", "Sparse rows of the tokens of a dataset.")
      .def(
          "__init__",
          [](Tokens* self, const In<int64_t>& example_begin, const In<int64_t>& row_begin, const In<int32_t>& index,
             const std::optional<In<double>>& value) {
            Tokens tokens{to_vector(example_begin), to_vector(row_begin), to_vector(index), to_vector(value)};
            tokens.check();
            new (self) Tokens(std::move(tokens));
          },
          "example_begin"_a, "row_begin"_a, "index"_a, "value"_a.none())
      .def_prop_ro("examples", &Tokens::examples)
      .def_prop_ro("tokens", &Tokens::tokens)
      .def_prop_ro("entries", [](const Tokens& t) { return t.index.size(); })
      .def_prop_ro(
          "example_begin", [](const Tokens& t) { return to_numpy(std::vector<int64_t>(t.example_begin)); },
          nb::rv_policy::move)
      .def(
          "arrays",
          [](const Tokens& t) {
            std::optional<Array<double>> value;
            if (!t.value.empty()) value = to_numpy(std::vector<double>(t.value));
            return std::make_tuple(to_numpy(std::vector<int64_t>(t.example_begin)),
                                   to_numpy(std::vector<int64_t>(t.row_begin)), to_numpy(std::vector<int32_t>(t.index)),
                                   std::move(value));
          },
          "Where the tokens of each example begin, where the entries of each token begin, and the entries: their "
          "attributes and their values (None: all are 1).")
      .def(
          "renumbered",
          [](const Tokens& t, const In<int32_t>& map) {
            return t.renumbered(map.data(), static_cast<int64_t>(map.size()));
          },
          "map"_a, "The same rows, with map[a] in place of attribute a.");
  m.def(
      "lengths",
      [](const In<int64_t>& begin) {
        std::vector<int64_t> lengths(std::max<size_t>(begin.size(), 1) - 1);
        if (!std::is_sorted(begin.data(), begin.data() + begin.size()) || (begin.size() > 0 && begin.data()[0] < 0))
          throw InputError("the bounds of examples must ascend, and not be negative.");
        for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = begin.data()[i + 1] - begin.data()[i];
        return to_numpy(std::move(lengths));
      },
      "begin"_a, "The number of units of each example, from where they begin and end.");
  m.def(
      "bounds",
      [](const In<int64_t>& lengths) {
        std::vector<int64_t> begin(lengths.size() + 1, 0);
        for (size_t i = 0; i < lengths.size(); ++i) {
          const int64_t length = lengths.data()[i];
          if (length < 0 || length > std::numeric_limits<int64_t>::max() - begin[i])
            throw InputError("the numbers of units must not be negative, and their sum must not overflow.");
          begin[i + 1] = begin[i] + length;
        }
        return to_numpy(std::move(begin));
      },
      "lengths"_a, "Where the units of each example begin, and the end, from their numbers.");
  m.def(
      "dense_rows",
      [](const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& x, const In<int64_t>& begin,
         bool single, const std::string& unit) {
        auto tokens = std::make_shared<Tokens>();
        tokens->example_begin = to_vector(begin);
        tokens->row_begin.reserve(x.shape(0) + 1);
        for (size_t t = 0; t < x.shape(0); ++t) {
          const double* row = x.data() + t * x.shape(1);
          for (size_t k = 0; k < x.shape(1); ++k) {
            if (row[k] == 0) continue;
            if (!std::isfinite(row[k])) throw InputError(place(*tokens, t, k, single, unit) + not_finite(row[k]));
            tokens->index.push_back(static_cast<int32_t>(k));
            tokens->value.push_back(row[k]);
          }
          tokens->row_begin.push_back(static_cast<int64_t>(tokens->index.size()));
        }
        tokens->check();
        return tokens;
      },
      "x"_a, "begin"_a, "single"_a, "unit"_a = "token", "Tokens from the rows of a dense matrix, without its zeros.");
  m.def(
      "encode",
      [](const nb::object& examples, Vocabulary* vocabulary, bool grow, int hash_bits, bool single,
         const std::string& unit, int threads) {
        if (!vocabulary && hash_bits == 0) throw InputError("a vocabulary or a number of hash bits is needed.");
        return Encoder(Numbering(vocabulary, grow, hash_bits), unit, checked_threads(threads)).encode(examples, single);
      },
      "examples"_a.none(), "vocabulary"_a.none(), "grow"_a, "hash_bits"_a, "single"_a, "unit"_a = "token",
      "threads"_a = 1,
      "Tokens from lists of attribute strings or dictionaries. With several threads, names are looked up on one thread "
      "while another walks the lists that follow.");
}

static const Registration registration(bind);

}  // namespace margrave
