// Labeled segmentations (engines/segmentations.h) of sequences with gold tags, costs, allowed tags and alternatives.
//
// If spans have alternatives, several outputs are good (structures/good_segments.h).
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/segmentations.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "structures/good_segments.h"
#include "structures/label_cost.h"
#include "structures/token_bounds.h"

namespace margrave {

class SemiMarkovStructure final : public Structure, public GoodInference {
 public:
  // begin (examples + 1): where the tokens of each example begin. gold: one tag per token, or empty. cost: the cost of
  // tags, or null. of_segments: the cost of an output is the number of wrong segments plus the number of missing ones;
  // segments of the labels `outside` of spans do not count. allowed: (tokens, tags), or empty. alternatives: by
  // example, or empty; with alternatives, good outputs cost nothing.
  struct Data {
    std::vector<int64_t> begin;
    std::vector<int32_t> gold;
    std::shared_ptr<const LabelCost> cost;
    bool of_segments = false;
    std::vector<uint8_t> outside;
    std::vector<uint8_t> allowed;
    std::vector<std::vector<Segments::Segment>> alternatives;
  };

  SemiMarkovStructure(Segmentations all, SegmentTags tags, Data data)
      : engine_(std::move(all)), tags_(std::move(tags)), data_(std::move(data)) {
    tags_.check(segments());
    const std::vector<int64_t>& begin = data_.begin;
    check_token_bounds(begin);
    const auto tokens = static_cast<size_t>(begin.back());
    if (!data_.gold.empty() && data_.gold.size() != tokens) throw InputError("there must be one gold tag per token.");
    if (data_.cost && data_.cost->labels() != tags_.tags)
      throw InputError("there are " + std::to_string(tags_.tags) + " tags, and costs of " +
                       std::to_string(data_.cost->labels()) + ".");
    if (data_.outside.size() != static_cast<size_t>(labels())) throw InputError("every label needs its flag.");
    for (int64_t l = 0; l < labels(); ++l)
      if (data_.outside[l] && segments().longest(l) != 1)
        throw InputError("a segment outside of spans must have one token.");
    if (!data_.allowed.empty() && data_.allowed.size() != tokens * static_cast<size_t>(tags_.tags))
      throw InputError("allowed tags must be (tokens, tags).");
    for (int64_t i = 0; i < size(); ++i)
      if (parts(i) > std::numeric_limits<int32_t>::max())
        throw InputError("example " + std::to_string(i) + " has " + std::to_string(parts(i)) +
                         " parts, more than can be numbered: split it, or limit the length of segments.");
    if (!data_.gold.empty()) read_gold();
    if (constrained()) check_feasible();
    if (divided()) read_alternatives();
  }

  const Segments& segments() const { return engine_.segments(); }
  const SegmentTags& tags() const { return tags_; }
  bool tied() const { return engine_.tied(); }
  int64_t labels() const { return engine_.labels(); }
  int64_t length(int64_t i) const { return data_.begin[i + 1] - data_.begin[i]; }

  int64_t size() const override { return static_cast<int64_t>(data_.begin.size()) - 1; }
  int64_t parts(int64_t i) const override { return engine_.parts(length(i)); }
  int64_t columns() const override { return tags_.tags; }
  int64_t repeats(int64_t i) const override { return tied() ? std::max<int64_t>(length(i) - 1, 1) : 1; }
  unsigned offers() const override {
    return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample | (tied() ? 0u : kUntied | kEntropy);
  }
  bool has_gold() const override { return !data_.gold.empty() || data_.begin.back() == 0; }
  int64_t gold_count(int64_t i) const override {
    if (!divided()) return 1;
    return static_cast<int64_t>(std::min(good_[i].count(), static_cast<double>(kListedGood)));
  }
  // The output of the gold tags comes first.
  void gold(int64_t i, int64_t k, Output& y) const override {
    check_gold();
    y.assign(gold_.begin() + gold_begin_[i], gold_.begin() + gold_begin_[i + 1]);
    engine_.add_pairs(length(i), y);
    if (k == 0) return;
    const std::vector<double> zeros(parts(i), 0.0);
    std::vector<ScoredOutput> ys;
    Scratch scratch;
    good_[i].kbest(zeros.data(), k + 1, ys, scratch);
    Output first = y;
    std::sort(first.begin(), first.end());
    ys.erase(std::remove_if(ys.begin(), ys.end(), [&](const ScoredOutput& other) { return other.y == first; }),
             ys.end());
    y = std::move(ys[k - 1].y);
  }

  // Whether there are alternatives. If so, inference among the good outputs is available.
  bool divided() const { return !data_.alternatives.empty(); }
  double argmax_among(bool good, int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    if (good) return good_paths(i).argmax(theta, y, scratch);
    return good_segments(i).paths(false).argmax(theta, y, scratch);
  }
  double logsum_among(bool good, int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    if (good) return good_paths(i).logsum(theta, parts(i), mu, scratch);
    return good_segments(i).paths(false).logsum(theta, parts(i), mu, scratch);
  }
  // The parts of good outputs, sorted, each once.
  Output good_parts(int64_t i) const {
    check_gold();
    Output found;
    if (divided()) {
      for (int64_t e = 0; e < good_[i].edges(); ++e)
        if (good_[i].part(e) >= 0) found.push_back(good_[i].part(e));
    } else {
      gold(i, 0, found);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  // (tokens, tags): the tags of the tokens in good outputs.
  std::vector<uint8_t> good_tags(int64_t i) const {
    std::vector<uint8_t> flags(length(i) * tags_.tags, 0);
    const int64_t count = segments().count(length(i));
    for (const int32_t part : good_parts(i)) {
      if (part >= count) break;
      const Segments::Segment segment = segments().segment(part);
      flags[segment.start * tags_.tags + tags_.first[segment.label]] = 1;
      for (int64_t t = segment.start + 1; t < segment.end; ++t) flags[t * tags_.tags + tags_.inside[segment.label]] = 1;
    }
    return flags;
  }

  double cost(int64_t i, double* delta) const override {
    const int64_t n = length(i);
    std::fill(delta, delta + parts(i), 0.0);
    check_gold();
    if (data_.of_segments) return cost_of_segments(i, delta);
    if (!data_.cost) return 0;
    const int32_t* gold = data_.gold.data() + data_.begin[i];
    const std::vector<uint8_t> good = divided() ? good_tags(i) : std::vector<uint8_t>();
    std::vector<double> row(tags_.tags), other(tags_.tags), first(n * labels()), inside((n + 1) * labels(), 0.0);
    for (int64_t t = 0; t < n; ++t) {  // inside: sums over the tokens before t
      data_.cost->row(gold[t], row.data());
      for (int32_t tag = 0; divided() && tag < tags_.tags; ++tag) {  // the cost relative to the nearest good tag
        if (!good[t * tags_.tags + tag]) continue;
        data_.cost->row(tag, other.data());
        for (size_t k = 0; k < row.size(); ++k) row[k] = std::min(row[k], other[k]);
      }
      for (int64_t l = 0; l < labels(); ++l) {
        first[t * labels() + l] = row[tags_.first[l]];
        const int32_t tag = tags_.inside[l];
        inside[(t + 1) * labels() + l] = inside[t * labels() + l] + (tag < 0 ? 0.0 : row[tag]);
      }
    }
    engine_.each_segment(n, [&](int64_t part, int64_t s, int64_t e, int64_t l) {
      delta[part] = first[s * labels() + l] + inside[e * labels() + l] - inside[(s + 1) * labels() + l];
    });
    return 0;
  }

  bool constrained() const override { return !data_.allowed.empty(); }
  void forbid(int64_t i, double* theta) const override {
    if (data_.allowed.empty()) return;
    const uint8_t* allowed = data_.allowed.data() + data_.begin[i] * tags_.tags;
    const int64_t n = length(i);
    std::vector<int64_t> last(labels(), -1);  // the last token before e that cannot be inside of a segment
    for (int64_t e = 1; e <= n; ++e)
      for (int64_t l = 0; l < labels(); ++l) {
        const int32_t tag = tags_.inside[l];
        if (tag >= 0 && !allowed[(e - 1) * tags_.tags + tag]) last[l] = e - 1;
        double* of = theta + segments().first(e, l);
        for (int64_t m = 1; m <= segments().lengths(e, l); ++m) {
          const int64_t s = e - m;
          if (!allowed[s * tags_.tags + tags_.first[l]] || last[l] > s) of[m - 1] = -kInfinity;
        }
      }
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    return engine_.argmax(length(i), theta, y, scratch);
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    return engine_.logsum(length(i), theta, mu, scratch);
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch& scratch) const override {
    engine_.argmax_by_cost(length(i), theta, delta, ys, scratch);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    engine_.kbest(length(i), theta, k, ys, scratch);
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<Output> ys(1);
    sample_many(i, theta, random, ys, scratch);
    y = std::move(ys[0]);
  }
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                   Scratch& scratch) const override {
    engine_.sample_many(length(i), theta, random, ys, scratch);
  }
  double entropy(int64_t i, const double* mu, double* t, Scratch&) const override {
    if (tied()) return unsupported("entropy (it needs neighbor parts per boundary)"), 0.0;
    return engine_.entropy(length(i), mu, t);
  }

  // The tags of the tokens of an output, from its segments, which come first.
  void tags_of(int64_t i, const int32_t* parts, int64_t count, int32_t* tags) const {
    const int64_t n = length(i);
    const int64_t most = segments().count(n);
    int64_t done = 0;
    for (int64_t k = 0; k < count && done < n; ++k) {
      if (parts[k] < 0 || parts[k] >= most) throw InputError("a part of an output is not a segment.");
      const Segments::Segment segment = segments().segment(parts[k]);
      if (segment.start != done) throw InputError("the segments of an output do not follow one another.");
      tags[done] = tags_.first[segment.label];
      std::fill(tags + done + 1, tags + segment.end, tags_.inside[segment.label]);
      done = segment.end;
    }
    if (done < n) throw InputError("the segments of an output do not cover its tokens.");
  }

  // The marginals (tokens, tags) of tags, from those of parts.
  void tag_marginals(int64_t i, const double* mu, double* of_tags) const {
    tags_.spread(segments(), length(i), mu, of_tags);
  }

 private:
  void check_gold() const {
    if (!has_gold()) throw InputError("this problem was bound without gold outputs.");
  }

  // The segments of the gold tags.
  void read_gold() {
    std::vector<int32_t> label(tags_.tags, -1);
    std::vector<uint8_t> begins(tags_.tags, 0);
    for (int64_t l = 0; l < labels(); ++l) {
      label[tags_.first[l]] = static_cast<int32_t>(l);
      begins[tags_.first[l]] = 1;
      if (tags_.inside[l] >= 0) label[tags_.inside[l]] = static_cast<int32_t>(l);
    }
    gold_begin_.push_back(0);
    for (int64_t i = 0; i < size(); ++i) {
      const int32_t* tags = data_.gold.data() + data_.begin[i];
      const int64_t n = length(i);
      int64_t start = 0;
      for (int64_t t = 0; t < n; ++t) {
        const auto where = [&] { return "example " + std::to_string(i) + ", position " + std::to_string(t) + ": "; };
        if (tags[t] < 0 || tags[t] >= tags_.tags || label[tags[t]] < 0)
          throw InputError(where() + "its tag is out of range.");
        if (begins[tags[t]]) {
          start = t;
        } else if (t == start || label[tags[t]] != label[tags[start]]) {
          throw InputError(where() + "its tag continues a segment that has not begun.");
        }
        const bool ends = t + 1 == n || (tags[t + 1] >= 0 && tags[t + 1] < tags_.tags && begins[tags[t + 1]]);
        if (!ends) continue;
        const int64_t l = label[tags[t]];
        if (t + 1 - start > segments().longest(l))
          throw InputError("example " + std::to_string(i) + ", position " + std::to_string(start) + ": a segment of " +
                           std::to_string(t + 1 - start) + " tokens, and those of its label have at most " +
                           std::to_string(segments().longest(l)) + ".");
        gold_.push_back(static_cast<int32_t>(segments().first(t + 1, l) + t - start));
      }
      gold_begin_.push_back(static_cast<int64_t>(gold_.size()));
    }
  }

  void read_alternatives() {
    check_gold();
    if (static_cast<int64_t>(data_.alternatives.size()) != size())
      throw InputError("there must be a list of alternatives for every example.");
    if (constrained()) throw InputError("alternatives and allowed tags cannot be combined.");
    if (data_.of_segments) throw InputError("the cost by segments needs a single correct output.");
    for (int64_t i = 0; i < size(); ++i) good_.push_back(good_segments(i).paths(true));
  }
  GoodSegments good_segments(int64_t i) const {
    if (!divided()) throw InputError("this problem was bound without alternatives.");
    std::vector<Segments::Segment> right;
    for (int64_t k = gold_begin_[i]; k < gold_begin_[i + 1]; ++k) right.push_back(segments().segment(gold_[k]));
    const int64_t n = length(i);
    return GoodSegments(segments(), data_.outside, n, right, data_.alternatives[i],
                        [&](int64_t s) { return engine_.table(n, s); });
  }
  const Paths& good_paths(int64_t i) const {
    if (!divided()) throw InputError("this problem was bound without alternatives.");
    return good_[i];
  }

  double cost_of_segments(int64_t i, double* delta) const {
    engine_.each_segment(length(i),
                         [&](int64_t part, int64_t, int64_t, int64_t l) { delta[part] = data_.outside[l] ? 0 : 1; });
    double c0 = 0;
    for (int64_t k = gold_begin_[i]; k < gold_begin_[i + 1]; ++k) {
      double& of = delta[gold_[k]];
      c0 += of;
      of = -of;
    }
    return c0;
  }

  void check_feasible() const {
    std::vector<double> theta;
    Scratch scratch;
    Output y;
    for (int64_t i = 0; i < size(); ++i) {
      theta.assign(parts(i), 0.0);
      forbid(i, theta.data());
      const Scratch::Frame frame(scratch);
      if (argmax(i, theta.data(), y, scratch) == -kInfinity)
        throw InputError("example " + std::to_string(i) + ": the constraints forbid every segmentation.");
      if (!has_gold()) continue;
      gold(i, 0, y);
      for (const int32_t part : y)
        if (theta[part] == -kInfinity)
          throw InputError("example " + std::to_string(i) + ": the constraints forbid its own tags.");
    }
  }

  Segmentations engine_;
  SegmentTags tags_;
  Data data_;
  std::vector<int64_t> gold_begin_;
  std::vector<int32_t> gold_;  // the segments of the gold outputs
  std::vector<Paths> good_;    // the good outputs, if there are alternatives
};

}  // namespace margrave
