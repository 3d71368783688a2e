// The numbering of labeled segments, for the structure of segmentations and its features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"

namespace margrave {

// Segments are numbered by end, then by label, then by length: (end, label, length) with a length of at most
// longest[label] and at most `end`. Spans, without labels, are numbered by end, then by length, up to the longest
// segment of any label.
class Segments {
 public:
  explicit Segments(std::vector<int32_t> longest) : longest_(std::move(longest)) {
    if (longest_.empty()) throw InputError("segments need at least one label.");
    for (const int32_t m : longest_) {
      if (m < 1 || m > kLongest)
        throw InputError("the longest segment of a label must have from 1 to " + std::to_string(kLongest) + " tokens.");
      most_ = std::max<int64_t>(most_, m);
      width_ += m;
    }
    checked_count(width_, "lengths of all labels");
    int64_t ended = 0;
    for (int64_t e = 0; e <= most_; ++e) {
      ended_.push_back(ended);
      for (int64_t l = 0; l < labels(); ++l) {
        within_.push_back(ended - ended_.back());
        ended += lengths(e, l);
      }
    }
  }

  int64_t labels() const { return static_cast<int64_t>(longest_.size()); }
  int64_t most() const { return most_; }  // the longest segment of any label
  int64_t longest(int64_t l) const { return longest_[l]; }
  // The number of possible lengths of a segment of label l that ends at e.
  int64_t lengths(int64_t e, int64_t l) const { return std::min<int64_t>(longest_[l], e); }

  // The number of segments that end before e.
  int64_t before(int64_t e) const { return e <= most_ ? ended_[e] : ended_.back() + (e - most_) * width_; }
  int64_t count(int64_t n) const { return before(n + 1); }
  // The first segment of label l that ends at e; they ascend in length, from 1.
  int64_t first(int64_t e, int64_t l) const { return before(e) + within_[std::min(e, most_) * labels() + l]; }

  // The number of spans that end before e.
  int64_t spans_before(int64_t e) const {
    return e <= most_ ? e * (e - 1) / 2 : most_ * (most_ - 1) / 2 + (e - most_) * most_;
  }
  int64_t spans(int64_t n) const { return spans_before(n + 1); }

  struct Segment {
    int64_t start;
    int64_t end;
    int64_t label;
  };
  // The segment with a number below count(n).
  Segment segment(int64_t part) const {
    int64_t e;
    if (part < ended_.back()) {
      e = std::upper_bound(ended_.begin(), ended_.end(), part) - ended_.begin() - 1;
    } else {
      e = most_ + (part - ended_.back()) / width_;
    }
    const int64_t rest = part - before(e);
    const auto row = within_.begin() + std::min(e, most_) * labels();
    const int64_t l = std::upper_bound(row, row + labels(), rest) - row - 1;
    return {e - (rest - row[l] + 1), e, l};
  }

 private:
  static constexpr int64_t kLongest = 1'000'000;

  std::vector<int32_t> longest_;
  int64_t most_ = 0;
  int64_t width_ = 0;            // number of segments that end at a position far from the beginning
  std::vector<int64_t> ended_;   // (most + 1): segments that end before e
  std::vector<int64_t> within_;  // (most + 1, labels): where a label begins among the segments that end at e
};

// How the tokens of segments are tagged: the first token has one tag of its label, and all others have another one. A
// label whose segments have one token has only the first tag.
struct SegmentTags {
  int64_t tags = 0;
  std::vector<int32_t> first;   // by label
  std::vector<int32_t> inside;  // by label; -1: none

  void check(const Segments& segments) const {
    const auto labels = static_cast<size_t>(segments.labels());
    if (first.size() != labels || inside.size() != labels) throw InputError("every label needs its tags.");
    std::vector<uint8_t> used(static_cast<size_t>(tags), 0);
    for (size_t l = 0; l < labels; ++l) {
      const bool longer = segments.longest(static_cast<int64_t>(l)) > 1;
      if ((inside[l] >= 0) != longer)
        throw InputError("a label has a tag for the inside of segments exactly if they may have several tokens.");
      const auto use = [&](int32_t tag) {
        if (tag < 0 || tag >= tags || used[tag]++) throw InputError("tags must be distinct, and from 0 on.");
      };
      use(first[l]);
      if (longer) use(inside[l]);
    }
  }

  // of_tags (n, tags): the sums of the values of the segments in which a token has a tag.
  void spread(const Segments& segments, int64_t n, const double* values, double* of_tags) const {
    const int64_t K = tags;
    std::fill(of_tags, of_tags + n * K, 0.0);
    for (int64_t l = 0; l < segments.labels(); ++l) {
      double* of_first = of_tags + first[l];
      double* of_inside = inside[l] < 0 ? nullptr : of_tags + inside[l];
      for (int64_t e = 1; e <= n; ++e) {
        const double* of = values + segments.first(e, l);
        const int64_t lengths = segments.lengths(e, l);
        double ended = 0;
        for (int64_t m = 1; m <= lengths; ++m) {
          of_first[(e - m) * K] += of[m - 1];
          ended += of[m - 1];
        }
        if (of_inside && e < n) of_inside[e * K] = ended;  // for now, the sum of the segments that end here
      }
      if (!of_inside) continue;
      double open = 0;  // segments that began before t and have not ended at t
      for (int64_t t = 1; t < n; ++t) {
        open += of_first[(t - 1) * K] - of_inside[t * K];
        of_inside[t * K] = open;
      }
    }
  }
};

}  // namespace margrave
