// The protocol: what a learner may ask of a structured prediction problem, and nothing else (docs/architecture.md).
//
// An output is a bag of parts; every part has a score, linear in the weights. `Structure` knows which bags are outputs,
// `Features` knows the linear map A, and `BoundProblem` joins the two over one data set. Learners see `Problem` alone.
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

// Which outputs a search for the best one at each cost may leave out.
struct Needless {
  double least = -kInfinity;  // those with scores below this
  // If positive, costs are numbers of right items plus `base` times numbers of wrong ones. Then those may be left out
  // for which another output has no lower score, no more right items, and no fewer wrong ones.
  int64_t base = 0;
};

// A_i' v as a sparse vector.
struct Row {
  std::vector<int64_t> index;
  std::vector<double> value;
};

// Which parts of an example have a weight, so that their scores can differ from 0: the first `head` parts, and of each
// of the `blocks` blocks of `block` parts that follow, those in the list, which ascends.
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

  // Copies their values out of those of all parts, possibly in place; and back, with 0 for the others.
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
// occupies. Changes without a common site can be made together.
struct Change {
  Output y;
  int64_t first;
  int64_t last;
};

// What a structure can do beyond the argmax; learners state what they need in the same words.
enum Offer : unsigned {
  kArgmax = 1,
  kArgmaxByCost = 2,
  kLogsum = 4,
  kKbest = 8,
  kSample = 16,
  kEntropy = 32,
  kUntied = 64,  // every part occurs at one place, so that marginals of neighboring parts determine a distribution
  kMostViolated = 128,
  kRelaxedArgmax = 256,  // then losses with beta = inf are those of the relaxation
};

// What a learner asks of inference at weights. Outputs are ranked by their scores plus gamma times their cost.
struct Question {
  enum class Kind {
    kArgmax,        // the best output
    kKbest,         // the k best ones
    kLogsum,        // the log partition function of beta times the ranking, and its expectations
    kRelaxed,       // the best point of the relaxation: a bound on the best output, and its marginals
    kMostViolated,  // the output that maximizes H of 003 (losses/rescaling.h); only where it is offered
  };

  Kind kind = Kind::kArgmax;
  double gamma = 0;
  bool zero_one = false;  // the cost is 1 for every part but the gold ones
  int64_t k = 1;          // of kKbest
  double beta = 1;        // of kLogsum
  double scale = 1;       // the weights are scale * w
  bool of_slack = false;  // of kMostViolated: slack re-scaling, or margin re-scaling
  int slack = 1;          // of kMostViolated: 1, linear, or 2, quadratic
};

// What inference found. `delta` and `ranking` lie in the scratch memory of the call.
struct Answer {
  double value = 0;  // of the best output, without gamma c0, or the log partition function, or the bound
  Output y;          // of kArgmax and kMostViolated
  std::vector<ScoredOutput> ys;
  double c0 = 0;                    // the cost of an output is c0 + <delta, y>;
  const double* delta = nullptr;    // null if gamma is 0
  const double* ranking = nullptr;  // beta (theta + gamma delta)
  // Of kLogsum, where a problem gives the expected features of the mixture of all outputs, not marginals of parts:
  bool has_mixture = false;
  Row mixture;               // the expected features
  double mixture_score = 0;  // <scale * w, mixture>
};

// A mistake in what was passed in; the message is one sentence for the user.
struct InputError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

inline constexpr int64_t kMostCount = std::numeric_limits<int32_t>::max();

// A number of things that comes from outside: so small that a sum or a product of two of them does not overflow.
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

// Optional interfaces: what only one kind of caller asks for. Callers fetch one for a whole pass.

// The parts that have a weight, for the dual passes. The scores of other parts are 0 under all weights, and `scatter`,
// `move` and `row` do not read their values. The values of weighted parts lie side by side.
class WeightedMap {
 public:
  virtual ~WeightedMap() = default;
  virtual WeightedParts weighted_parts(int64_t i) const = 0;
  virtual void score_weighted(int64_t i, const double* w, double* theta) const = 0;
  virtual double move_weighted(int64_t i, const double* v, double c, double* w) const = 0;
};

// The same with inference where only these parts have scores other than 0, and only their marginals are asked for.
class Weighted : public WeightedMap {
 public:
  virtual double logsum_weighted(int64_t i, const double* theta, double* mu, Scratch& scratch) const = 0;
};

// For structures that save work by it.
class WeightedSums {
 public:
  virtual ~WeightedSums() = default;
  virtual double logsum_weighted(int64_t i, const WeightedParts& weighted, const double* theta, double* mu,
                                 Scratch& scratch) const = 0;
};

// What the F1 cost counts, if not every part of an output is one item: how many items each part adds to an output, how
// many of them the gold output has, and the items of the gold output.
class Counted {
 public:
  virtual ~Counted() = default;
  virtual void counts(int64_t i, double* right, double* predicted, int64_t& of_gold) const = 0;
};

// Wrong outputs as sets of changes of the good output, where there is one, for linear programs. The parts that an
// output has and the good output does not have, and those that it lacks, are the sums of those of its changes. An
// example has `sites` in a row, and each change occupies neighboring ones.
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
  // How many parts are shared by all examples: the last ones of each. They cost nothing.
  virtual int64_t shared_count() const = 0;
  // `used` lists the shared parts that have weights, and all others score 0. Null where it would not be faster.
  virtual std::unique_ptr<const Lanes> lanes(const double* theta, const std::vector<int64_t>& used) const = 0;
};

// The map of the own parts of an example and that of the shared ones, apart.
class SharedMap {
 public:
  virtual ~SharedMap() = default;
  virtual int64_t shared_count() const = 0;
  virtual std::vector<int64_t> used() const = 0;  // which of them have weights
  virtual void score_own(int64_t i, const double* w, double* theta) const = 0;
  virtual void score_shared(const double* w, double* theta) const = 0;
  virtual void scatter_own(int64_t i, const double* mu, double c, double* g) const = 0;
  virtual void scatter_shared(const double* mu, double* g) const = 0;
};

// An optional interface of a problem, null if it has none, and the number that the problem's example 0 has there.
template <typename Interface>
struct Offered {
  const Interface* of = nullptr;
  int64_t first = 0;

  explicit operator bool() const { return of != nullptr; }
  Offered from(int64_t example) const { return {of, first + example}; }
};

// All of them.
struct Interfaces {
  Offered<Weighted> weighted;
  Offered<Counted> counted;
  Offered<Divisible> divisible;

  Interfaces from(int64_t example) const {
    return {weighted.from(example), counted.from(example), divisible.from(example)};
  }
};

// What holds for every example of a problem. Passes ask once.
struct Traits {
  unsigned offers = kArgmax;
  bool exact = true;  // whether inference finds the best output, the true sums, and so on
  bool has_gold = false;
  bool zero_one_is_of_parts = false;  // every output is a single part
  bool euclidean = true;              // the inner product of weights
  bool any_scores = true;             // inference takes any scores of parts, and not only those that weights give
};

// The combinatorics of a data set: no weights, no features.
class Structure {
 public:
  virtual ~Structure() = default;

  virtual int64_t size() const = 0;
  virtual int64_t parts(int64_t i) const = 0;
  virtual unsigned offers() const = 0;
  virtual bool exact() const { return true; }  // whether inference finds the best output, the true sums, and so on

  // How the parts lie, for feature maps. A row of features serves `columns` parts, one after another: the labels of one
  // token, or a single part that has a row of its own.
  virtual int64_t columns() const { return 1; }
  // Parts come in groups of `choice`, one after another, of which an output has exactly one. 1 means that nothing is
  // known: a part may be there or not, up to `repeats` times.
  virtual int64_t choice(int64_t) const { return 1; }
  virtual int64_t repeats(int64_t) const { return 1; }  // at most this often is one part in one output

  virtual bool has_gold() const = 0;
  virtual int64_t gold_count(int64_t) const { return 1; }        // how many outputs are good
  virtual void gold(int64_t i, int64_t k, Output& y) const = 0;  // the k-th of them, best first
  virtual double cost(int64_t i, double* delta) const = 0;
  virtual bool zero_one_is_of_parts() const { return false; }  // every output is a single part

  // Optional interfaces; null if there is none.
  virtual const Counted* counted() const { return nullptr; }
  virtual const Divisible* divisible() const { return nullptr; }
  virtual const WeightedSums* weighted() const { return nullptr; }
  virtual const SharedParts* shared() const { return nullptr; }

  // Hard constraints: -inf on the parts that no output of example i may have.
  virtual bool constrained() const { return false; }
  virtual void forbid(int64_t, double*) const {}

  virtual double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const = 0;
  virtual double logsum(int64_t, const double*, double*, Scratch&) const { return unsupported("logsum"), 0.0; }
  // The best output at each cost; those that are needless may be missing, so a structure need not search for them.
  virtual void argmax_by_cost(int64_t, const double*, const double*, const Needless&, std::vector<CostedOutput>&,
                              Scratch&) const {
    unsupported("argmax_by_cost");
  }
  virtual void kbest(int64_t, const double*, int64_t, std::vector<ScoredOutput>&, Scratch&) const {
    unsupported("kbest");
  }
  virtual void sample(int64_t, const double*, Random&, Output&, Scratch&) const { unsupported("sample"); }
  // The same as that many samples one after another, for structures that share work among them.
  virtual void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                           Scratch& scratch) const {
    for (Output& y : ys) {
      const Scratch::Frame frame(scratch);
      sample(i, theta, random, y, scratch);
    }
  }
  virtual double entropy(int64_t, const double*, double*, Scratch&) const { return unsupported("entropy"), 0.0; }
  // A bound on the score of every output, and the marginals of the point of the relaxation that has this score.
  virtual double relaxed_argmax(int64_t, const double*, double*, Scratch&) const {
    return unsupported("relaxed_argmax"), 0.0;
  }

  void check_example(int64_t i) const { check_number(i, size()); }
};

// logsum_weighted where nothing is saved by it.
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

  // The inner product of weights, and whether it is the Euclidean one.
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
  uint64_t serial() const { return serial_; }  // another one for every problem, while addresses are used again

  virtual Traits traits() const = 0;
  virtual Interfaces interfaces() const { return {}; }
  virtual int64_t parts(int64_t i) const = 0;
  virtual void score(int64_t i, const double* w, double* theta) const = 0;
  // Inference at weights: theta = scale A_i w, the answer and, of kLogsum and kRelaxed, the marginals mu (which
  // may be null otherwise). The caller frees what it takes from the scratch memory. A problem that knows its outputs
  // only by inference under weights answers in its own way; all others score the parts and use the inference below.
  virtual void infer(int64_t i, const double* w, const Question& question, double* theta, double* mu, Answer& answer,
                     Scratch& scratch) const {
    score(i, w, theta);
    if (question.scale != 1)
      for (int64_t k = 0; k < parts(i); ++k) theta[k] *= question.scale;
    infer_under(i, theta, question, mu, answer, scratch);
  }
  virtual void row(int64_t i, const double* v, Row& row) const = 0;
  virtual double radius(int64_t i) const = 0;
  // The k-th good output of example i, best first; returns how many there are, and leaves y alone if they are fewer.
  // Learners that want one take the first; the zero-one cost spares all of them where it is a sum over parts.
  virtual int64_t gold(int64_t i, int64_t k, Output& y) const = 0;
  virtual double cost(int64_t i, double* delta) const = 0;
  virtual void forbid(int64_t, double*) const {}

  virtual double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const = 0;
  virtual double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const = 0;
  virtual void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless& needless,
                              std::vector<CostedOutput>& ys, Scratch& scratch) const = 0;
  virtual void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
                     Scratch& scratch) const = 0;
  // As many samples as there is room for.
  virtual void sample(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                      Scratch& scratch) const = 0;
  virtual double entropy(int64_t i, const double* mu, double* t, Scratch& scratch) const = 0;
  virtual double relaxed_argmax(int64_t, const double*, double*, Scratch&) const {
    return unsupported("relaxed_argmax"), 0.0;
  }

  // Inference on several examples at once, at weights w and with beta times the scores; null where there is no such
  // thing. Its example 0 is example `first` of this problem.
  virtual std::unique_ptr<const LockStep> lock_step(const double*, double, int64_t) const { return nullptr; }

  // g += c A_i' mu. Problems that know a faster way than a sparse row override it.
  virtual void scatter(int64_t i, const double* mu, double c, double* g) const {
    Row row_of_mu;
    row(i, mu, row_of_mu);
    for (size_t k = 0; k < row_of_mu.index.size(); ++k) g[row_of_mu.index[k]] += c * row_of_mu.value[k];
  }

  // w += c A_i' v, and the change of 1/2 dot(w, w): what a dual step needs to know whether it gained.
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

  // The inner product of weights: Euclidean, unless a kernel says otherwise.
  virtual double dot(const double* u, const double* v) const { return loops().dot(u, v, dim_); }

  void check_example(int64_t i) const { check_number(i, size_); }

  // The zero-one cost where it is a sum over parts: 1 for every part but those of good outputs.
  void zero_one_cost(int64_t i, double* delta) const {
    std::fill(delta, delta + parts(i), 1.0);
    Output good;
    int64_t n = 1;
    for (int64_t k = 0; k < n; ++k) {
      n = gold(i, k, good);
      for (const int32_t part : good) delta[part] = 0;
    }
  }

  // The same question under scores of the parts.
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
  // The costs that a question is about.
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

// What state that belongs to a problem carries: cuts, caches, blocks, stored parts, sharing. Its numbers of parts and
// examples would point anywhere in another problem, so whoever gets both from Python compares them first.
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

// A structure with its features, bound to a data set.
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

  // Scores stay linear in w; constraints enter at inference only.
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
