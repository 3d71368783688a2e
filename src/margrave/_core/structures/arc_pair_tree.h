// Non-projective dependency trees with parts of two arcs as a structure, by approximate inference: belief propagation
// (engines/arc_messages.h), an upper bound where it fails (engines/arc_bound.h), and AD3 (engines/arc_decoder.h).
//
// The parts of a sentence are its arcs, then the pairs (h, s, m) of all children s < m of a head, and (g, h, m) for a
// head with its own head. Pairs that occur in no tree do not exist: g = m would be a cycle, and a single root has no
// two children.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engines/arc_bound.h"
#include "engines/arc_decoder.h"
#include "engines/arc_messages.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"
#include "structures/arc_trees.h"
#include "structures/inference_status.h"

namespace margrave {

class ArcPairTreeStructure final : public TreesOfArcs {
 public:
  ArcPairTreeStructure(const std::vector<int64_t>& words, std::vector<int32_t> heads, const std::vector<bool>& left,
                       std::vector<bool> allowed, bool single_root, tree::MessageSettings messages,
                       RelaxationSettings decoder, bool reweighted, double kappa, double most_kept = 0)
      : TreesOfArcs(Treebank(words, std::move(heads), single_root, kLongest), left, true, std::move(allowed)),
        messages_(messages),
        decoder_(decoder),
        reweighted_(reweighted),
        kappa_(kappa),
        status_(size()) {
    if (messages.sweeps < 1 || decoder.iterations < 1) throw InputError("there must be at least one iteration.");
    if (!(messages.damping >= 0 && messages.damping < 1)) throw InputError("damping must be at least 0, and below 1.");
    if (!(messages.tolerance > 0)) throw InputError("the tolerance of messages must be positive.");
    if (!(kappa > 0 && kappa < 1)) throw InputError("kappa must be between 0 and 1.");
    for (int64_t i = 0; i < size(); ++i) {
      int64_t count = arcs().count(i);
      each_pair(i, [&](int64_t, int64_t, const TreePart&) { ++count; });
      if (count > std::numeric_limits<int32_t>::max())
        throw InputError("example " + std::to_string(i) + " has " + std::to_string(count) +
                         " parts, which are too many: allow fewer arcs.");
      parts_.push_back(count);
    }
    check_arcs([&](int n, const auto& has_arc) { return any_tree(n, has_arc, single_root); });
    status_.make_room([&](int64_t i) { return 2 * (parts(i) - arcs().count(i)); }, most_kept);
  }

  bool exact() const override { return false; }
  int64_t parts(int64_t i) const override { return parts_[i]; }
  unsigned offers() const override { return kArgmax | kLogsum; }
  InferenceStatus& status() const { return status_; }

  void tree_parts(int64_t i, std::vector<TreePart>& parts) const override {
    TreesOfArcs::tree_parts(i, parts);
    each_pair(i, [&](int64_t, int64_t, const TreePart& part) { parts.push_back(part); });
  }
  void gold(int64_t i, int64_t, Output& y) const override {
    std::vector<int32_t> tree;
    const int32_t* heads = gold_heads(i);
    for (int m = 1; m <= words(i); ++m) tree.push_back(static_cast<int32_t>(arcs().find(i, heads[m - 1], m)));
    to_parts(i, tree, y);
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch&) const override {
    check_scores(i, theta);
    Workspace& ws = workspace();
    std::vector<int32_t> tree;
    const Relaxed found = ws.decoder.run(graph(i, ws), theta, decoder_, tree);
    status_.set_certified(i, found.certified);
    y.clear();
    if (found.value > -kInfinity) to_parts(i, tree, y);
    return found.value;
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch&) const override {
    check_scores(i, theta);
    Workspace& ws = workspace();
    const tree::ArcGraph sentence = graph(i, ws);
    if (!status_.load(i, ws.kept)) ws.kept.clear();
    const tree::MessageResult found = ws.messages.run(sentence, theta, messages_, mu, ws.kept);
    status_.set_sweeps(i, found.sweeps, found.converged);
    if (status_.keeps(i) && found.value > -kInfinity) {
      ws.kept.clear();
      for (int64_t p = 0; p < sentence.pair_count; ++p) {
        const auto [to_first, to_second] = ws.messages.messages(p);
        ws.kept.push_back(to_first);
        ws.kept.push_back(to_second);
      }
      status_.store(i, ws.kept);
    }
    if (!reweighted_ || !has_gold() || found.value == -kInfinity || found.value >= score_of_gold(i, theta))
      return found.value;
    status_.count_fallback();
    return ws.bound.run(graph(i, ws), theta, messages_, kappa_, mu).value;
  }
  // Returns the reweighted bound on log Z; mu is its gradient.
  tree::MessageResult upper_bound(int64_t i, const double* theta, double* mu) const {
    check_scores(i, theta);
    Workspace& ws = workspace();
    return ws.bound.run(graph(i, ws), theta, messages_, kappa_, mu);
  }

 private:
  static constexpr int64_t kLongest = 4'000;  // word numbers must fit into 16 bits, and tables of n^2 numbers into
                                              // memory

  struct Workspace {
    tree::ArcMessages messages;
    tree::ArcBound bound;
    tree::ArcDecoder decoder;
    std::vector<tree::ArcPair> pairs;
    std::vector<double> kept;
  };
  static Workspace& workspace() {
    thread_local Workspace ws;
    return ws;
  }

  // Calls visit(arc, arc, part) for every pair, in the order of their parts. For children s < m, the arc to s is first;
  // for (g, h, m), the arc to h.
  template <class Visit>
  void each_pair(int64_t i, const Visit& visit) const {
    const tree::Arc* const list = arcs().of(i);
    const int64_t count = arcs().count(i);
    const auto heads = static_cast<size_t>(words(i)) + 1;
    thread_local std::vector<std::vector<int32_t>> below;  // by head: its arcs, word by word
    thread_local std::vector<int64_t> into;                // by word: where its arcs begin
    if (below.size() < heads) below.resize(heads);
    for (size_t h = 0; h < heads; ++h) below[h].clear();
    into.assign(heads + 1, 0);
    for (int64_t a = 0; a < count; ++a) {
      below[list[a].head].push_back(static_cast<int32_t>(a));
      ++into[static_cast<size_t>(list[a].word) + 1];
    }
    for (size_t m = 1; m <= heads; ++m) into[m] += into[m - 1];
    for (size_t h = single_root() ? 1 : 0; h < heads; ++h)
      for (size_t k = 1; k < below[h].size(); ++k)
        for (size_t j = 0; j < k; ++j) {
          TreePart part;
          part.head = static_cast<int32_t>(h);
          part.child = list[below[h][j]].word;
          part.word = list[below[h][k]].word;
          visit(int64_t{below[h][j]}, int64_t{below[h][k]}, part);
        }
    for (int64_t b = 0; b < count; ++b) {
      const auto h = static_cast<size_t>(list[b].head);
      for (int64_t a = into[h]; a < into[h + 1]; ++a)
        if (list[a].head != list[b].word) visit(a, b, TreePart{list[a].head, list[b].head, -1, list[b].word});
    }
  }

  tree::ArcGraph graph(int64_t i, Workspace& ws) const {
    ws.pairs.clear();
    each_pair(i, [&](int64_t a, int64_t b, const TreePart&) {
      ws.pairs.push_back({static_cast<int32_t>(a), static_cast<int32_t>(b)});
    });
    return {words(i), single_root(), arcs().of(i), arcs().count(i), ws.pairs.data(), parts(i) - arcs().count(i)};
  }

  // A smaller log Z is an estimate that gives the gold tree a probability above 1.
  double score_of_gold(int64_t i, const double* theta) const {
    Output y;
    gold(i, 0, y);
    double sum = 0;
    for (const int32_t part : y) sum += theta[part];
    return sum;
  }

  // The parts of a tree, given by its arc numbers in the order of the words.
  void to_parts(int64_t i, const std::vector<int32_t>& tree, Output& y) const {
    std::vector<char> here(static_cast<size_t>(arcs().count(i)), 0);
    for (const int32_t a : tree) here[a] = 1;
    y = tree;
    auto part = static_cast<int32_t>(arcs().count(i));
    each_pair(i, [&](int64_t a, int64_t b, const TreePart&) {
      if (here[a] && here[b]) y.push_back(part);
      ++part;
    });
  }

  tree::MessageSettings messages_;
  RelaxationSettings decoder_;
  bool reweighted_;  // the bound replaces a value below the score of the gold tree
  double kappa_;
  std::vector<int64_t> parts_;
  mutable InferenceStatus status_;
};

}  // namespace margrave
