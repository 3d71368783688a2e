// The linear map A_i from weights to part scores, and its adjoint (docs/architecture.md). It knows no combinatorics.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "simd/loops.h"

namespace margrave {

// A_i' v as a sparse vector.
struct Row {
  std::vector<int64_t> index;
  std::vector<double> value;
};

class Features {
 public:
  virtual ~Features() = default;

  virtual int64_t size() const = 0;
  virtual int64_t dim() const = 0;
  virtual int64_t parts(int64_t i) const = 0;
  virtual void score(int64_t i, const double* w, double* theta) const = 0;
  virtual void scatter(int64_t i, const double* mu, double c, double* g) const = 0;
  virtual double move(int64_t i, const double* v, double c, double* w) const = 0;
  virtual void row(int64_t i, const double* v, Row& row) const = 0;
  virtual double radius(int64_t i) const = 0;

  // Optional interfaces; null if there is none.
  virtual const WeightedMap* weighted() const { return nullptr; }  // of a map that does not give weights to all parts
  virtual const SharedMap* shared() const { return nullptr; }      // of one with shared parts

  // The inner product of weights, and whether it is Euclidean.
  virtual double dot(const double* u, const double* v) const { return loops().dot(u, v, dim()); }
  virtual bool euclidean() const { return true; }
};

}  // namespace margrave
