// Python bindings of the attributes of spans.
#include "inputs/segment_templates.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/labels.h"
#include "protocol/checks.h"

namespace margrave {

static void bind(nb::module_& m) {
  using Kind = SegmentTemplate::Kind;
  nb::class_<SegmentTemplates>(m, "SegmentTemplates", "Templates of the attributes of spans of tokens.")
      .def(
          "__init__",
          [](SegmentTemplates* self,
             const std::vector<std::tuple<std::string, std::string, int64_t, int64_t, int64_t>>& templates,
             const std::vector<std::vector<std::string>>& dictionaries) {
            static const std::pair<const char*, Kind> kinds[] = {
                {"string", Kind::kString}, {"length", Kind::kLength},        {"first", Kind::kFirst},
                {"last", Kind::kLast},     {"before", Kind::kBefore},        {"after", Kind::kAfter},
                {"ngram", Kind::kNgram},   {"dictionary", Kind::kDictionary}};
            std::vector<SegmentTemplate> parsed;
            for (const auto& [name, kind, n, texts, phrases] : templates) {
              const auto* found = std::find_if(std::begin(kinds), std::end(kinds),
                                               [&kind = kind](const auto& each) { return kind == each.first; });
              if (found == std::end(kinds)) throw InputError("a span has no '" + kind + "'.");
              if (found->second == Kind::kNgram) checked_count(n, "tokens of an n-gram", 1);
              parsed.push_back({name, found->second, n, texts, phrases});
            }
            std::vector<SegmentTemplates::Dictionary> sets;
            for (const std::vector<std::string>& phrases : dictionaries)
              sets.emplace_back(phrases.begin(), phrases.end());
            new (self) SegmentTemplates(std::move(parsed), std::move(sets));
          },
          "templates"_a, "dictionaries"_a,
          "Templates as (name, kind, n, texts, dictionary): kind is string, length, first, last, before, after, ngram "
          "or dictionary, n the size of n-grams, and texts the index of the texts to use.")
      .def(
          "rows",
          [](const SegmentTemplates& self, const In<int64_t>& begin,
             const std::vector<std::pair<std::vector<std::string>, In<int32_t>>>& texts, int64_t longest,
             Vocabulary* vocabulary, int hash_bits, const std::optional<In<bool>>& growing) {
            std::vector<TokenTexts> of_tokens;
            for (const auto& [values, numbers] : texts) of_tokens.push_back({values, to_vector(numbers)});
            const std::vector<int64_t> bounds = to_vector(begin);
            const std::vector<uint8_t> flags = flags_of(growing);
            const nb::gil_scoped_release release;
            return self.rows(bounds, of_tokens, longest, vocabulary, hash_bits, flags);
          },
          "begin"_a, "texts"_a, "longest"_a, "vocabulary"_a.none(), "hash_bits"_a, "growing"_a.none(),
          "One row per span, by end and length. texts: the values, and the number of each token's value or -1. "
          "growing: the spans whose new names are added to the vocabulary.");
}

static const Registration registration(bind);

}  // namespace margrave
