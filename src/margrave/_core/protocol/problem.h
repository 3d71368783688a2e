// The protocol: everything that a learner may ask of a structured prediction problem (docs/architecture.md).
//
// An output is a bag of parts. Every part has a score, linear in the weights. `Structure` defines which bags are
// outputs, `Features` is the linear map A, and `BoundProblem` joins the two over one dataset. Learners see only
// `Problem`.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "protocol/lock_step.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "simd/loops.h"

namespace margrave {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct CostedOutput {
  int64_t cost;
  double value;
  Output y;
};

// Outputs that a search for the best one at each cost may leave out.
struct Needless {
  double least = -kInfinity;  // those with scores below this
  // If positive, costs are the number of correct items plus `base` times the number of wrong ones. An output may then
  // be left out if another one has no lower score, no more correct items, and no fewer wrong ones.
  int64_t base = 0;
};

// A_i' v as a sparse vector.
struct Row {
  std::vector<int64_t> index;
  std::vector<double> value;
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

// An inference query at weights. Outputs are ranked by their scores plus gamma times their cost.
struct Question {
  enum class Kind {
    kArgmax,        // the best output
    kKbest,         // the k best ones
    kLogsum,        // the log partition function of beta times the ranking, and its expectations
    kRelaxed,       // the best point of the relaxation: a bound on the best output, and its marginals
    kMostViolated,  // the output that maximizes H of 003 (losses/rescaling.h); only if offered
  };

  Kind kind = Kind::kArgmax;
  double gamma = 0;
  bool zero_one = false;  // the cost is 1 for every part except the gold ones
  int64_t k = 1;          // kKbest only
  double beta = 1;        // kLogsum only
  double scale = 1;       // the weights are scale * w
  bool of_slack = false;  // kMostViolated only: slack re-scaling; else margin re-scaling
  int slack = 1;          // kMostViolated only: 1, linear, or 2, quadratic
};

// The result of inference. `delta` and `ranking` point into the scratch memory of the call.
struct Answer {
  double value = 0;  // of the best output, without gamma c0; or the log partition function, or the bound
  Output y;          // kArgmax and kMostViolated
  std::vector<ScoredOutput> ys;
  double c0 = 0;                    // the cost of an output is c0 + <delta, y>;
  const double* delta = nullptr;    // null if gamma is 0
  const double* ranking = nullptr;  // beta (theta + gamma delta)
  // kLogsum, if a problem returns the expected features of the mixture of all outputs instead of marginals of parts:
  bool has_mixture = false;
  Row mixture;               // the expected features
  double mixture_score = 0;  // <scale * w, mixture>
};

// Invalid input; the message is one sentence for the user.
struct InputError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

inline constexpr int64_t kMostCount = std::numeric_limits<int32_t>::max();

// Checks a count from outside. It must be small enough that a sum or a product of two counts does not overflow.
inline int64_t checked_count(int64_t n, const char* what, int64_t least = 0) {
  if (n < least || n > kMostCount)
    throw InputError(std::string("the number of ") + what + " must be from " + std::to_string(least) + " to " +
                     std::to_string(kMostCount) + ", and it is " + std::to_string(n) + ".");
  return n;
}

inline void check_number(int64_t example, int64_t size) {
  if (example < 0 || example >= size)
    throw InputError("example " + std::to_string(example) + " is out of range: there are " + std::to_string(size) +
                     ".");
}

inline void unsupported(const char* what) { throw InputError(std::string("this problem offers no ") + what + "."); }

// Optional interfaces, each for one kind of caller. Callers fetch one for a whole pass.

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

// Properties common to all examples of a problem. Passes query them once.
struct Traits {
  unsigned offers = kArgmax;
  bool exact = true;  // whether inference finds the true optimum, the true sums, and so on
  bool has_gold = false;
  bool zero_one_is_of_parts = false;  // every output is a single part
  bool euclidean = true;              // the inner product of weights
  bool any_scores = true;             // inference accepts any scores of parts, not only those of weights
};

// The combinatorial structure of a dataset: no weights, no features.
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

// The linear map A_i from weights to part scores, and its adjoint.
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

class Problem {
 public:
  Problem(int64_t size, int64_t dim) : size_(size), dim_(dim) {
    if (size < 0 || dim < 0) throw InputError("a problem's size and dim must not be negative.");
  }
  virtual ~Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  int64_t size() const { return size_; }
  int64_t dim() const { return dim_; }
  uint64_t serial() const { return serial_; }  // unique per problem; addresses are reused

  virtual Traits traits() const = 0;
  virtual Interfaces interfaces() const { return {}; }
  virtual int64_t parts(int64_t i) const = 0;
  virtual void score(int64_t i, const double* w, double* theta) const = 0;
  // Inference at weights: theta = scale A_i w, the answer and, for kLogsum and kRelaxed, the marginals mu (which may be
  // null otherwise). The caller frees the scratch memory. A problem that finds its outputs only by inference under
  // weights overrides this. All others score the parts and use the inference below.
  virtual void infer(int64_t i, const double* w, const Question& question, double* theta, double* mu, Answer& answer,
                     Scratch& scratch) const {
    score(i, w, theta);
    if (question.scale != 1)
      for (int64_t k = 0; k < parts(i); ++k) theta[k] *= question.scale;
    infer_under(i, theta, question, mu, answer, scratch);
  }
  virtual void row(int64_t i, const double* v, Row& row) const = 0;
  virtual double radius(int64_t i) const = 0;
  // The k-th good output of example i, best first. Returns their number, and leaves y unchanged if there are not that
  // many. Learners that need one use the first. If the zero-one cost is a sum over parts, all of them cost 0.
  virtual int64_t gold(int64_t i, int64_t k, Output& y) const = 0;
  virtual double cost(int64_t i, double* delta) const = 0;
  virtual void forbid(int64_t, double*) const {}

  virtual double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const = 0;
  virtual double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const = 0;
  virtual void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless& needless,
                              std::vector<CostedOutput>& ys, Scratch& scratch) const = 0;
  virtual void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
                     Scratch& scratch) const = 0;
  // Fills ys with samples.
  virtual void sample(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                      Scratch& scratch) const = 0;
  virtual double entropy(int64_t i, const double* mu, double* t, Scratch& scratch) const = 0;
  virtual double relaxed_argmax(int64_t, const double*, double*, Scratch&) const {
    return unsupported("relaxed_argmax"), 0.0;
  }

  // Inference on several examples at once, at weights w and with beta times the scores. Null if the structure has no
  // lock-step inference. Its example 0 is example `first` of this problem.
  virtual std::unique_ptr<const LockStep> lock_step(const double*, double, int64_t) const { return nullptr; }

  // g += c A_i' mu. Problems with a faster way than a sparse row override it.
  virtual void scatter(int64_t i, const double* mu, double c, double* g) const {
    Row row_of_mu;
    row(i, mu, row_of_mu);
    for (size_t k = 0; k < row_of_mu.index.size(); ++k) g[row_of_mu.index[k]] += c * row_of_mu.value[k];
  }

  // w += c A_i' v. Returns the change of 1/2 dot(w, w), from which a dual step computes its gain.
  virtual double move(int64_t i, const double* v, double c, double* w) const {
    Row row_of_v;
    row(i, v, row_of_v);
    double change = 0;
    for (size_t k = 0; k < row_of_v.index.size(); ++k) {
      double& weight = w[row_of_v.index[k]];
      const double before = weight;
      weight += c * row_of_v.value[k];
      change += 0.5 * c * row_of_v.value[k] * (before + weight);
    }
    return change;
  }

  // The inner product of weights: Euclidean, unless a kernel overrides it.
  virtual double dot(const double* u, const double* v) const { return loops().dot(u, v, dim_); }

  void check_example(int64_t i) const { check_number(i, size_); }

  // The zero-one cost if it is a sum over parts: 1 for every part except those of good outputs.
  void zero_one_cost(int64_t i, double* delta) const {
    std::fill(delta, delta + parts(i), 1.0);
    Output good;
    int64_t n = 1;
    for (int64_t k = 0; k < n; ++k) {
      n = gold(i, k, good);
      for (const int32_t part : good) delta[part] = 0;
    }
  }

  // The same query under scores of the parts.
  void infer_under(int64_t i, const double* theta, const Question& question, double* mu, Answer& answer,
                   Scratch& scratch) const {
    const int64_t n = parts(i);
    answer.has_mixture = false;
    add_costs(i, question, answer, scratch);
    answer.ranking = theta;
    if (answer.delta || question.beta != 1) {
      double* ranking = scratch.take(n);
      for (int64_t k = 0; k < n; ++k)
        ranking[k] = question.beta * (answer.delta ? theta[k] + question.gamma * answer.delta[k] : theta[k]);
      answer.ranking = ranking;
    }
    switch (question.kind) {
      case Question::Kind::kArgmax: answer.value = argmax(i, answer.ranking, answer.y, scratch); break;
      case Question::Kind::kKbest: kbest(i, answer.ranking, question.k, answer.ys, scratch); break;
      case Question::Kind::kLogsum: answer.value = logsum(i, answer.ranking, mu, scratch); break;
      case Question::Kind::kRelaxed: answer.value = relaxed_argmax(i, answer.ranking, mu, scratch); break;
      case Question::Kind::kMostViolated: unsupported("most_violated");
    }
  }

 protected:
  void add_costs(int64_t i, const Question& question, Answer& answer, Scratch& scratch) const {
    answer.c0 = 0;
    answer.delta = nullptr;
    if (question.gamma == 0) return;
    double* delta = scratch.take(parts(i));
    if (question.zero_one)
      zero_one_cost(i, delta);
    else
      answer.c0 = cost(i, delta);
    answer.delta = delta;
  }

 private:
  static uint64_t next_serial() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  int64_t size_;
  int64_t dim_;
  uint64_t serial_ = next_serial();
};

// Base of state that belongs to a problem: cuts, caches, blocks, stored parts, sharing. Its indices of parts and
// examples are meaningless in another problem, so functions that receive both from Python check them first.
class OfProblem {
 public:
  explicit OfProblem(const Problem& problem) : serial_(problem.serial()) {}

  void check(const Problem& problem, const char* what) const {
    if (serial_ != problem.serial()) throw InputError(std::string(what) + " belongs to another problem.");
  }

 private:
  uint64_t serial_;
};

// A structure and its features in lock-step.
class BoundLockStep final : public LockStep {
 public:
  // Null if the structure has no lock-step inference, or if it and the features do not share the same parts.
  static std::unique_ptr<const LockStep> make(const Structure& structure, const Features& features, const double* w,
                                              double beta, int64_t first) {
    const SharedParts* parts = structure.shared();
    const SharedMap* map = features.shared();
    if (!parts || !map || parts->shared_count() != map->shared_count()) return nullptr;
    std::vector<double> scores(static_cast<size_t>(parts->shared_count()));
    map->score_shared(w, scores.data());
    std::vector<double> ranking = scores;
    for (double& each : ranking) each *= beta;
    std::unique_ptr<const Lanes> lanes = parts->lanes(ranking.data(), map->used());
    if (!lanes) return nullptr;
    return std::unique_ptr<const LockStep>(new BoundLockStep(*map, w, std::move(scores), std::move(lanes), first));
  }

  int64_t max_lanes() const override { return lanes_->max_lanes(); }
  bool argmax_is_faster() const override { return lanes_->argmax_is_faster(); }
  void logsum(std::vector<Lane>& lanes, double* shared, Scratch& scratch) const override {
    number(lanes, first_);
    lanes_->logsum(lanes, shared, scratch);
    number(lanes, -first_);
  }
  void argmax(std::vector<Lane>& lanes, Scratch& scratch) const override {
    number(lanes, first_);
    lanes_->argmax(lanes, scratch);
    number(lanes, -first_);
  }
  bool kbest_is_faster() const override { return lanes_->kbest_is_faster(); }
  void kbest(std::vector<Lane>& lanes, int64_t k, Scratch& scratch) const override {
    number(lanes, first_);
    lanes_->kbest(lanes, k, scratch);
    number(lanes, -first_);
  }
  bool sample_is_faster() const override { return lanes_->sample_is_faster(); }
  void sample(std::vector<Lane>& lanes, std::vector<Random>& randoms, Scratch& scratch) const override {
    number(lanes, first_);
    lanes_->sample(lanes, randoms, scratch);
    number(lanes, -first_);
  }
  const std::vector<double>& shared_scores() const override { return scores_; }
  void score(int64_t i, double* theta) const override { map_.score_own(first_ + i, w_, theta); }
  void scatter(int64_t i, const double* mu, double c, double* g) const override {
    map_.scatter_own(first_ + i, mu, c, g);
  }
  void scatter_shared(const double* mu, double* g) const override { map_.scatter_shared(mu, g); }

 private:
  BoundLockStep(const SharedMap& map, const double* w, std::vector<double> scores, std::unique_ptr<const Lanes> lanes,
                int64_t first)
      : map_(map), w_(w), scores_(std::move(scores)), lanes_(std::move(lanes)), first_(first) {}

  static void number(std::vector<Lane>& lanes, int64_t by) {
    for (Lane& lane : lanes) lane.example += by;
  }

  const SharedMap& map_;
  const double* w_;
  std::vector<double> scores_;
  std::unique_ptr<const Lanes> lanes_;
  int64_t first_;
};

// A structure with its features, bound to a dataset.
class BoundProblem final : public Problem, private Weighted {
 public:
  BoundProblem(std::shared_ptr<const Structure> structure, std::shared_ptr<const Features> features)
      : Problem(structure->size(), features->dim()),
        structure_(std::move(structure)),
        features_(std::move(features)),
        traits_{structure_->offers(), structure_->exact(), structure_->has_gold(), structure_->zero_one_is_of_parts(),
                features_->euclidean()},
        constrained_(structure_->constrained()) {
    if (features_->size() != structure_->size())
      throw InputError("there are features for " + std::to_string(features_->size()) +
                       " examples, and the structure has " + std::to_string(structure_->size()) + ".");
    for (int64_t i = 0; i < size(); ++i)
      if (features_->parts(i) != structure_->parts(i))
        throw InputError("example " + std::to_string(i) + " has features for " + std::to_string(features_->parts(i)) +
                         " parts, and the structure has " + std::to_string(structure_->parts(i)) + ".");
  }

  Traits traits() const override { return traits_; }
  Interfaces interfaces() const override {
    return {{features_->weighted() ? this : nullptr}, {structure_->counted()}, {structure_->divisible()}};
  }
  int64_t parts(int64_t i) const override { return structure_->parts(i); }
  void score(int64_t i, const double* w, double* theta) const override { features_->score(i, w, theta); }
  void scatter(int64_t i, const double* mu, double c, double* g) const override { features_->scatter(i, mu, c, g); }
  double move(int64_t i, const double* v, double c, double* w) const override { return features_->move(i, v, c, w); }
  void row(int64_t i, const double* v, Row& row) const override { features_->row(i, v, row); }
  double dot(const double* u, const double* v) const override { return features_->dot(u, v); }
  double radius(int64_t i) const override { return features_->radius(i); }
  int64_t gold(int64_t i, int64_t k, Output& y) const override {
    const int64_t n = structure_->gold_count(i);
    if (k < n) structure_->gold(i, k, y);
    return n;
  }
  double cost(int64_t i, double* delta) const override { return structure_->cost(i, delta); }
  void forbid(int64_t i, double* theta) const override { structure_->forbid(i, theta); }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    return structure_->argmax(i, constrain(i, theta, scratch), y, scratch);
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    return structure_->logsum(i, constrain(i, theta, scratch), mu, scratch);
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless& needless,
                      std::vector<CostedOutput>& ys, Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    structure_->argmax_by_cost(i, constrain(i, theta, scratch), delta, needless, ys, scratch);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    structure_->kbest(i, constrain(i, theta, scratch), k, ys, scratch);
  }
  void sample(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
              Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    structure_->sample_many(i, constrain(i, theta, scratch), random, ys, scratch);
  }
  double entropy(int64_t i, const double* mu, double* t, Scratch& scratch) const override {
    return structure_->entropy(i, mu, t, scratch);
  }
  double relaxed_argmax(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    return structure_->relaxed_argmax(i, constrain(i, theta, scratch), mu, scratch);
  }
  std::unique_ptr<const LockStep> lock_step(const double* w, double beta, int64_t first) const override {
    return BoundLockStep::make(*structure_, *features_, w, beta, first);
  }

 private:
  WeightedParts weighted_parts(int64_t i) const override { return features_->weighted()->weighted_parts(i); }
  void score_weighted(int64_t i, const double* w, double* theta) const override {
    features_->weighted()->score_weighted(i, w, theta);
  }
  double move_weighted(int64_t i, const double* v, double c, double* w) const override {
    return features_->weighted()->move_weighted(i, v, c, w);
  }
  double logsum_weighted(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    const WeightedParts weighted = weighted_parts(i);
    Scratch::Frame frame(scratch);
    const WeightedSums* sums = constrained_ ? nullptr : structure_->weighted();
    return sums ? sums->logsum_weighted(i, weighted, theta, mu, scratch)
                : logsum_by_all_parts(*structure_, i, weighted, theta, mu, scratch);
  }

  // Scores stay linear in w; constraints apply only at inference.
  const double* constrain(int64_t i, const double* theta, Scratch& scratch) const {
    if (!constrained_) return theta;
    const int64_t n = parts(i);
    double* copy = scratch.take(n);
    std::copy(theta, theta + n, copy);
    structure_->forbid(i, copy);
    return copy;
  }

  std::shared_ptr<const Structure> structure_;
  std::shared_ptr<const Features> features_;
  Traits traits_;
  bool constrained_;
};

}  // namespace margrave
