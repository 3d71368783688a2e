// Python bindings of labeled segmentations.
#include "structures/semi_markov.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/labels.h"
#include "protocol/checks.h"
#include "protocol/structure.h"

namespace margrave {
namespace {

using Bounds = In<int64_t>;

// The tags of outputs, concatenated; output k belongs to example examples[k].
Array<int32_t> read_tags(const SemiMarkovStructure& structure, const std::optional<In<int64_t>>& examples,
                         const Bounds& begin, const In<int32_t>& parts) {
  if (begin.size() == 0) throw InputError("begin must have one more entry than there are outputs.");
  const auto outputs = static_cast<int64_t>(begin.size()) - 1;
  if (examples)
    expect_size(*examples, outputs, "examples");
  else if (outputs != structure.size())
    throw InputError("there must be one output per example.");
  std::vector<int32_t> tags;
  for (int64_t k = 0; k < outputs; ++k) {
    const int64_t i = examples ? examples->data()[k] : k;
    structure.check_example(i);
    const int64_t first = begin.data()[k];
    const int64_t last = begin.data()[k + 1];
    if (first < 0 || last < first || last > static_cast<int64_t>(parts.size()))
      throw InputError("the bounds of outputs must ascend from 0 to the number of their parts.");
    const size_t before = tags.size();
    tags.resize(before + static_cast<size_t>(structure.length(i)));
    structure.tags_of(i, parts.data() + first, last - first, tags.data() + before);
  }
  return to_numpy(std::move(tags));
}

// The marginals (tokens, tags) of all examples, concatenated.
Array<double> tag_marginals(const SemiMarkovStructure& structure, const Bounds& begin, const In<double>& mu) {
  expect_size(begin, structure.size() + 1, "begin");
  std::vector<double> result;
  for (int64_t i = 0; i < structure.size(); ++i) {
    const int64_t first = begin.data()[i];
    if (first < 0 || first > static_cast<int64_t>(mu.size()) ||
        structure.parts(i) > static_cast<int64_t>(mu.size()) - first)
      throw InputError("there must be a marginal for every part.");
    const size_t before = result.size();
    result.resize(before + static_cast<size_t>(structure.length(i) * structure.tags().tags));
    structure.tag_marginals(i, mu.data() + first, result.data() + before);
  }
  return to_numpy(std::move(result));
}

// begin (examples + 1): where the alternatives of each example begin; rows: start, end and label of each.
std::vector<std::vector<Segments::Segment>> alternatives_of(const In<int64_t>& begin, const In<int32_t>& rows,
                                                            const Segments& segments) {
  std::vector<std::vector<Segments::Segment>> found;
  for (size_t i = 0; i + 1 < begin.size(); ++i) {
    const int64_t first = begin.data()[i];
    const int64_t last = begin.data()[i + 1];
    if (first < 0 || last < first || last > static_cast<int64_t>(rows.size() / 3))
      throw InputError("the bounds of alternatives must ascend from 0 to their number.");
    found.emplace_back();
    for (int64_t k = first; k < last; ++k) {
      const int32_t* row = rows.data() + 3 * k;
      if (row[2] < 0 || row[2] >= segments.labels()) throw InputError("the label of an alternative is out of range.");
      found.back().push_back({row[0], row[1], row[2]});
    }
  }
  return found;
}

}  // namespace

static void bind(nb::module_& m) {
  after<Structure>();
  nb::class_<SemiMarkovStructure, Structure>(m, "SemiMarkovStructure")
      .def_prop_ro("labels", &SemiMarkovStructure::labels)
      .def_prop_ro("tied", &SemiMarkovStructure::tied)
      .def_prop_ro(
          "longest", [](const SemiMarkovStructure& s) { return s.segments().most(); }, "The longest segment of all.")
      .def(
          "spans",
          [](const SemiMarkovStructure& s, int64_t i) { return s.check_example(i), s.segments().spans(s.length(i)); },
          "i"_a, "The number of spans of tokens of example i that may be segments.")
      .def(
          "segments",
          [](const SemiMarkovStructure& s, int64_t i) {
            s.check_example(i);
            std::vector<int32_t> rows;
            for (int64_t part = 0; part < s.segments().count(s.length(i)); ++part) {
              const Segments::Segment of = s.segments().segment(part);
              for (const int64_t value : {of.start, of.end, of.label}) rows.push_back(static_cast<int32_t>(value));
            }
            return to_numpy(std::move(rows));
          },
          "i"_a, "The start, the end and the label of each segment of example i, in the order of the parts.")
      .def_prop_ro("divided", &SemiMarkovStructure::divided, "Whether spans have alternatives.")
      .def(
          "good_tags",
          [](const SemiMarkovStructure& s) {
            std::vector<int64_t> begin{0};
            std::vector<int32_t> tags;
            for (int64_t i = 0; i < s.size(); ++i) {
              const std::vector<uint8_t> flags = s.good_tags(i);
              for (int64_t t = 0; t < s.length(i); ++t) {
                for (int32_t tag = 0; tag < s.tags().tags; ++tag)
                  if (flags[t * s.tags().tags + tag]) tags.push_back(tag);
                begin.push_back(static_cast<int64_t>(tags.size()));
              }
            }
            return std::make_pair(to_numpy(std::move(begin)), to_numpy(std::move(tags)));
          },
          "For all tokens, example by example, their tags in good outputs: bounds and tags.")
      .def(
          "good_spans",
          [](const SemiMarkovStructure& s) {
            std::vector<int64_t> begin{0};
            std::vector<int32_t> labels;
            for (int64_t i = 0; i < s.size(); ++i) {
              const int64_t n = s.length(i);
              std::vector<std::vector<int32_t>> of_span(static_cast<size_t>(s.segments().spans(n)));
              for (const int32_t part : s.good_parts(i)) {
                if (part >= s.segments().count(n)) break;
                const Segments::Segment of = s.segments().segment(part);
                of_span[s.segments().spans_before(of.end) + of.end - of.start - 1].push_back(
                    static_cast<int32_t>(of.label));
              }
              for (const std::vector<int32_t>& of : of_span) {
                labels.insert(labels.end(), of.begin(), of.end());
                begin.push_back(static_cast<int64_t>(labels.size()));
              }
            }
            return std::make_pair(to_numpy(std::move(begin)), to_numpy(std::move(labels)));
          },
          "For all spans, example by example, their labels in good outputs: bounds and labels.")
      .def(
          "good_pairs",
          [](const SemiMarkovStructure& s) {
            const int64_t pairs = s.labels() * s.labels();
            std::vector<uint8_t> seen(static_cast<size_t>(pairs), 0);
            for (int64_t i = 0; i < s.size(); ++i) {
              const int64_t count = s.segments().count(s.length(i));
              for (const int32_t part : s.good_parts(i))
                if (part >= count) seen[(part - count) % pairs] = 1;
            }
            std::vector<int64_t> found;
            for (int64_t q = 0; q < pairs; ++q)
              if (seen[q]) found.push_back(q);
            return to_numpy(std::move(found));
          },
          "The pairs of neighboring labels in good outputs, (left, right), row by row.")
      .def("read_tags", &read_tags, "examples"_a.none(), "begin"_a, "parts"_a,
           "The tags of outputs, concatenated; output k belongs to example examples[k], or to example k.")
      .def("tag_marginals", &tag_marginals, "begin"_a, "mu"_a,
           "The probabilities (tokens, tags) of the tags, concatenated over all examples.");
  m.def(
      "semi_markov",
      [](const In<int32_t>& longest, int64_t tags, const In<int32_t>& first, const In<int32_t>& inside,
         const In<int64_t>& begin, const std::optional<In<int32_t>>& gold, std::shared_ptr<LabelCost> cost,
         const In<bool>& outside, bool of_segments, const std::optional<In<bool>>& allowed,
         const std::optional<std::pair<In<int64_t>, In<int32_t>>>& alternatives,
         bool tied) -> std::shared_ptr<SemiMarkovStructure> {
        SegmentTags names{tags, to_vector(first), to_vector(inside)};
        if (tags < 1 || tags > 65535) throw InputError("there must be from 1 to 65535 tags.");
        SemiMarkovStructure::Data data{
            to_vector(begin), to_vector(gold), std::move(cost), of_segments, flags_of(outside), flags_of(allowed), {}};
        const Segments segments(to_vector(longest));
        if (alternatives) {
          expect_size(alternatives->first, static_cast<int64_t>(begin.size()), "the bounds of alternatives");
          data.alternatives = alternatives_of(alternatives->first, alternatives->second, segments);
        }
        return std::make_shared<SemiMarkovStructure>(Segmentations(segments, tied), std::move(names), std::move(data));
      },
      "longest"_a, "tags"_a, "first"_a, "inside"_a, "begin"_a, "gold"_a.none(), "cost"_a.none(), "outside"_a,
      "of_segments"_a, "allowed"_a.none(), "alternatives"_a.none(), "tied"_a,
      "Labeled segmentations. first, inside: the tags of each label. outside: the labels of tokens that are not in "
      "spans. cost: of tags; or of_segments: the cost is the number of wrong and of missing spans. alternatives: where "
      "those of each example begin, and (start, end, label) of each.");
}

static const Registration registration(bind);

}  // namespace margrave
