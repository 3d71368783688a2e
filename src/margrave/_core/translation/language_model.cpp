// Python bindings of language models.
#include "translation/language_model.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "translation/arpa.h"
#include "translation/kneser_ney.h"

namespace margrave {
namespace {

std::vector<int32_t> numbers(const LanguageModel& model, const std::vector<std::string_view>& words) {
  std::vector<int32_t> found;
  for (const std::string_view word : words) found.push_back(model.number(word));
  return found;
}

// The state after some words, which may include <s>.
LanguageModel::State state_behind(const LanguageModel& model, const std::vector<std::string_view>& words) {
  LanguageModel::State state = model.empty();
  for (const int32_t word : numbers(model, words)) model.step(state, word, state);
  return state;
}

nb::str decoded(std::string_view text) {
  PyObject* result = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
  if (!result) throw nb::python_error();
  return nb::steal<nb::str>(result);
}

}  // namespace

static void bind(nb::module_& m) {
  nb::class_<LanguageModel>(m, "LanguageModel")
      .def_prop_ro("order", &LanguageModel::order)
      .def_prop_ro("words", [](const LanguageModel& model) { return model.words().size(); })
      .def_prop_ro("bytes", &LanguageModel::bytes, "The memory of the model, in bytes.")
      .def("__len__", &LanguageModel::size, "The number of n-grams.")
      .def(
          "__contains__", [](const LanguageModel& model, std::string_view word) { return model.find(word) >= 0; },
          "word"_a)
      .def(
          "score",
          [](const LanguageModel& model, const std::vector<std::string_view>& words) {
            return model.score(numbers(model, words));
          },
          "words"_a)
      .def(
          "conditional",
          [](const LanguageModel& model, std::string_view word, const std::vector<std::string_view>& context) {
            return model.step(state_behind(model, context), model.number(word));
          },
          "word"_a, "context"_a)
      .def(
          "state",
          [](const LanguageModel& model, const std::vector<std::string_view>& context) {
            nb::typed<nb::list, nb::str> words;
            for (const int32_t word : model.context(state_behind(model, context)))
              words.append(decoded(model.words().name(word)));
            return words;
          },
          "context"_a, "The part of the context that can affect the next words.")
      .def(
          "counts",
          [](const LanguageModel& model) {
            std::vector<int64_t> counts;
            for (const auto& nodes : model.by_length()) counts.push_back(static_cast<int64_t>(nodes.size()));
            return counts;
          },
          "The number of n-grams by length.")
      .def(
          "lines",
          [](const LanguageModel& model, int64_t n, int64_t first, int64_t last) {
            if (n < 1 || n > model.order()) throw InputError("the model has no n-grams of this length.");
            const std::vector<int32_t> nodes = model.by_length()[n - 1];
            if (first < 0 || last < first || last > static_cast<int64_t>(nodes.size()))
              throw InputError("the model has fewer n-grams of this length.");
            std::string text;
            for (int64_t k = first; k < last; ++k) {
              if (k > first) text += '\n';
              model.spell(nodes[k], text);
            }
            return decoded(text);
          },
          "n"_a, "first"_a, "last"_a, "Some of the n-grams of a length, as lines of an ARPA file.");
  nb::class_<ArpaReader>(m, "ArpaReader")
      .def(nb::init<>())
      .def_prop_ro("line", &ArpaReader::line, "The number of the last line read.")
      .def(
          "feed",
          [](ArpaReader& reader, const nb::bytes& text) {
            const std::string_view view(text.c_str(), text.size());
            const nb::gil_scoped_release release;
            reader.feed(view);
          },
          "text"_a, "Reads the next lines.")
      .def("finish", &ArpaReader::finish, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<KneserNey>(m, "KneserNey")
      .def(nb::init<int>(), "order"_a)
      .def("add", &KneserNey::add, "sentence"_a)
      .def("estimate", &KneserNey::estimate, nb::call_guard<nb::gil_scoped_release>());
}

static const Registration registration(bind);

}  // namespace margrave
