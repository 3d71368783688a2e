// Segmentations of a sequence with several correct ones: spans of the gold output may be replaced by alternatives.
//
// The gold output has spans: its segments other than those with an outside label. A segmentation is good if each of its
// spans is a gold span or an alternative, and if each gold span is found: it is a segment itself, or overlaps an
// alternative that is. Alternatives can be combined freely, so good outputs are not listed.
//
// Whether an output is good can be decided from left to right, with one bit at each boundary between tokens: whether
// the gold span across it, if any, has been found so far. An alternative that ends before the boundary does not affect
// spans that begin after it. Spans that end before it must have been found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engines/paths.h"
#include "engines/segments.h"
#include "protocol/checks.h"

namespace margrave {

class GoodSegments {
 public:
  using Segment = Segments::Segment;

  // right: the segments of the gold output, in order. outside (labels): labels whose segments are not spans, and have
  // one token. pair(s): where the parts of the pairs of labels at boundary s begin.
  template <typename Pair>
  GoodSegments(const Segments& segments, const std::vector<uint8_t>& outside, int64_t n,
               const std::vector<Segment>& right, const std::vector<Segment>& alternatives, const Pair& pair)
      : segments_(segments), outside_(outside), n_(n), across_(n + 1, 0), ends_(n + 1, 0) {
    for (int64_t s = 0; s <= n; ++s) pairs_.push_back(s > 0 && s < n ? pair(s) : 0);
    for (const Segment& each : right) {
      if (outside_[each.label]) continue;
      add(each);
      ends_[each.end] = 1;
      for (int64_t t = each.start + 1; t < each.end; ++t) across_[t] = 1;
    }
    for (const Segment& each : alternatives) {
      if (outside_[each.label]) throw InputError("an alternative must be a span.");
      if (each.start < 0 || each.end > n || each.end <= each.start ||
          each.end - each.start > segments_.longest(each.label))
        throw InputError("an alternative from " + std::to_string(each.start) + " to " + std::to_string(each.end) +
                         " is not a segment of " + std::to_string(n) + " tokens.");
      add(each);
    }
    for (int64_t l = 0; l < segments_.labels(); ++l)
      for (int64_t t = 0; outside_[l] && t < n; ++t) add({t, t + 1, l});
    std::sort(parts_.begin(), parts_.end());
    parts_.erase(std::unique(parts_.begin(), parts_.end()), parts_.end());
  }

  // The good outputs as paths, or all others. Good ones need only the nodes and edges of good segments.
  Paths paths(bool good) const {
    Builder build{*this, good, {}, {}, {}};
    if (build.last() >= std::numeric_limits<int32_t>::max())
      throw InputError("a sequence of " + std::to_string(n_) + " tokens with alternatives is too long: split it.");
    for (int64_t t = 0; t <= n_; ++t) {
      if (t > 0) build.segments_to(t);
      if (t < n_) build.labels_at(t);
    }
    build.ends();
    return Paths(build.last() + 1, std::move(build.tails), std::move(build.heads), std::move(build.parts)).trimmed();
  }

 private:
  // The gold span across the boundary has not been found, or there is none; it has been found; or the output is already
  // wrong.
  enum State : int32_t { kOpen, kFound, kWrong, kStates };

  int64_t part_of(const Segment& of) const { return segments_.first(of.end, of.label) + of.end - of.start - 1; }
  void add(const Segment& segment) { parts_.push_back(static_cast<int32_t>(part_of(segment))); }
  bool is_right(int64_t part) const {
    return std::binary_search(parts_.begin(), parts_.end(), static_cast<int32_t>(part));
  }

  State step(State before, const Segment& segment, int64_t part) const {
    if (before == kWrong || !is_right(part)) return kWrong;
    // A span finds all gold spans that it overlaps: those that end inside it, and the one across its end.
    if (!outside_[segment.label]) return across_[segment.end] ? kFound : kOpen;
    const bool found = before == kFound;
    if (ends_[segment.end]) return found ? kOpen : kWrong;
    return across_[segment.end] && found ? kFound : kOpen;
  }

  // The states of semi_markov.h combined with the states above: in(e, l), then begin(e, l), by position.
  struct Builder {
    const GoodSegments& of;
    bool good;
    std::vector<int32_t> tails, heads, parts;

    int64_t L() const { return of.segments_.labels(); }
    int64_t in(int64_t e, int64_t l, int64_t state) const { return 1 + (2 * e * L() + l) * kStates + state; }
    int64_t begin(int64_t s, int64_t l, int64_t state) const { return in(s, L() + l, state); }
    int64_t last() const { return in(of.n_ + 1, 0, 0); }

    void add(int64_t tail, int64_t head, int64_t part) {
      tails.push_back(static_cast<int32_t>(tail));
      heads.push_back(static_cast<int32_t>(head));
      parts.push_back(static_cast<int32_t>(part));
    }
    // All segments that end at e; for good outputs, only the good ones.
    void segments_to(int64_t e) {
      std::vector<std::pair<int64_t, int64_t>> arriving[kStates];  // by state: the node before, and the part
      for (int64_t l = 0; l < L(); ++l) {
        for (auto& each : arriving) each.clear();
        for (int64_t m = 1; m <= of.segments_.lengths(e, l); ++m) {
          const int64_t part = of.segments_.first(e, l) + m - 1;
          if (good && !of.is_right(part)) continue;
          for (const State before : {kOpen, kFound, kWrong}) {
            if (good && before == kWrong) continue;
            arriving[of.step(before, {e - m, e, l}, part)].emplace_back(begin(e - m, l, before), part);
          }
        }
        for (int64_t state = 0; state < kStates; ++state)
          for (const auto& [tail, part] : arriving[state]) add(tail, in(e, l, state), part);
      }
    }
    void labels_at(int64_t s) {
      for (int64_t l = 0; l < L(); ++l)
        for (int64_t state = 0; state < kStates; ++state) {
          if (s == 0 && state == kOpen) add(0, begin(0, l, state), -1);
          for (int64_t k = 0; s > 0 && k < L(); ++k)
            add(in(s, k, state), begin(s, l, state), of.pairs_[s] + k * L() + l);
        }
    }
    void ends() {
      for (int64_t l = 0; l < L(); ++l)
        for (const State state : {kOpen, kFound, kWrong})
          if ((state == kWrong) != good) add(in(of.n_, l, state), last(), -1);
    }
  };

  const Segments& segments_;
  const std::vector<uint8_t>& outside_;
  int64_t n_;
  std::vector<int32_t> parts_;   // the segments that good outputs may have, sorted
  std::vector<uint8_t> across_;  // (n + 1): whether a gold span crosses the boundary
  std::vector<uint8_t> ends_;    // (n + 1): whether a gold span ends there
  std::vector<int64_t> pairs_;   // (n + 1): where the pairs of labels at the boundary begin
};

}  // namespace margrave
