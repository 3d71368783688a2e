// Python bindings of phrase tables and of the phrase-based search.
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"
#include "translation/phrase_search.h"

namespace margrave {
namespace {

WordLists lists_of(const In<int64_t>& begin, const In<int32_t>& words) { return {to_vector(begin), to_vector(words)}; }

void check_features(const PhraseFeatures& features, const In<double>& weights) {
  if (static_cast<int64_t>(weights.size()) < PhraseFeatures::kDense ||
      static_cast<int64_t>(weights.size()) > features.size())
    throw InputError("there must be one weight per feature, and at least those of the dense features.");
  for (size_t k = 0; k < weights.size(); ++k)
    if (!std::isfinite(weights.data()[k])) throw InputError("weights must be finite.");
}

// Outputs as begin offsets and words, with the sums of their features.
using Described = std::tuple<Array<int64_t>, Array<int32_t>, Array<int64_t>, Array<int32_t>, Array<double>>;

Described described(const SearchGraph& graph, const std::vector<Output>& ys) {
  std::vector<int64_t> begin{0};
  std::vector<int32_t> words;
  FeatureRows rows;
  std::vector<std::pair<int32_t, double>> entries;
  for (const Output& y : ys) {
    entries.clear();
    for (const int32_t e : y) {
      const auto edge = static_cast<size_t>(e);
      if (graph.words[edge] != kSentenceEnd) words.push_back(graph.words[edge]);
      for (int64_t k = graph.rows.begin[edge]; k < graph.rows.begin[edge + 1]; ++k)
        entries.emplace_back(graph.rows.index[k], graph.rows.value[k]);
    }
    begin.push_back(static_cast<int64_t>(words.size()));
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t k = 0; k < entries.size();) {
      const int32_t feature = entries[k].first;
      double sum = 0;
      for (; k < entries.size() && entries[k].first == feature; ++k) sum += entries[k].second;
      rows.put(feature, sum);
    }
    rows.end_row();
  }
  return {to_numpy(std::move(begin)), to_numpy(std::move(words)), to_numpy(std::move(rows.begin)),
          to_numpy(std::move(rows.index)), to_numpy(std::move(rows.value))};
}

}  // namespace

static void bind(nb::module_& m) {
  nb::class_<PhraseTable>(m, "PhraseTable")
      .def(
          "__init__",
          [](PhraseTable* self, const In<int64_t>& source_begin, const In<int32_t>& source_words,
             const In<int64_t>& pairs_begin, const In<int64_t>& target_begin, const In<int32_t>& target_words,
             const In<float>& scores) {
            new (self) PhraseTable(lists_of(source_begin, source_words), to_vector(pairs_begin),
                                   lists_of(target_begin, target_words), to_vector(scores));
          },
          "source_begin"_a, "source_words"_a, "pairs_begin"_a, "target_begin"_a, "target_words"_a, "scores"_a,
          "Source phrases, the pairs of each, their target phrases and scores.")
      .def("__len__", &PhraseTable::pairs)
      .def(
          "arrays",
          [](const PhraseTable& t) {
            return std::make_tuple(to_numpy(std::vector(t.sources.begin)), to_numpy(std::vector(t.sources.words)),
                                   to_numpy(std::vector(t.pairs_begin)), to_numpy(std::vector(t.targets.begin)),
                                   to_numpy(std::vector(t.targets.words)), to_numpy(std::vector(t.scores)));
          },
          "The arguments of the constructor.");
  m.def(
      "extract_phrases",
      [](const In<int64_t>& source_begin, const In<int32_t>& source_words, const In<int64_t>& target_begin,
         const In<int32_t>& target_words, const In<int64_t>& links_begin, const In<int32_t>& link_source,
         const In<int32_t>& link_target, const In<uint8_t>& used, int64_t longest,
         int64_t most) -> std::shared_ptr<PhraseTable> {
        expect_size(link_target, static_cast<int64_t>(link_source.size()), "link_target");
        checked_count(longest, "words in a phrase", 1);
        checked_count(most, "translations per phrase", 1);
        AlignedCorpus corpus{
            lists_of(source_begin, source_words), lists_of(target_begin, target_words), to_vector(links_begin), {}};
        for (size_t k = 0; k < link_source.size(); ++k)
          corpus.links.emplace_back(link_source.data()[k], link_target.data()[k]);
        corpus.check();
        expect_size(used, corpus.size(), "used");
        const std::vector<uint8_t> chosen = to_vector(used);
        const nb::gil_scoped_release release;
        return std::make_shared<PhraseTable>(PhraseExtraction(corpus, chosen, longest, most).table());
      },
      "source_begin"_a, "source_words"_a, "target_begin"_a, "target_words"_a, "links_begin"_a, "link_source"_a,
      "link_target"_a, "used"_a, "longest"_a, "most"_a,
      "The phrase pairs of the used sentences, of at most `longest` words, and at most `most` per source phrase.");

  nb::class_<PhraseFeatures>(m, "PhraseFeatures")
      .def(nb::init<>())
      .def("__len__", &PhraseFeatures::size)
      .def(
          "add",
          [](PhraseFeatures& f, int32_t kind, const In<int32_t>& first, const In<int32_t>& second) {
            if (kind < 0 || kind >= PhraseFeatures::kKinds) throw InputError("a feature has an unknown kind.");
            for (const auto& words : {first, second})
              for (size_t k = 0; k < words.size(); ++k)
                if (words.data()[k] < (kind == 0 ? kSentenceEnd : 0) ||
                    words.data()[k] >= static_cast<int32_t>(PhraseFeatures::kMostWords))
                  throw InputError("a feature has an unknown word.");
            if (kind != PhraseFeatures::kTrigram)
              return f.add_of_pair(f.add_pair(first.data(), static_cast<int64_t>(first.size()), second.data(),
                                              static_cast<int64_t>(second.size())),
                                   kind);
            expect_size(first, 3, "the words of a trigram");
            return f.add_trigram(first.data()[0], first.data()[1], first.data()[2]);
          },
          "kind"_a, "first"_a, "second"_a, "The number of a sparse feature. New features are added.")
      .def(
          "arrays",
          [](const PhraseFeatures& f) {
            return std::make_tuple(to_numpy(std::vector(f.kinds())), to_numpy(std::vector(f.first().begin)),
                                   to_numpy(std::vector(f.first().words)), to_numpy(std::vector(f.second().begin)),
                                   to_numpy(std::vector(f.second().words)));
          },
          "The kinds of all sparse features, and their words: those of a source phrase or a trigram, and those of a "
          "target phrase.");

  nb::class_<SearchGraph>(m, "SearchGraph")
      .def_ro("unknown", &SearchGraph::unknown, "The number of source words without a translation.")
      .def_prop_ro("nodes", [](const SearchGraph& g) { return g.paths->nodes(); })
      .def(
          "edges",
          [](const SearchGraph& g) {
            std::vector<int32_t> tails, heads;
            for (int64_t e = 0; e < g.paths->edges(); ++e) {
              tails.push_back(g.paths->tail(e));
              heads.push_back(g.paths->head(e));
            }
            return std::make_tuple(to_numpy(std::move(tails)), to_numpy(std::move(heads)),
                                   to_numpy(std::vector(g.words)), to_numpy(std::vector(g.scores)),
                                   to_numpy(std::vector(g.rows.begin)), to_numpy(std::vector(g.rows.index)),
                                   to_numpy(std::vector(g.rows.value)));
          },
          "Tails, heads, words, scores and features of the edges. A word below -2 is that of a source position: the "
          "position is -3 minus the word.")
      .def(
          "kbest",
          [](const SearchGraph& g, int64_t k) {
            checked_count(k, "translations", 1);
            std::vector<ScoredOutput> found;
            std::vector<Output> ys;
            std::vector<double> values;
            {
              const nb::gil_scoped_release release;
              // Words as kbest_strings expects them: non-negative, and -1 for none.
              std::vector<int32_t> words;
              for (const int32_t word : g.words)
                words.push_back(word == kSentenceEnd ? -1 : word >= 0 ? 2 * word : -2 * word - 1);
              Scratch scratch;
              g.paths->kbest_strings(g.scores.data(), words.data(), k, found, scratch);
              for (ScoredOutput& y : found) {
                values.push_back(y.value);
                ys.push_back(std::move(y.y));
              }
            }
            return std::make_tuple(to_numpy(std::move(values)), described(g, ys));
          },
          "k"_a,
          "The k best distinct translations: their scores, and bounds, words, and features as bounds, numbers and "
          "values.")
      .def(
          "kbest_of_paths",
          [](const SearchGraph& g, int64_t k, int64_t count) {
            checked_count(k, "translations", 1);
            checked_count(count, "paths", 1);
            std::vector<ScoredOutput> found;
            std::vector<Output> ys;
            {
              const nb::gil_scoped_release release;
              Scratch scratch;
              g.paths->kbest(g.scores.data(), count, found, scratch);
              std::set<std::vector<int32_t>> texts;
              for (ScoredOutput& y : found) {
                std::vector<int32_t> text;
                for (const int32_t e : y.y) text.push_back(g.words[e]);
                if (texts.insert(std::move(text)).second) ys.push_back(std::move(y.y));
                if (static_cast<int64_t>(ys.size()) == k) break;
              }
            }
            return described(g, ys);
          },
          "k"_a, "count"_a,
          "The first k distinct translations among the `count` best paths, which is faster than a search for distinct "
          "translations: bounds, words and features.")
      .def(
          "complete", [](const SearchGraph& g) { return described(g, g.complete); },
          "The best translation through each node of the last stack, in the same form.");

  nb::class_<PhraseSearch>(m, "PhraseSearch")
      .def(
          "__init__",
          [](PhraseSearch* self, std::shared_ptr<PhraseTable> table, std::shared_ptr<LanguageModel> model,
             const std::vector<std::string_view>& words, int64_t beam, int64_t options, int64_t reach, bool sparse) {
            checked_count(beam, "nodes per stack");
            checked_count(options, "translations per phrase");
            checked_count(reach, "words that a swap skips");
            if (!model) throw InputError("a search needs a language model.");
            std::vector<int32_t> in_model;
            for (const std::string_view word : words) in_model.push_back(model->number(word));
            new (self)
                PhraseSearch(std::move(table), std::move(model), std::move(in_model), {beam, options, reach, sparse});
          },
          "table"_a, "model"_a, "words"_a, "beam"_a, "options"_a, "reach"_a, "sparse"_a,
          "words: the target words. beam: nodes per stack; options: translations per source phrase; 0 for all. reach: "
          "maximum number of source words in two phrases that swap. sparse: whether to use sparse features.")
      .def(
          "search",
          [](const PhraseSearch& s, const In<int32_t>& source, const In<double>& weights, PhraseFeatures& features,
             bool grow) {
            check_features(features, weights);
            if (source.size() == 0 || source.size() > 10'000) throw InputError("a sentence has 1 to 10,000 words.");
            const nb::gil_scoped_release release;
            return s.search(source.data(), static_cast<int64_t>(source.size()), weights.data(),
                            static_cast<int64_t>(weights.size()), features, grow);
          },
          "source"_a, "weights"_a, "features"_a, "grow"_a,
          "Searches the translations of a sentence of word numbers, -1 if unknown. grow: whether new features are "
          "added; then no other thread may use them.");
}

static const Registration registration(bind);

}  // namespace margrave
