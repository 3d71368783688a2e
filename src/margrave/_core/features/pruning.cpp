// Python bindings of pruning.
#include "features/pruning.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"

namespace margrave {
namespace {

int64_t all_words(const TreeAttributes& words) {
  int64_t total = 0;
  for (int64_t i = 0; i < words.examples(); ++i) total += words.words(i);
  return total;
}

nb::ndarray<nb::numpy, bool, nb::ndim<1>> flags(const std::vector<bool>& values) {
  auto* copy = new std::vector<uint8_t>(values.begin(), values.end());
  const nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<uint8_t>*>(p); });
  return {reinterpret_cast<bool*>(copy->data()), {copy->size()}, owner};
}

std::vector<bool> to_flags(const std::optional<In<bool>>& values) {
  return values ? std::vector<bool>(values->data(), values->data() + values->size()) : std::vector<bool>();
}

// A model file may be corrupt: check that the arrays are consistent.
std::shared_ptr<TagPairs> restored(const In<uint64_t>& keys, const In<int32_t>& lengths, const In<int64_t>& begin,
                                   const In<int32_t>& labels) {
  const auto n = static_cast<int64_t>(keys.size());
  expect_size(lengths, 2 * n, "lengths");
  expect_size(begin, n + 1, "begin");
  if (begin.data()[0] != 0 || begin.data()[n] != static_cast<int64_t>(labels.size()) ||
      !std::is_sorted(begin.data(), begin.data() + n + 1))
    throw InputError("the bounds of labels must ascend from 0 to their number.");
  auto pairs = std::make_shared<TagPairs>();
  for (int64_t k = 0; k < n; ++k) {
    std::vector<int32_t> of(labels.data() + begin.data()[k], labels.data() + begin.data()[k + 1]);
    if (!std::is_sorted(of.begin(), of.end()) || (!of.empty() && of[0] < 0))
      throw InputError("the labels of a pair of tags must ascend.");
    pairs->restore(keys.data()[k], {lengths.data()[2 * k], lengths.data()[2 * k + 1], std::move(of)});
  }
  return pairs;
}

auto arrays(const TagPairs& pairs) {
  std::vector<uint64_t> keys;
  for (const auto& [key, seen] : pairs.seen()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  std::vector<int32_t> lengths, labels;
  std::vector<int64_t> begin{0};
  for (const uint64_t key : keys) {
    const TagPairs::Seen& seen = pairs.seen().at(key);
    lengths.insert(lengths.end(), {seen.left, seen.right});
    labels.insert(labels.end(), seen.labels.begin(), seen.labels.end());
    begin.push_back(static_cast<int64_t>(labels.size()));
  }
  return std::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(lengths)), to_numpy(std::move(begin)),
                         to_numpy(std::move(labels)));
}

}  // namespace

static void bind(nb::module_& m) {
  nb::class_<TagPairs>(m, "TagPairs", "Statistics of gold trees for each pair of tags of head and word.")
      .def(nb::new_([] { return std::make_shared<TagPairs>(); }))
      .def(nb::new_(&restored), "keys"_a, "lengths"_a, "begin"_a, "labels"_a)
      .def("__len__", [](const TagPairs& pairs) { return pairs.seen().size(); })
      .def(
          "learn",
          [](TagPairs& pairs, const TreeAttributes& words, const In<int32_t>& heads,
             const std::optional<In<int32_t>>& labels) {
            expect_size(heads, all_words(words), "heads");
            if (labels) expect_size(*labels, all_words(words), "labels");
            const nb::gil_scoped_release release;
            pairs.learn(words, heads.data(), labels ? labels->data() : nullptr);
          },
          "words"_a, "heads"_a, "labels"_a.none(), "Learn from the heads and labels of all words.")
      .def(
          "arcs",
          [](const TagPairs& pairs, const TreeAttributes& words) {
            std::vector<bool> left;
            {
              const nb::gil_scoped_release release;
              left = pairs.arcs(words);
            }
            return flags(left);
          },
          "words"_a, nb::rv_policy::move,
          "For the n * n arcs of every sentence, whether an arc is no longer than the longest one seen with its tags.")
      .def(
          "labels",
          [](const TagPairs& pairs, const TreeAttributes& words, const std::optional<In<bool>>& left, int32_t labels) {
            checked_count(labels, "labels", 1, TagPairs::kMostLabels);
            const std::vector<bool> stays = to_flags(left);
            TagPairs::Sets sets;
            {
              const nb::gil_scoped_release release;
              sets = pairs.labels_of(words, stays, labels);
            }
            return std::make_tuple(to_numpy(std::move(sets.of_arc)), to_numpy(std::move(sets.begin)),
                                   to_numpy(std::move(sets.members)));
          },
          "words"_a, "left"_a.none(), "labels"_a,
          "The possible labels of each kept arc: the set of every arc, where sets begin, and their labels.")
      .def("arrays", &arrays, nb::rv_policy::move, "Keys, lengths, bounds and labels, for a file.");
  m.def(
      "arcs_of_trees",
      [](const In<int64_t>& words, const In<int32_t>& heads) {
        auto unread = static_cast<int64_t>(heads.size());
        for (size_t i = 0; i < words.size(); ++i) {
          if (words.data()[i] < 0 || words.data()[i] > unread) throw InputError("there must be one head per word.");
          unread -= words.data()[i];
        }
        if (unread) throw InputError("there must be one head per word.");
        std::vector<bool> left;
        size_t at = 0;
        for (size_t i = 0; i < words.size(); ++i)
          for (int64_t word = 1; word <= words.data()[i]; ++word, ++at)
            for (int64_t h = 0; h <= words.data()[i]; ++h)
              if (h != word) left.push_back(heads.data()[at] == h);
        return flags(left);
      },
      "words"_a, "heads"_a, nb::rv_policy::move,
      "For the n * n arcs of every sentence, whether a tree contains the arc. heads: those of all words, "
      "concatenated.");
  m.def(
      "pruned",
      [](const TreeStructure& trees, const In<double>& mu, double ratio, int64_t most, const In<int32_t>& tree,
         const std::optional<In<int32_t>>& gold) {
        int64_t words = 0, parts = 0;
        for (int64_t i = 0; i < trees.size(); ++i) words += trees.words(i), parts += trees.parts(i);
        expect_size(mu, parts, "mu");
        expect_size(tree, words, "tree");
        if (gold) expect_size(*gold, words, "gold");
        checked_count(most, "heads per word", 1);
        std::vector<const int32_t*> kept{tree.data()};
        if (gold) kept.push_back(gold->data());
        std::vector<bool> left;
        {
          const nb::gil_scoped_release release;
          left = pruned(trees, mu.data(), ratio, most, kept);
        }
        return flags(left);
      },
      "trees"_a, "mu"_a, "ratio"_a, "most"_a, "tree"_a, "gold"_a.none(), nb::rv_policy::move,
      "For the n * n arcs of every sentence, whether pruning by the posterior mu keeps an arc.");
}

static const Registration registration(bind);

}  // namespace margrave
