// The cost of predicting one label instead of another. Only a matrix stores a number for every pair of labels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"

namespace margrave {

class LabelCost {
 public:
  virtual ~LabelCost() = default;

  virtual int64_t labels() const = 0;
  // delta (labels): the cost of predicting each label if `gold` is correct.
  virtual void row(int32_t gold, double* delta) const = 0;

 protected:
  static void expect_finite(const std::vector<double>& costs) {
    for (const double c : costs)
      if (!std::isfinite(c)) throw InputError("costs must be finite.");
  }
};

// Every wrong label costs the weight of the correct one.
class HammingCost final : public LabelCost {
 public:
  explicit HammingCost(std::vector<double> weights) : weights_(std::move(weights)) { expect_finite(weights_); }

  int64_t labels() const override { return static_cast<int64_t>(weights_.size()); }
  void row(int32_t gold, double* delta) const override {
    std::fill(delta, delta + labels(), weights_[gold]);
    delta[gold] = 0.0;
  }

 private:
  std::vector<double> weights_;
};

// Any cost: (labels, labels), from correct to predicted.
class MatrixCost final : public LabelCost {
 public:
  MatrixCost(int64_t labels, std::vector<double> costs) : labels_(labels), costs_(std::move(costs)) {
    const auto n = static_cast<int64_t>(costs_.size());
    if (labels < 1 || n % labels != 0 || n / labels != labels) throw InputError("costs must be (labels, labels).");
    expect_finite(costs_);
  }

  int64_t labels() const override { return labels_; }
  void row(int32_t gold, double* delta) const override {
    const auto first = costs_.begin() + gold * labels_;
    std::copy(first, first + labels_, delta);
  }

 private:
  int64_t labels_;
  std::vector<double> costs_;
};

// Confusing two classes costs the smallest height of the nodes above both, their lowest common node.
class TreeCost final : public LabelCost {
 public:
  // above: the nodes above each class, from above_begin[class] on. below: the classes below each node, from
  // below_begin[node] on. height: one number per node. root: the cost of classes without a common node.
  TreeCost(std::vector<int64_t> above_begin, std::vector<int32_t> above, std::vector<int64_t> below_begin,
           std::vector<int32_t> below, std::vector<double> height, double root)
      : above_begin_(std::move(above_begin)),
        above_(std::move(above)),
        below_begin_(std::move(below_begin)),
        below_(std::move(below)),
        height_(std::move(height)),
        root_(root) {
    check_lists(above_begin_, above_, static_cast<int64_t>(height_.size()), "nodes above each class");
    check_lists(below_begin_, below_, labels(), "classes below each node");
    if (below_begin_.size() != height_.size() + 1)
      throw InputError("there must be a height for each of the " + std::to_string(below_begin_.size() - 1) +
                       " nodes, and there are " + std::to_string(height_.size()) + ".");
    expect_finite(height_);
    expect_finite({root_});
    for (int64_t a = 0; a < labels(); ++a)  // the lowest node is written last
      std::stable_sort(above_.begin() + above_begin_[a], above_.begin() + above_begin_[a + 1],
                       [this](int32_t u, int32_t v) { return height_[u] > height_[v]; });
    check_agreement();
  }

  int64_t labels() const override { return static_cast<int64_t>(above_begin_.size()) - 1; }
  void row(int32_t gold, double* delta) const override {
    std::fill(delta, delta + labels(), root_);
    for (int64_t k = above_begin_[gold]; k < above_begin_[gold + 1]; ++k) {
      const int32_t node = above_[k];
      for (int64_t c = below_begin_[node]; c < below_begin_[node + 1]; ++c) delta[below_[c]] = height_[node];
    }
    delta[gold] = 0.0;
  }

 private:
  static void check_lists(const std::vector<int64_t>& begin, const std::vector<int32_t>& numbers, int64_t limit,
                          const std::string& what) {
    if (begin.empty() || begin.front() != 0 || begin.back() != static_cast<int64_t>(numbers.size()) ||
        !std::is_sorted(begin.begin(), begin.end()))
      throw InputError("the bounds of the " + what + " must ascend from 0 to their number.");
    for (const int32_t k : numbers)
      if (k < 0 || k >= limit)
        throw InputError("the " + what + " include number " + std::to_string(k) + ", and there are " +
                         std::to_string(limit) + ".");
  }

  // A node is above a class exactly if the class is below the node.
  void check_agreement() const {
    std::vector<std::pair<int32_t, int32_t>> up, down;  // (node, class)
    for (int64_t a = 0; a < labels(); ++a)
      for (int64_t k = above_begin_[a]; k < above_begin_[a + 1]; ++k)
        up.emplace_back(above_[k], static_cast<int32_t>(a));
    for (size_t node = 0; node < height_.size(); ++node)
      for (int64_t k = below_begin_[node]; k < below_begin_[node + 1]; ++k)
        down.emplace_back(static_cast<int32_t>(node), below_[k]);
    std::sort(up.begin(), up.end());
    std::sort(down.begin(), down.end());
    if (up != down) throw InputError("a node must be above exactly the classes that are below it.");
  }

  std::vector<int64_t> above_begin_;
  std::vector<int32_t> above_;
  std::vector<int64_t> below_begin_;
  std::vector<int32_t> below_;
  std::vector<double> height_;
  double root_;
};

}  // namespace margrave
