// What a structure or a feature map may offer: operations, and optional interfaces. Each interface is for one kind of
// caller, which fetches it for a whole pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "protocol/lock_step.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"

namespace margrave {

// The operations that a structure supports. Learners state their needs in the same terms.
enum Offer : unsigned {
  kArgmax = 1,
  kArgmaxByCost = 2,
  kLogsum = 4,
  kKbest = 8,
  kSample = 16,
  kEntropy = 32,
  kUntied = 64,  // every part occurs at one place, so marginals of neighboring parts determine a distribution
  kMostViolated = 128,
  kRelaxedArgmax = 256,  // losses with beta = inf are then those of the relaxation
};

// The parts of an example that have weights; the scores of all others are 0. These are the first `head` parts, and the
// listed parts of each of the following `blocks` blocks of `block` parts. The list ascends.
struct WeightedParts {
  int64_t head = 0;
  int64_t blocks = 0;
  int64_t block = 0;
  const int32_t* list = nullptr;
  int64_t listed = 0;

  static WeightedParts all(int64_t parts) { return {parts}; }
  int64_t size() const { return head + blocks * listed; }
  int64_t parts() const { return head + blocks * block; }

  bool has(int64_t part) const {
    return part < head || std::binary_search(list, list + listed, static_cast<int32_t>((part - head) % block));
  }

  // Calls visit(k, part) for the k-th of them.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (int64_t k = 0; k < head; ++k) visit(k, k);
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t k = head + b * listed;
      const int64_t first = head + b * block;
      for (int64_t j = 0; j < listed; ++j) visit(k + j, first + list[j]);
    }
  }

  // pack copies their values out of those of all parts, possibly in place. unpack copies them back, with 0 for the
  // others.
  void pack(const double* all, double* values) const {
    each([&](int64_t k, int64_t part) { values[k] = all[part]; });
  }
  template <typename Real>
  void unpack(const Real* values, double* all) const {
    std::fill(all + head, all + parts(), 0.0);
    each([&](int64_t k, int64_t part) { all[part] = static_cast<double>(values[k]); });
  }
};

// A change of the only good output of an example: the output that it leads to, and the sites of the example that it
// occupies. Changes without a common site can be combined.
struct Change {
  Output y;
  int64_t first;
  int64_t last;
};

// The parts that have weights, for the dual passes. The scores of other parts are 0 under all weights, and `scatter`,
// `move` and `row` do not read their values. The values of weighted parts are contiguous.
class WeightedMap {
 public:
  virtual ~WeightedMap() = default;
  virtual WeightedParts weighted_parts(int64_t i) const = 0;
  virtual void score_weighted(int64_t i, const double* w, double* theta) const = 0;
  virtual double move_weighted(int64_t i, const double* v, double c, double* w) const = 0;
};

// The same with inference that takes the scores of these parts only and returns only their marginals.
class Weighted : public WeightedMap {
 public:
  virtual double logsum_weighted(int64_t i, const double* theta, double* mu, Scratch& scratch) const = 0;
};

// For structures where restricting inference to these parts is faster.
class WeightedSums {
 public:
  virtual ~WeightedSums() = default;
  virtual double logsum_weighted(int64_t i, const WeightedParts& weighted, const double* theta, double* mu,
                                 Scratch& scratch) const = 0;
};

// The counts of the F1 cost, if the items are not the parts themselves: `right`, how many correct items each part adds
// to an output; `predicted`, how many items it adds; `of_gold`, the number of items of the gold output.
class Counted {
 public:
  virtual ~Counted() = default;
  virtual void counts(int64_t i, double* right, double* predicted, int64_t& of_gold) const = 0;
};

// Wrong outputs as sets of changes of the only good output, for linear programs. The parts that an output adds to the
// good output, and those that it lacks, are the sums of those of its changes. An example has `sites` in a row, and each
// change occupies consecutive ones.
class Divisible {
 public:
  virtual ~Divisible() = default;
  virtual int64_t sites(int64_t i) const = 0;
  virtual std::vector<Change> changes(int64_t i, const Output& y) const = 0;
};

// Inference on several examples at once under scores of the shared parts, for structures where that is faster.
class SharedParts {
 public:
  virtual ~SharedParts() = default;
  // The number of parts shared by all examples: the last ones of each. They have no cost.
  virtual int64_t shared_count() const = 0;
  // `used` lists the shared parts that have weights; all others score 0. Null if lock-step inference would not be
  // faster.
  virtual std::unique_ptr<const Lanes> lanes(const double* theta, const std::vector<int64_t>& used) const = 0;
};

// The map of the own parts of an example and that of the shared ones, separately.
class SharedMap {
 public:
  virtual ~SharedMap() = default;
  virtual int64_t shared_count() const = 0;
  virtual std::vector<int64_t> used() const = 0;  // the shared parts that have weights
  virtual void score_own(int64_t i, const double* w, double* theta) const = 0;
  virtual void score_shared(const double* w, double* theta) const = 0;
  virtual void scatter_own(int64_t i, const double* mu, double c, double* g) const = 0;
  virtual void scatter_shared(const double* mu, double* g) const = 0;
};

inline constexpr int64_t kListedGood = 1000;  // maximum number of good outputs to list

// Inference among the good outputs, where they are too many to list, and among the others: `good` selects which. The
// value is -inf if there are none.
class GoodInference {
 public:
  virtual ~GoodInference() = default;
  virtual double argmax_among(bool good, int64_t i, const double* theta, Output& y, Scratch& scratch) const = 0;
  virtual double logsum_among(bool good, int64_t i, const double* theta, double* mu, Scratch& scratch) const = 0;
};

// An optional interface of a problem, null if it has none, and the index of the problem's example 0 in it.
template <typename Interface>
struct Offered {
  const Interface* of = nullptr;
  int64_t first = 0;

  explicit operator bool() const { return of != nullptr; }
  Offered from(int64_t example) const { return {of, first + example}; }
};

struct Interfaces {
  Offered<Weighted> weighted;
  Offered<Counted> counted;
  Offered<Divisible> divisible;

  Interfaces from(int64_t example) const {
    return {weighted.from(example), counted.from(example), divisible.from(example)};
  }
};

}  // namespace margrave
