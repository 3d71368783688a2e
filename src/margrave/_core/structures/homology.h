// The choice of a candidate together with its alignment (003, section 4.4).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engines/alignment.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "simd/loops.h"
#include "structures/alignments.h"
#include "structures/pair_parts.h"

namespace margrave {

// Outputs are a candidate and its alignment with the native sequence x. Alignments have the parts of letters. One more
// part per candidate carries the zero-one cost. If the alignment of the homologue is known, it is the only output with
// this candidate: other alignments of it count neither as correct nor as wrong.
class HomologyStructure final : public Structure {
 public:
  // candidates: all sequences y, those of example i from first[i] to first[i + 1].
  HomologyStructure(PairParts layout, Sequences x, Sequences candidates, std::vector<int64_t> first,
                    std::vector<int32_t> homologues, Matches gold)
      : layout_(layout),
        x_(std::move(x)),
        candidates_(std::move(candidates)),
        first_(std::move(first)),
        good_(std::move(homologues)),
        gold_(std::move(gold)) {
    x_.check(layout_.letters(), "native sequence");
    candidates_.check(layout_.letters(), "candidate");
    if (static_cast<int64_t>(first_.size()) != size() + 1 || first_.front() != 0 ||
        first_.back() != candidates_.size() || !std::is_sorted(first_.begin(), first_.end()))
      throw InputError("there must be a list of candidates for every native sequence.");
    gold_.check(size());
    if (gold_.known() && static_cast<int64_t>(good_.size()) != size())
      throw InputError("there must be one homologue per example.");
    for (int64_t i = 0; i < size(); ++i) {
      if (count(i) == 0) throw InputError("example " + std::to_string(i) + " has no candidates.");
      if (!has_gold()) continue;
      if (good(i) < 0 || good(i) >= count(i))
        throw InputError("example " + std::to_string(i) + ": there is no candidate " + std::to_string(good(i)) + ".");
      gold_.check(i, pair(i, good(i)).n, pair(i, good(i)).m);
    }
  }

  int64_t size() const override { return x_.size(); }
  int64_t parts(int64_t i) const override { return shared_parts() + count(i); }
  int64_t shared_parts() const { return layout_.count(0, 0); }
  int64_t count(int64_t i) const { return first_[i + 1] - first_[i]; }
  const PairParts& layout() const { return layout_; }
  int64_t repeats(int64_t i) const override {
    int64_t longest = x_.length(i);
    for (int64_t k = 0; k < count(i); ++k) longest = std::max(longest, pair(i, k).m);
    return longest;
  }
  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample; }
  bool has_gold() const override { return gold_.known(); }
  void gold(int64_t i, int64_t, Output& y) const override {
    if (!has_gold()) throw InputError("this problem was bound without gold outputs.");
    alignment::Path path;
    gold_.path(i, path);
    to_output(i, good(i), path, y);
  }
  double cost(int64_t i, double* delta) const override {
    std::fill_n(delta, parts(i), 0.0);
    if (!has_gold()) return 0;
    std::fill_n(delta + shared_parts(), count(i), 1.0);
    delta[shared_parts() + good(i)] = 0;
    return 0;
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    double best = -kInfinity;
    int64_t winner = -1;
    for (int64_t k = 0; k < count(i); ++k) {
      const double value = best_score(i, k, theta, scratch);
      if (value > best) {
        best = value;
        winner = k;
      }
    }
    y.clear();
    if (winner < 0) return best;
    if (is_gold(i, winner)) {
      gold(i, 0, y);
      return best;
    }
    alignment::Path path;
    Scratch::Frame frame(scratch);
    alignment::best(layout_.scores(pair(i, winner), theta, scratch), path, scratch);
    to_output(i, winner, path, y);
    return best;
  }
  // The score of the best alignment of a candidate.
  double best_score(int64_t i, int64_t k, const double* theta, Scratch& scratch) const {
    const double own = theta[shared_parts() + k];
    if (is_gold(i, k)) return score_of_gold(i, theta);
    Scratch::Frame frame(scratch);
    return own + alignment::best_score(layout_.scores(pair(i, k), theta, scratch), scratch);
  }

  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    const int64_t shared = shared_parts();
    std::vector<double> values(count(i), -kInfinity), of_all(count(i) * shared, 0.0);
    double total = -kInfinity;
    for (int64_t k = 0; k < count(i); ++k) {
      double* own = of_all.data() + k * shared;
      if (is_gold(i, k)) {
        values[k] = score_of_gold(i, theta);
        Output y;
        gold(i, 0, y);
        for (const int32_t part : y)
          if (part < shared) own[part] += 1;
      } else {
        check_cells(i, x_.length(i), pair(i, k).m);
        Scratch::Frame frame(scratch);
        const alignment::Scores scores = layout_.scores(pair(i, k), theta, scratch);
        alignment::Posteriors posteriors = layout_.posteriors(pair(i, k), own, scratch);
        values[k] = theta[shared + k] + alignment::logsum(scores, posteriors, scratch);
        layout_.add(pair(i, k), posteriors, own);
      }
      total = log_add(total, values[k]);
    }
    std::fill_n(mu, parts(i), 0.0);
    if (total == -kInfinity) return total;
    for (int64_t k = 0; k < count(i); ++k) {
      const double share = std::exp(values[k] - total);
      mu[shared + k] = share;
      if (share > 0) loops().add_scaled(of_all.data() + k * shared, share, mu, shared);
    }
    return total;
  }

  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    ys.clear();
    for (int64_t c = 0; c < count(i); ++c) {
      if (is_gold(i, c)) {
        ys.push_back({score_of_gold(i, theta), {}});
        gold(i, 0, ys.back().y);
        if (ys.back().value == -kInfinity) ys.pop_back();
        continue;
      }
      if (theta[shared_parts() + c] == -kInfinity) continue;
      check_cells(i, x_.length(i), pair(i, c).m);
      Scratch::Frame frame(scratch);
      alignment::kbest(layout_.scores(pair(i, c), theta, scratch), k, scratch,
                       [&](double value, const alignment::Path& path) {
                         ys.push_back({theta[shared_parts() + c] + value, {}});
                         to_output(i, c, path, ys.back().y);
                       });
    }
    std::stable_sort(ys.begin(), ys.end(),
                     [](const ScoredOutput& a, const ScoredOutput& b) { return a.value > b.value; });
    if (static_cast<int64_t>(ys.size()) > k) ys.resize(k);
  }

  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch& scratch) const override {
    const std::vector<int64_t> costs = whole_costs(delta, parts(i));
    std::map<int64_t, CostedOutput> found;
    const auto offer = [&](CostedOutput&& each) {
      if (!(each.value > -kInfinity)) return;
      const auto place = found.find(each.cost);
      if (place == found.end())
        found.emplace(each.cost, std::move(each));
      else if (each.value > place->second.value)
        place->second = std::move(each);
    };
    // If only candidates have costs, as in learning, their best alignments suffice.
    const bool simple = std::all_of(costs.begin(), costs.begin() + shared_parts(), [](int64_t c) { return c == 0; });
    for (int64_t c = 0; c < count(i); ++c) {
      const double own = theta[shared_parts() + c];
      const int64_t price = costs[shared_parts() + c];
      if (is_gold(i, c)) {
        CostedOutput each{0, score_of_gold(i, theta), {}};
        gold(i, 0, each.y);
        for (const int32_t part : each.y) each.cost += costs[part];
        offer(std::move(each));
        continue;
      }
      Scratch::Frame frame(scratch);
      const alignment::Scores scores = layout_.scores(pair(i, c), theta, scratch);
      if (simple) {
        alignment::Path path;
        CostedOutput each{price, own + alignment::best_score(scores, scratch), {}};
        const auto place = found.find(price);
        if (place != found.end() && each.value <= place->second.value) continue;
        alignment::best(scores, path, scratch);
        to_output(i, c, path, each.y);
        offer(std::move(each));
        continue;
      }
      check_cells(i, x_.length(i), pair(i, c).m);
      alignment::best_by_cost(scores, layout_.scores(pair(i, c), delta, scratch),
                              [&](int64_t cost, double value, const alignment::Path& path) {
                                CostedOutput each{price + cost, own + value, {}};
                                to_output(i, c, path, each.y);
                                offer(std::move(each));
                              });
    }
    ys.clear();
    for (auto& [cost, each] : found) ys.push_back(std::move(each));
  }

  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<double> mu(parts(i));
    if (logsum(i, theta, mu.data(), scratch) == -kInfinity) throw InputError("every output is forbidden.");
    const int64_t c = random.choose(mu.data() + shared_parts(), count(i));
    if (is_gold(i, c)) return gold(i, 0, y);
    alignment::sample(layout_.scores(pair(i, c), theta, scratch), 1, random,
                      [&](const alignment::Path& path) { to_output(i, c, path, y); });
  }

 private:
  int32_t good(int64_t i) const { return good_[i]; }
  bool is_gold(int64_t i, int64_t k) const { return has_gold() && good(i) == k; }
  SequencePair pair(int64_t i, int64_t k) const {
    const int64_t c = first_[i] + k;
    return {x_.of(i), candidates_.of(c), x_.length(i), candidates_.length(c)};
  }
  double score_of_gold(int64_t i, const double* theta) const {
    Output y;
    gold(i, 0, y);
    double sum = 0;
    for (const int32_t part : y) sum += theta[part];
    return sum;
  }
  void to_output(int64_t i, int64_t k, const alignment::Path& path, Output& y) const {
    y.clear();
    y.push_back(static_cast<int32_t>(shared_parts() + k));
    layout_.to_parts(pair(i, k), path, y);
  }

  PairParts layout_;
  Sequences x_, candidates_;
  std::vector<int64_t> first_;
  std::vector<int32_t> good_;
  Matches gold_;
};

}  // namespace margrave
