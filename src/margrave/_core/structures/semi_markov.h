// Labeled segmentations (semi-Markov chains; Sarawagi and Cohen 2004). The parts of a sequence of n tokens are its
// segments (structures/segments.h), then the pairs of neighboring labels: once for the whole sequence (tied), or once
// for each boundary between two tokens (untied).
//
// A segmentation is a path through two kinds of states. in(e, l): a segment of label l ends at e; begin(s, l): one
// begins at s. Pairs of labels lead from in(s, k) to begin(s, l), and segments from begin(s, l) to in(e, l). Every
// operation therefore takes n (labels^2 + sum of the longest lengths) steps.
//
// Where spans have alternatives, several outputs are good (structures/good_segments.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/hypergraph.h"
#include "engines/lazy_kbest.h"
#include "protocol/good_outputs.h"
#include "simd/loops.h"
#include "structures/good_segments.h"
#include "structures/label_cost.h"
#include "structures/segments.h"

namespace margrave {

class SemiMarkovStructure final : public Structure, public GoodInference {
 public:
  // begin (examples + 1): where the tokens of each example begin. gold: one tag per token, or empty. cost: the cost of
  // tags, or null. of_segments: the cost of an output is the number of its segments that are wrong, plus the number of
  // right ones that it lacks; segments of the labels that are `outside` of spans do not count. allowed: (tokens, tags),
  // or empty. alternatives: those of each example, or empty; then good outputs cost nothing.
  struct Data {
    std::vector<int64_t> begin;
    std::vector<int32_t> gold;
    std::shared_ptr<const LabelCost> cost;
    bool of_segments = false;
    std::vector<uint8_t> outside;
    std::vector<uint8_t> allowed;
    std::vector<std::vector<Segments::Segment>> alternatives;
  };

  SemiMarkovStructure(Segments segments, SegmentTags tags, Data data, bool tied)
      : segments_(std::move(segments)), tags_(std::move(tags)), data_(std::move(data)), tied_(tied) {
    tags_.check(segments_);
    const std::vector<int64_t>& begin = data_.begin;
    if (begin.empty() || begin.front() != 0) throw InputError("token bounds must begin with 0.");
    for (size_t i = 1; i < begin.size(); ++i)
      if (begin[i] <= begin[i - 1]) throw InputError("example " + std::to_string(i - 1) + " has no tokens.");
    const auto tokens = static_cast<size_t>(begin.back());
    if (!data_.gold.empty() && data_.gold.size() != tokens) throw InputError("there must be one gold tag per token.");
    if (data_.cost && data_.cost->labels() != tags_.tags)
      throw InputError("there are " + std::to_string(tags_.tags) + " tags, and costs of " +
                       std::to_string(data_.cost->labels()) + ".");
    if (data_.outside.size() != static_cast<size_t>(labels())) throw InputError("every label needs its flag.");
    for (int64_t l = 0; l < labels(); ++l)
      if (data_.outside[l] && segments_.longest(l) != 1)
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

  const Segments& segments() const { return segments_; }
  const SegmentTags& tags() const { return tags_; }
  bool tied() const { return tied_; }
  int64_t labels() const { return segments_.labels(); }
  int64_t length(int64_t i) const { return data_.begin[i + 1] - data_.begin[i]; }

  int64_t size() const override { return static_cast<int64_t>(data_.begin.size()) - 1; }
  int64_t parts(int64_t i) const override { return segments_.count(length(i)) + tables(length(i)) * pairs(); }
  int64_t columns() const override { return tags_.tags; }
  int64_t repeats(int64_t i) const override { return tied_ ? std::max<int64_t>(length(i) - 1, 1) : 1; }
  unsigned offers() const override {
    return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample | (tied_ ? 0u : kUntied | kEntropy);
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
    add_pairs(length(i), y);
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

  // Whether there are alternatives, so that the problem can be asked for its good outputs alone.
  bool divided() const { return !data_.alternatives.empty(); }
  double argmax_among(bool good, int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    if (good) return good_paths(i).argmax(theta, y, scratch);
    return good_segments(i).paths(false).argmax(theta, y, scratch);
  }
  double logsum_among(bool good, int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    if (good) return good_paths(i).logsum(theta, parts(i), mu, scratch);
    return good_segments(i).paths(false).logsum(theta, parts(i), mu, scratch);
  }
  // The parts that good outputs have, sorted, each once.
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
  // (tokens, tags): which tags the tokens have in good outputs.
  std::vector<uint8_t> good_tags(int64_t i) const {
    std::vector<uint8_t> flags(length(i) * tags_.tags, 0);
    const int64_t count = segments_.count(length(i));
    for (const int32_t part : good_parts(i)) {
      if (part >= count) break;
      const Segments::Segment segment = segments_.segment(part);
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
      for (int32_t tag = 0; divided() && tag < tags_.tags; ++tag) {  // a tag costs what it costs beside the nearest
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
    each_segment(n, [&](int64_t part, int64_t s, int64_t e, int64_t l) {
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
        double* of = theta + segments_.first(e, l);
        for (int64_t m = 1; m <= segments_.lengths(e, l); ++m) {
          const int64_t s = e - m;
          if (!allowed[s * tags_.tags + tags_.first[l]] || last[l] > s) of[m - 1] = -kInfinity;
        }
      }
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    const int64_t n = length(i);
    const Best best = viterbi(n, theta, scratch);
    y.clear();
    const int64_t last = std::max_element(best.in_at(n), best.in_at(n) + labels()) - best.in_at(n);
    if (best.in_at(n)[last] == -kInfinity) return -kInfinity;
    int64_t l = last;
    for (int64_t e = n; e > 0;) {
      const auto m = static_cast<int64_t>(best.length[e * labels() + l]);
      y.push_back(static_cast<int32_t>(segments_.first(e, l) + m - 1));
      e -= m;
      if (e > 0) l = static_cast<int64_t>(best.before[e * labels() + l]);
    }
    finish(n, y);
    return best.in_at(n)[last];
  }

  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    double log_z = 0;
    if (scaled(i, theta, mu, &log_z, scratch)) return log_z;
    return log_space(i, theta, mu, scratch);
  }

  // The best output at each cost, in tables with one entry per cost.
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch& scratch) const override {
    const int64_t n = length(i);
    const int64_t L = labels();
    const std::vector<int64_t> costs = whole_costs(delta, parts(i));
    ys.clear();
    const auto [low, high] = cost_range(n, theta, delta, scratch);
    if (low > high) return;  // everything is forbidden
    // Costs of prefixes lie between the sums of the smallest and of the largest costs, which both begin at 0.
    const int64_t floor = std::min<int64_t>(low, 0);
    const int64_t width = std::max<int64_t>(high, 0) - floor + 1;
    if (width > kMostCells / (2 * (n + 1) * L))
      throw InputError("argmax_by_cost would need tables of more than " + std::to_string(kMostCells) +
                       " entries for example " + std::to_string(i) + ": use smaller costs.");
    const auto size = (n + 1) * L * width;
    std::vector<double> in(size, -kInfinity), begin(size, -kInfinity);
    const auto cell = [&](int64_t t, int64_t l) { return static_cast<size_t>((t * L + l) * width); };
    const auto raise = [&](double* to, const double* from, int64_t paid, double score) {
      if (score == -kInfinity) return;
      for (int64_t c = std::max<int64_t>(0, -paid); c < width - std::max<int64_t>(0, paid); ++c)
        to[c + paid] = std::max(to[c + paid], from[c] + score);
    };
    for (int64_t l = 0; l < L; ++l) begin[cell(0, l) + static_cast<size_t>(-floor)] = 0;
    for (int64_t e = 1; e <= n; ++e) {
      for (int64_t l = 0; l < L; ++l)
        for (int64_t m = 1; m <= segments_.lengths(e, l); ++m) {
          const int64_t part = segments_.first(e, l) + m - 1;
          raise(&in[cell(e, l)], &begin[cell(e - m, l)], costs[part], theta[part]);
        }
      for (int64_t q = 0; e < n && q < pairs(); ++q) {
        const int64_t part = table(n, e) + q;
        raise(&begin[cell(e, q % L)], &in[cell(e, q / L)], costs[part], theta[part]);
      }
    }
    for (int64_t c = 0; c < width; ++c) {
      int64_t l = 0;
      for (int64_t k = 1; k < L; ++k)
        if (in[cell(n, k) + static_cast<size_t>(c)] > in[cell(n, l) + static_cast<size_t>(c)]) l = k;
      const double value = in[cell(n, l) + static_cast<size_t>(c)];
      if (value == -kInfinity) continue;
      CostedOutput found{c + floor, value, {}};
      int64_t left = c;
      for (int64_t e = n; e > 0;) {
        const double here = in[cell(e, l) + static_cast<size_t>(left)];
        for (int64_t m = 1;; ++m) {
          const int64_t part = segments_.first(e, l) + m - 1;
          const int64_t from = left - costs[part];
          if (theta[part] == -kInfinity || from < 0 || from >= width) continue;
          if (begin[cell(e - m, l) + static_cast<size_t>(from)] + theta[part] != here) continue;
          found.y.push_back(static_cast<int32_t>(part));
          e -= m;
          left = from;
          break;
        }
        if (e == 0) break;
        const double there = begin[cell(e, l) + static_cast<size_t>(left)];
        for (int64_t k = 0;; ++k) {
          const int64_t part = table(n, e) + k * L + l;
          const int64_t from = left - costs[part];
          if (theta[part] == -kInfinity || from < 0 || from >= width) continue;
          if (in[cell(e, k) + static_cast<size_t>(from)] + theta[part] != there) continue;
          l = k;
          left = from;
          break;
        }
      }
      finish(n, found.y);
      ys.push_back(std::move(found));
    }
  }

  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    const int64_t n = length(i);
    const Ranked ranked{*this, n, theta, viterbi(n, theta, scratch)};
    ys.clear();
    if (ranked.best(ranked.goal()) == -kInfinity) return;
    LazyKbest<Ranked> lazy(ranked);
    for (int64_t rank = 0; rank < k && lazy.request(ranked.goal(), rank); ++rank) {
      ys.push_back({lazy.value(ranked.goal(), rank), {}});
      lazy.each_edge(ranked.goal(), rank, [&](int64_t edge) {
        const int64_t part = ranked.segment_of(edge);
        if (part >= 0) ys.back().y.push_back(static_cast<int32_t>(part));
      });
      finish(n, ys.back().y);
    }
  }

  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<Output> ys(1);
    sample_many(i, theta, random, ys, scratch);
    y = std::move(ys[0]);
  }

  // Forwards once, then backwards for every draw.
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                   Scratch& scratch) const override {
    const int64_t n = length(i);
    const int64_t L = labels();
    const Prefixes prefixes = log_forward(n, theta, scratch);
    const double log_z = log_sum(prefixes.in + n * L, L);
    if (log_z == -kInfinity) throw InputError("every output is forbidden.");
    std::vector<double> weights;
    for (Output& y : ys) {
      y.clear();
      weights.assign(L, 0.0);
      for (int64_t l = 0; l < L; ++l) weights[l] = std::exp(prefixes.in[n * L + l] - log_z);
      int64_t l = random.choose(weights.data(), L);
      for (int64_t e = n; e > 0;) {
        const int64_t first = segments_.first(e, l);
        const int64_t lengths = segments_.lengths(e, l);
        weights.assign(lengths, 0.0);
        for (int64_t m = 1; m <= lengths; ++m)
          weights[m - 1] = std::exp(prefixes.begin[(e - m) * L + l] + theta[first + m - 1] - prefixes.in[e * L + l]);
        const int64_t m = random.choose(weights.data(), lengths) + 1;
        y.push_back(static_cast<int32_t>(first + m - 1));
        e -= m;
        if (e == 0) break;
        weights.assign(L, 0.0);
        for (int64_t k = 0; k < L; ++k)
          weights[k] = std::exp(prefixes.in[e * L + k] + theta[table(n, e) + k * L + l] - prefixes.begin[e * L + l]);
        l = random.choose(weights.data(), L);
      }
      finish(n, y);
    }
  }

  // A path is Markov in the states that it passes; t are the logs of the conditionals of its steps.
  double entropy(int64_t i, const double* mu, double* t, Scratch&) const override {
    if (tied_) return unsupported("entropy (it needs neighbor parts per boundary)"), 0.0;
    const int64_t n = length(i);
    const int64_t L = labels();
    std::vector<double> begin(n * L, 0.0), in((n + 1) * L, 0.0);
    each_segment(n, [&](int64_t part, int64_t s, int64_t e, int64_t l) {
      begin[s * L + l] += mu[part];
      in[e * L + l] += mu[part];
    });
    double sum = 0;
    const auto step = [&](int64_t part, double from) {
      t[part] = mu[part] > 0 ? std::log(mu[part] / from) : -kInfinity;
      if (mu[part] > 0) sum -= mu[part] * t[part];
    };
    each_segment(n, [&](int64_t part, int64_t s, int64_t, int64_t l) { step(part, s > 0 ? begin[s * L + l] : 1.0); });
    for (int64_t s = 1; s < n; ++s)
      for (int64_t q = 0; q < pairs(); ++q) step(table(n, s) + q, in[s * L + q / L]);
    return sum;
  }

  // The tags of the tokens of an output, from its segments, which come first.
  void tags_of(int64_t i, const int32_t* parts, int64_t count, int32_t* tags) const {
    const int64_t n = length(i);
    const int64_t segments = segments_.count(n);
    int64_t done = 0;
    for (int64_t k = 0; k < count && done < n; ++k) {
      if (parts[k] < 0 || parts[k] >= segments) throw InputError("a part of an output is not a segment.");
      const Segments::Segment segment = segments_.segment(parts[k]);
      if (segment.start != done) throw InputError("the segments of an output do not follow one another.");
      tags[done] = tags_.first[segment.label];
      std::fill(tags + done + 1, tags + segment.end, tags_.inside[segment.label]);
      done = segment.end;
    }
    if (done < n) throw InputError("the segments of an output do not cover its tokens.");
  }

  // The marginals (tokens, tags) of tags, from those of parts.
  void tag_marginals(int64_t i, const double* mu, double* of_tags) const {
    spread_to_tags(segments_, tags_, length(i), mu, of_tags);
  }

  // of_tags (n, tags): the sums of the values of the segments in which a token has a tag.
  static void spread_to_tags(const Segments& segments, const SegmentTags& tags, int64_t n, const double* values,
                             double* of_tags) {
    const int64_t K = tags.tags;
    std::fill(of_tags, of_tags + n * K, 0.0);
    for (int64_t l = 0; l < segments.labels(); ++l) {
      double* first = of_tags + tags.first[l];
      double* inside = tags.inside[l] < 0 ? nullptr : of_tags + tags.inside[l];
      for (int64_t e = 1; e <= n; ++e) {
        const double* of = values + segments.first(e, l);
        const int64_t lengths = segments.lengths(e, l);
        double ended = 0;
        for (int64_t m = 1; m <= lengths; ++m) {
          first[(e - m) * K] += of[m - 1];
          ended += of[m - 1];
        }
        if (inside && e < n) inside[e * K] = ended;  // for now, the sum of the segments that end here
      }
      if (!inside) continue;
      double open = 0;  // segments that began before t and have not ended at t
      for (int64_t t = 1; t < n; ++t) {
        open += first[(t - 1) * K] - inside[t * K];
        inside[t * K] = open;
      }
    }
  }

 private:
  static constexpr int64_t kMostCells = 200'000'000;

  void check_gold() const {
    if (!has_gold()) throw InputError("this problem was bound without gold outputs.");
  }
  int64_t pairs() const { return labels() * labels(); }
  int64_t tables(int64_t n) const { return tied_ ? 1 : n - 1; }
  // The pairs of neighboring labels at the boundary s of n tokens, from left to right label by label.
  int64_t table(int64_t n, int64_t s) const { return segments_.count(n) + (tied_ ? 0 : (s - 1) * pairs()); }

  template <typename Visit>
  void each_segment(int64_t n, const Visit& visit) const {
    for (int64_t e = 1; e <= n; ++e)
      for (int64_t l = 0; l < labels(); ++l)
        for (int64_t m = 1; m <= segments_.lengths(e, l); ++m) visit(segments_.first(e, l) + m - 1, e - m, e, l);
  }

  // Segments from the last to the first become an output: in order, and with the pairs of neighbors behind them.
  void finish(int64_t n, Output& y) const {
    std::sort(y.begin(), y.end());
    add_pairs(n, y);
  }
  void add_pairs(int64_t n, Output& y) const {
    const size_t count = y.size();
    if (count == 0) return;
    Segments::Segment before = segments_.segment(y[0]);
    for (size_t k = 1; k < count; ++k) {
      const Segments::Segment after = segments_.segment(y[k]);
      y.push_back(static_cast<int32_t>(table(n, after.start) + before.label * labels() + after.label));
      before = after;
    }
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
        if (t + 1 - start > segments_.longest(l))
          throw InputError("example " + std::to_string(i) + ", position " + std::to_string(start) + ": a segment of " +
                           std::to_string(t + 1 - start) + " tokens, and those of its label have at most " +
                           std::to_string(segments_.longest(l)) + ".");
        gold_.push_back(static_cast<int32_t>(segments_.first(t + 1, l) + t - start));
      }
      gold_begin_.push_back(static_cast<int64_t>(gold_.size()));
    }
  }

  void read_alternatives() {
    check_gold();
    if (static_cast<int64_t>(data_.alternatives.size()) != size())
      throw InputError("there must be a list of alternatives for every example.");
    if (constrained()) throw InputError("alternatives and allowed tags cannot be combined.");
    if (data_.of_segments) throw InputError("the cost by segments needs a single right output.");
    for (int64_t i = 0; i < size(); ++i) good_.push_back(good_segments(i).paths(true));
  }
  GoodSegments good_segments(int64_t i) const {
    if (!divided()) throw InputError("this problem was bound without alternatives.");
    std::vector<Segments::Segment> right;
    for (int64_t k = gold_begin_[i]; k < gold_begin_[i + 1]; ++k) right.push_back(segments_.segment(gold_[k]));
    const int64_t n = length(i);
    return GoodSegments(segments_, data_.outside, n, right, data_.alternatives[i],
                        [&](int64_t s) { return table(n, s); });
  }
  const Paths& good_paths(int64_t i) const {
    if (!divided()) throw InputError("this problem was bound without alternatives.");
    return good_[i];
  }

  double cost_of_segments(int64_t i, double* delta) const {
    each_segment(length(i), [&](int64_t part, int64_t, int64_t, int64_t l) { delta[part] = data_.outside[l] ? 0 : 1; });
    double c0 = 0;
    for (int64_t k = gold_begin_[i]; k < gold_begin_[i + 1]; ++k) {
      double& of = delta[gold_[k]];
      c0 += of;
      of = -of;
    }
    return c0;
  }

  // The best prefixes, and how each is reached: the length of its last segment, and the label before.
  struct Best {
    int64_t labels;
    double* in;      // (n + 1, labels)
    double* begin;   // (n + 1, labels)
    double* length;  // of in
    double* before;  // of begin
    const double* in_at(int64_t e) const { return in + e * labels; }
  };
  Best viterbi(int64_t n, const double* theta, Scratch& scratch) const {
    const int64_t L = labels();
    double* room = scratch.take(4 * (n + 1) * L);
    const int64_t size = (n + 1) * L;
    const Best best{L, room, room + size, room + 2 * size, room + 3 * size};
    std::fill(best.begin, best.begin + L, 0.0);
    std::fill(best.in, best.in + L, -kInfinity);
    for (int64_t e = 1; e <= n; ++e) {
      for (int64_t l = 0; l < L; ++l) {
        const double* of = theta + segments_.first(e, l);
        const double* begin = best.begin + e * L + l;
        const int64_t lengths = segments_.lengths(e, l);
        double top = -kInfinity;
        int64_t choice = 1;
        for (int64_t m = 1; m <= lengths; ++m) {
          const double here = begin[-m * L] + of[m - 1];
          if (here > top) {
            top = here;
            choice = m;
          }
        }
        best.in[e * L + l] = top;
        best.length[e * L + l] = static_cast<double>(choice);
      }
      if (e == n) break;
      const double* of = theta + table(n, e);
      double* begin = best.begin + e * L;
      double* before = best.before + e * L;
      std::fill(begin, begin + L, -kInfinity);
      std::fill(before, before + L, 0.0);
      for (int64_t k = 0; k < L; ++k)
        for (int64_t l = 0; l < L; ++l) {
          const double here = best.in[e * L + k] + of[k * L + l];
          if (here > begin[l]) {
            begin[l] = here;
            before[l] = static_cast<double>(k);
          }
        }
    }
    return best;
  }

  // The states as nodes of a graph with edges from prefixes, for LazyKbest: in(e, l) has one edge per length, begin(s,
  // l) one per label before, and the goal one per last label.
  struct Ranked {
    const SemiMarkovStructure& of;
    int64_t n;
    const double* theta;
    Best found;

    int64_t L() const { return of.labels(); }
    int64_t width() const { return std::max(of.segments_.most(), L()); }
    int64_t nodes() const { return 2 * (n + 1) * L() + 1; }
    int64_t goal() const { return nodes() - 1; }
    int64_t in(int64_t e, int64_t l) const { return 2 * (e * L() + l); }
    int64_t begin(int64_t s, int64_t l) const { return 2 * (s * L() + l) + 1; }
    double best(int64_t v) const {
      if (v == goal()) return *std::max_element(found.in_at(n), found.in_at(n) + L());
      return v % 2 == 0 ? found.in[v / 2] : found.begin[v / 2];
    }
    int64_t best_edge(int64_t v) const {
      if (v == goal()) return v * width() + (std::max_element(found.in_at(n), found.in_at(n) + L()) - found.in_at(n));
      if (v % 2 == 0) return v * width() + static_cast<int64_t>(found.length[v / 2]) - 1;
      return v * width() + (v / 2 < L() ? 0 : static_cast<int64_t>(found.before[v / 2]));
    }
    template <class Visit>
    void each_edge(int64_t v, const Visit& visit) const {
      int64_t edges = L();
      if (v != goal() && v % 2 == 0) edges = of.segments_.lengths(v / 2 / L(), v / 2 % L());
      if (v != goal() && v % 2 == 1 && v / 2 < L()) edges = 1;  // at the beginning there is no label before
      for (int64_t j = 0; j < edges; ++j) visit(v * width() + j);
    }
    int64_t tail_count(int64_t edge) const {
      const int64_t v = edge / width();
      return v != goal() && v % 2 == 1 && v / 2 < L() ? 0 : 1;
    }
    int64_t tail(int64_t edge, int64_t) const {
      const int64_t v = edge / width();
      const int64_t j = edge % width();
      if (v == goal()) return in(n, j);
      const int64_t t = v / 2 / L();
      return v % 2 == 0 ? begin(t - j - 1, v / 2 % L()) : in(t, j);
    }
    double score(int64_t edge) const {
      const int64_t v = edge / width();
      if (v == goal() || tail_count(edge) == 0) return 0;
      if (v % 2 == 0) return theta[segment_of(edge)];
      return theta[of.table(n, v / 2 / L()) + edge % width() * L() + v / 2 % L()];
    }
    int64_t segment_of(int64_t edge) const {
      const int64_t v = edge / width();
      if (v == goal() || v % 2 == 1) return -1;
      return of.segments_.first(v / 2 / L(), v / 2 % L()) + edge % width();
    }
  };

  // The lowest and the highest cost of an output that is not forbidden, and of its prefixes; low > high if there is
  // none.
  std::pair<int64_t, int64_t> cost_range(int64_t n, const double* theta, const double* delta, Scratch& scratch) const {
    const int64_t count = segments_.count(n) + tables(n) * pairs();
    double* costs = scratch.take(count);
    double bounds[2];
    for (const int side : {0, 1}) {
      for (int64_t k = 0; k < count; ++k)
        costs[k] = theta[k] == -kInfinity ? -kInfinity : side == 0 ? -delta[k] : delta[k];
      const Scratch::Frame frame(scratch);
      const Best best = viterbi(n, costs, scratch);
      if (*std::max_element(best.in_at(n), best.in_at(n) + labels()) == -kInfinity) return {1, 0};
      double top = 0;
      for (int64_t k = 0; k < (n + 1) * labels(); ++k) top = std::max(top, best.in[k]);
      for (int64_t k = 0; k < n * labels(); ++k) top = std::max(top, best.begin[k]);
      bounds[side] = top;
    }
    return {-static_cast<int64_t>(bounds[0]), static_cast<int64_t>(bounds[1])};
  }

  static double log_sum(const double* x, int64_t n) {
    const double top = *std::max_element(x, x + n);
    if (top == -kInfinity) return top;
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += std::exp(x[k] - top);
    return top + std::log(sum);
  }

  // The log sums of all prefixes: in (n + 1, labels), begin (n, labels).
  struct Prefixes {
    double* in;
    double* begin;
  };
  Prefixes log_forward(int64_t n, const double* theta, Scratch& scratch) const {
    const int64_t L = labels();
    const Prefixes sums{scratch.take((n + 1) * L), scratch.take((n + 1) * L)};
    double* terms = scratch.take(std::max(segments_.most(), L));
    std::fill(sums.begin, sums.begin + L, 0.0);
    for (int64_t e = 1; e <= n; ++e) {
      for (int64_t l = 0; l < L; ++l) {
        const double* of = theta + segments_.first(e, l);
        const int64_t lengths = segments_.lengths(e, l);
        for (int64_t m = 1; m <= lengths; ++m) terms[m - 1] = sums.begin[(e - m) * L + l] + of[m - 1];
        sums.in[e * L + l] = log_sum(terms, lengths);
      }
      for (int64_t l = 0; e < n && l < L; ++l) {
        const double* of = theta + table(n, e);
        for (int64_t k = 0; k < L; ++k) terms[k] = sums.in[e * L + k] + of[k * L + l];
        sums.begin[e * L + l] = log_sum(terms, L);
      }
    }
    return sums;
  }

  // Forward-backward in log space: exact for any scores.
  double log_space(int64_t i, const double* theta, double* mu, Scratch& scratch) const {
    const int64_t n = length(i);
    const int64_t L = labels();
    std::fill(mu, mu + parts(i), 0.0);
    const Prefixes prefixes = log_forward(n, theta, scratch);
    const double log_z = log_sum(prefixes.in + n * L, L);
    if (log_z == -kInfinity) return log_z;
    // after (n + 1, labels): what follows a segment that ends at e; start (n + 1, labels): what follows begin(s, l)
    double* after = scratch.take((n + 1) * L);
    double* start = scratch.take((n + 1) * L);
    std::fill(start, start + (n + 1) * L, -kInfinity);
    std::fill(after + n * L, after + (n + 1) * L, 0.0);
    for (int64_t e = n; e > 0; --e) {
      if (e < n) {
        const double* of = theta + table(n, e);
        double* mu_of = mu + table(n, e);
        for (int64_t k = 0; k < L; ++k) {
          double sum = -kInfinity;
          for (int64_t l = 0; l < L; ++l) {
            const double rest = of[k * L + l] + start[e * L + l];
            if (rest == -kInfinity) continue;
            sum = log_add(sum, rest);
            mu_of[k * L + l] += std::exp(prefixes.in[e * L + k] + rest - log_z);
          }
          after[e * L + k] = sum;
        }
      }
      for (int64_t l = 0; l < L; ++l) {
        const int64_t first = segments_.first(e, l);
        for (int64_t m = 1; m <= segments_.lengths(e, l); ++m) {
          const double rest = theta[first + m - 1] + after[e * L + l];
          if (rest == -kInfinity) continue;
          double& sum = start[(e - m) * L + l];
          sum = log_add(sum, rest);
          mu[first + m - 1] = std::exp(prefixes.begin[(e - m) * L + l] + rest - log_z);
        }
      }
    }
    return log_z;
  }

  // Forward-backward in scaled probability space. Every token is in one segment of an output, so that subtracting c_t
  // for each token t of a segment changes all outputs alike; c_t is the best score of a segment of this token alone.
  // in(e, .) is divided by its sum, total(e); begin(s, .) is in the scale of s, so that a segment from s to e is
  // multiplied by 1 / (total(s + 1) ... total(e - 1)). False when a value leaves the range where this is exact: then
  // the example is repeated in log space. Backwards, values are bounded by one over those of the forward pass, and
  // whatever underflows there belongs to a marginal that does, too.
  bool scaled(int64_t i, const double* theta, double* mu, double* log_z, Scratch& scratch) const {
    const int64_t n = length(i);
    const int64_t L = labels();
    const int64_t count = segments_.count(n);
    const int64_t most = std::min(segments_.most(), n);
    // Scores less c_t (in the memory of mu), and their exponentials.
    double* sums = scratch.take(n + 1);  // of c_t over the tokens before
    sums[0] = 0;
    for (int64_t e = 1; e <= n; ++e) {
      double top = -kInfinity;
      for (int64_t l = 0; l < L; ++l) top = std::max(top, theta[segments_.first(e, l)]);
      sums[e] = sums[e - 1] + (top == -kInfinity ? 0.0 : top);
    }
    for (int64_t e = 1; e <= n; ++e) {
      const double* from = sums + e;
      for (int64_t l = 0; l < L; ++l) {
        const int64_t first = segments_.first(e, l);
        const int64_t lengths = segments_.lengths(e, l);
        for (int64_t m = 1; m <= lengths; ++m) mu[first + m - 1] = theta[first + m - 1] - (*from - from[-m]);
      }
    }
    ChainTable weights{scratch.take(count), nullptr, 0, 0, false};
    loops().exp_range(count, mu, &weights);
    double* x = weights.forward;
    ChainTable moves{scratch.take(std::max<int64_t>(tables(n), 1) * pairs()), nullptr, 0, 0, false};
    if (n > 1) {
      loops().exp_range(tables(n) * pairs(), theta + count, &moves);
      if (moves.top == -kInfinity) return false;
    }
    if (weights.top == -kInfinity || weights.range + moves.range > kScaledRange) return false;
    if (std::fabs(weights.top) > kLargestStep || std::fabs(weights.top + moves.top) > kLargestStep) return false;
    const double step = std::exp(weights.top + moves.top);  // each segment but the first takes it, with its pair

    // begin is stored by label and backwards, so that it lies in the order of lengths.
    double* in = scratch.take((n + 1) * L);
    double* begin = scratch.take(L * (n + 1));
    double* total = scratch.take(n + 1);
    double* scale = scratch.take(most + 1);  // by length: of a segment that ends at e
    double* row = scratch.take(L);
    std::fill(begin, begin + L * (n + 1), 0.0);
    for (int64_t l = 0; l < L; ++l) begin[l * (n + 1) + n] = std::exp(weights.top);
    std::fill(scale, scale + most + 1, 0.0);
    scale[1] = 1;
    double log_total = 0;
    for (int64_t e = 1; e <= n; ++e) {
      double sum = 0;
      for (int64_t l = 0; l < L; ++l) {
        double* of = x + segments_.first(e, l);
        const double* from = begin + l * (n + 1) + n - e;
        const int64_t lengths = segments_.lengths(e, l);
        double parts[2] = {0, 0};
        int64_t m = 1;
        for (; m + 1 <= lengths; m += 2)
          for (int64_t k = 0; k < 2; ++k) {
            of[m + k - 1] *= scale[m + k];
            parts[k] += of[m + k - 1] * from[m + k];
          }
        if (m <= lengths) {
          of[m - 1] *= scale[m];
          parts[0] += of[m - 1] * from[m];
        }
        in[e * L + l] = parts[0] + parts[1];
        sum += in[e * L + l];
      }
      if (!(sum > kSmallestTotal) || sum > kLargestTotal) return false;
      total[e] = sum;
      log_total += std::log(sum);
      for (int64_t l = 0; l < L; ++l) {
        double& of = in[e * L + l];
        of /= sum;
        if (of > 0 && of < kSmallestShare) return false;
      }
      if (e == n) break;
      for (int64_t m = most; m > 1; --m) {
        scale[m] = scale[m - 1] / sum;
        if (scale[m] != 0 && !(scale[m] > kSmallestTotal && scale[m] < kLargestTotal)) return false;
      }
      scale[1] = 1;
      const double* of = moves.forward + (tied_ ? 0 : (e - 1) * pairs());
      std::fill(row, row + L, 0.0);
      for (int64_t k = 0; k < L; ++k) {
        const double left = in[e * L + k] * step;
        for (int64_t l = 0; l < L; ++l) row[l] += left * of[k * L + l];
      }
      for (int64_t l = 0; l < L; ++l) {
        if (row[l] > 0 && row[l] < kSmallestShare) return false;
        begin[l * (n + 1) + n - e] = row[l];
      }
    }
    *log_z = log_total + sums[n];

    // start is stored like begin.
    double* start = scratch.take(L * (n + 1));
    double* after = scratch.take(L);
    std::fill(start, start + L * (n + 1), 0.0);
    std::fill(mu + count, mu + parts(i), 0.0);
    std::fill(after, after + L, 1.0);
    for (int64_t e = n; e > 0; --e) {
      if (e < n) {
        const double* of = moves.forward + (tied_ ? 0 : (e - 1) * pairs());
        double* mu_of = mu + table(n, e);
        for (int64_t l = 0; l < L; ++l) {
          const int64_t k = l * (n + 1) + n - e;
          row[l] = begin[k] > 0 ? start[k] : 0.0;
        }
        for (int64_t k = 0; k < L; ++k) {
          const double left = in[e * L + k];
          double sum = 0;
          for (int64_t l = 0; l < L; ++l) {
            mu_of[k * L + l] += left * row[l];
            sum += of[k * L + l] * row[l];
          }
          after[k] = left > 0 ? sum * step : 0.0;
        }
      }
      for (int64_t l = 0; l < L; ++l) {
        const int64_t first = segments_.first(e, l);
        const int64_t lengths = segments_.lengths(e, l);
        double* of = mu + first;
        const double right = after[l] / total[e];
        if (right == 0) {
          std::fill(of, of + lengths, 0.0);
          continue;
        }
        const double* weight = x + first;
        const double* from = begin + l * (n + 1) + n - e;
        double* to = start + l * (n + 1) + n - e;
        for (int64_t m = 1; m <= lengths; ++m) {
          const double rest = weight[m - 1] * right;
          of[m - 1] = from[m] * rest;
          to[m] += rest;
        }
      }
    }
    const int64_t all = n > 1 ? tables(n) * pairs() : 0;
    for (int64_t q = 0; q < all; ++q) mu[count + q] *= moves.forward[q] * step;
    return true;
  }

  // The limits of scaled space: of the sums of the segments that end at one position and the products of a few of them,
  // of the shares of labels in them, and of the logarithm that goes with each segment. The product of a share, a weight
  // (kScaledRange) and a scale does not underflow.
  static constexpr double kSmallestTotal = 1e-50;
  static constexpr double kLargestTotal = 1e50;
  static constexpr double kSmallestShare = 1e-150;
  static constexpr double kLargestStep = 100.0;

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

  Segments segments_;
  SegmentTags tags_;
  Data data_;
  bool tied_;
  std::vector<int64_t> gold_begin_;
  std::vector<int32_t> gold_;  // the segments of the gold outputs
  std::vector<Paths> good_;    // the good outputs, where there are alternatives
};

}  // namespace margrave
