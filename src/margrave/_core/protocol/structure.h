// The combinatorial structure of a dataset: which bags of parts are outputs (docs/architecture.md). It knows no weights
// and no features.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"

namespace margrave {

class Structure {
 public:
  virtual ~Structure() = default;

  virtual int64_t size() const = 0;
  virtual int64_t parts(int64_t i) const = 0;
  virtual unsigned offers() const = 0;
  virtual bool exact() const { return true; }  // whether inference finds the true optimum, the true sums, and so on

  // Layout of the parts, for feature maps. A row of features serves `columns` consecutive parts: the labels of one
  // token, or a single part with its own row.
  virtual int64_t columns() const { return 1; }
  // Parts come in consecutive groups of `choice`, of which an output has exactly one. 1 if nothing is known: a part may
  // occur up to `repeats` times.
  virtual int64_t choice(int64_t) const { return 1; }
  virtual int64_t repeats(int64_t) const { return 1; }  // maximum count of one part in one output

  virtual bool has_gold() const = 0;
  virtual int64_t gold_count(int64_t) const { return 1; }        // number of good outputs
  virtual void gold(int64_t i, int64_t k, Output& y) const = 0;  // the k-th of them, best first
  virtual double cost(int64_t i, double* delta) const = 0;
  virtual bool zero_one_is_of_parts() const { return false; }  // every output is a single part

  // Optional interfaces; null if there is none.
  virtual const Counted* counted() const { return nullptr; }
  virtual const Divisible* divisible() const { return nullptr; }
  virtual const WeightedSums* weighted() const { return nullptr; }
  virtual const SharedParts* shared() const { return nullptr; }

  // Hard constraints: -inf on the parts that no output of example i may contain.
  virtual bool constrained() const { return false; }
  virtual void forbid(int64_t, double*) const {}

  virtual double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const = 0;
  virtual double logsum(int64_t, const double*, double*, Scratch&) const { return unsupported("logsum"), 0.0; }
  // The best output at each cost. Needless ones may be missing, so a structure need not search for them.
  virtual void argmax_by_cost(int64_t, const double*, const double*, const Needless&, std::vector<CostedOutput>&,
                              Scratch&) const {
    unsupported("argmax_by_cost");
  }
  virtual void kbest(int64_t, const double*, int64_t, std::vector<ScoredOutput>&, Scratch&) const {
    unsupported("kbest");
  }
  virtual void sample(int64_t, const double*, Random&, Output&, Scratch&) const { unsupported("sample"); }
  // Equivalent to repeated calls of sample, for structures that share work among them.
  virtual void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                           Scratch& scratch) const {
    for (Output& y : ys) {
      const Scratch::Frame frame(scratch);
      sample(i, theta, random, y, scratch);
    }
  }
  virtual double entropy(int64_t, const double*, double*, Scratch&) const { return unsupported("entropy"), 0.0; }
  // A bound on the score of every output, and the marginals of the point of the relaxation that attains it.
  virtual double relaxed_argmax(int64_t, const double*, double*, Scratch&) const {
    return unsupported("relaxed_argmax"), 0.0;
  }

  void check_example(int64_t i) const { check_number(i, size()); }
};

// logsum_weighted for structures that gain nothing from it.
inline double logsum_by_all_parts(const Structure& structure, int64_t i, const WeightedParts& weighted,
                                  const double* theta, double* mu, Scratch& scratch) {
  double* all_theta = scratch.take(weighted.parts());
  double* all_mu = scratch.take(weighted.parts());
  weighted.unpack(theta, all_theta);
  structure.forbid(i, all_theta);
  const double log_z = structure.logsum(i, all_theta, all_mu, scratch);
  weighted.pack(all_mu, mu);
  return log_z;
}

}  // namespace margrave
