// Every example has its own list of candidates. An output is one of them, and several may be good. Parts are the
// candidates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"
#include "structures/single_part.h"

namespace margrave {

class CandidateStructure final : public SinglePartStructure, public GoodInference {
 public:
  // begin (examples + 1): where each example's candidates begin. good: indices within the example's list, best first,
  // from good_begin[i] on; unknown if good_begin is empty. cost: one per candidate, 0 for the good ones; if empty, 1
  // for all others.
  CandidateStructure(std::vector<int64_t> begin, std::vector<int64_t> good_begin, std::vector<int32_t> good,
                     std::vector<double> cost)
      : begin_(std::move(begin)), good_begin_(std::move(good_begin)), good_(std::move(good)), cost_(std::move(cost)) {
    check_lists();
    if (has_gold())
      check_good();
    else if (!good_.empty() || !cost_.empty())
      throw InputError("costs and good candidates come with the bounds of the good ones.");
  }

  int64_t size() const override { return static_cast<int64_t>(begin_.size()) - 1; }
  int64_t parts(int64_t i) const override { return begin_[i + 1] - begin_[i]; }
  bool has_gold() const override { return !good_begin_.empty(); }
  int64_t gold_count(int64_t i) const override {
    if (!has_gold()) throw InputError("this problem was bound without good candidates.");
    return good_begin_[i + 1] - good_begin_[i];
  }
  void gold(int64_t i, int64_t k, Output& y) const override { y.assign(1, good_[good_begin_[i] + k]); }
  double cost(int64_t i, double* delta) const override {
    if (!cost_.empty()) {
      std::copy(cost_.begin() + begin_[i], cost_.begin() + begin_[i + 1], delta);
      return 0;
    }
    const int64_t n = gold_count(i);
    std::fill(delta, delta + parts(i), 1.0);
    for (int64_t k = 0; k < n; ++k) delta[good_[good_begin_[i] + k]] = 0;
    return 0;
  }

  double argmax_among(bool good, int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    return argmax(i, among(good, i, theta, scratch), y, scratch);
  }
  double logsum_among(bool good, int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    return logsum(i, among(good, i, theta, scratch), mu, scratch);
  }

 private:
  // The scores of the good candidates or of all others; -inf elsewhere.
  const double* among(bool good, int64_t i, const double* theta, Scratch& scratch) const {
    double* scores = scratch.take(parts(i));
    if (good)
      std::fill(scores, scores + parts(i), -kInfinity);
    else
      std::copy(theta, theta + parts(i), scores);
    for (int64_t k = 0; k < gold_count(i); ++k) {
      const int32_t c = good_[good_begin_[i] + k];
      scores[c] = good ? theta[c] : -kInfinity;
    }
    return scores;
  }

  void check_lists() const {
    if (begin_.empty() || begin_.front() != 0) throw InputError("the bounds of candidate lists must begin with 0.");
    for (int64_t i = 0; i < size(); ++i) {
      if (begin_[i + 1] <= begin_[i]) throw InputError("example " + std::to_string(i) + " has no candidates.");
      if (parts(i) > std::numeric_limits<int32_t>::max())
        throw InputError("example " + std::to_string(i) + " has too many candidates.");
    }
  }

  void check_good() const {
    if (good_begin_.size() != begin_.size() || good_begin_.front() != 0 ||
        good_begin_.back() != static_cast<int64_t>(good_.size()) ||
        !std::is_sorted(good_begin_.begin(), good_begin_.end()))
      throw InputError("the bounds of good candidates must ascend from 0 to their number, one for each example.");
    if (!cost_.empty() && static_cast<int64_t>(cost_.size()) != begin_.back())
      throw InputError("there must be one cost per candidate.");
    for (int64_t i = 0; i < size(); ++i) {
      const std::string example = "example " + std::to_string(i);
      for (int64_t c = cost_.empty() ? parts(i) : 0; c < parts(i); ++c)
        if (!std::isfinite(cost_[begin_[i] + c]) || cost_[begin_[i] + c] < 0)
          throw InputError(example + ", candidate " + std::to_string(c) + ": costs must be finite and not negative.");
      if (gold_count(i) == 0) throw InputError(example + " has no good candidate.");
      std::vector<int32_t> good(good_.begin() + good_begin_[i], good_.begin() + good_begin_[i + 1]);
      for (const int32_t c : good) {
        if (c < 0 || c >= parts(i))
          throw InputError(example + ": there is no candidate " + std::to_string(c) + " among its " +
                           std::to_string(parts(i)) + ".");
        if (!cost_.empty() && cost_[begin_[i] + c] != 0)
          throw InputError(example + ", candidate " + std::to_string(c) + ": a good candidate must cost 0.");
      }
      std::sort(good.begin(), good.end());
      const auto twice = std::adjacent_find(good.begin(), good.end());
      if (twice != good.end())
        throw InputError(example + ": candidate " + std::to_string(*twice) + " is listed twice as good.");
    }
  }

  std::vector<int64_t> begin_;
  std::vector<int64_t> good_begin_;
  std::vector<int32_t> good_;
  std::vector<double> cost_;
};

}  // namespace margrave
