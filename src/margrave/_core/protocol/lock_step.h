// Inference on several examples at once, where that is faster than one after another.
//
// The last parts of every example may be common to all examples ("shared"), such as the transitions of tied chains.
// Their scores, and what inference derives from them, are computed once per pass. Their marginals are summed over the
// examples, which suffices for a gradient, and only for parts that have a weight.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"

namespace margrave {

// One of the examples of a call.
struct Lane {
  int64_t example = 0;
  double* theta = nullptr;         // scores of its own parts; constraints are written into them
  double* mu = nullptr;            // marginals of its own parts
  double weight = 0;               // of its marginals in the sum over shared parts
  double value = 0;                // the log partition function, or the score of the best output
  Output y;                        // of argmax
  std::vector<ScoredOutput> best;  // of kbest
  std::vector<Output> samples;
};

// Inference of a structure on several examples under given scores of the shared parts. The result for one example does
// not depend on the others or their number.
class Lanes {
 public:
  virtual ~Lanes() = default;
  virtual int64_t max_lanes() const = 0;      // examples per call
  virtual bool argmax_is_faster() const = 0;  // than one after another
  // Values and, unless `shared` is null, marginals; those of the shared parts are added to `shared`.
  virtual void logsum(std::vector<Lane>& lanes, double* shared, Scratch& scratch) const = 0;
  virtual void argmax(std::vector<Lane>& lanes, Scratch& scratch) const = 0;

  virtual bool kbest_is_faster() const = 0;
  virtual void kbest(std::vector<Lane>& lanes, int64_t k, Scratch& scratch) const = 0;
  virtual bool sample_is_faster() const = 0;
  // Fills the `samples` of every example. Each example has its own random sequence.
  virtual void sample(std::vector<Lane>& lanes, std::vector<Random>& randoms, Scratch& scratch) const = 0;
};

// The same at weights w, for passes over all examples.
class LockStep : public Lanes {
 public:
  virtual const std::vector<double>& shared_scores() const = 0;
  // The scores A_i w of the own parts of an example, and the adjoints.
  virtual void score(int64_t i, double* theta) const = 0;
  virtual void scatter(int64_t i, const double* mu, double c, double* g) const = 0;
  virtual void scatter_shared(const double* mu, double* g) const = 0;
};

}  // namespace margrave
