// What the dual learners share: blocks of dual variables, one per example, and the weights that they imply.
//
// alpha_i is a distribution over the outputs of example i with expected parts mu_i, expected cost c_i and entropy H_i
// (docs/background/learning.md). All learners keep w = w(alpha) = sum_i C_i A_i'(y_i - mu_i), and
//
//   D(alpha) = sum_i C_i (gamma c_i + H_i / beta) - 1/2 |w|^2,
//
// where C_i = C * sample_weight_i. A step changes one block, and w by C_i A_i'(mu_i - mu_i').
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "passes/batch.h"

namespace margrave {

// How often threads that work on copies of the weights tell each other of changes (see Exchange): of a weight that a
// share f of the examples touches every 2^tier exchanges, so that few steps on it go by in the meantime.
//
// It also holds the threads' caution. A step that does not know of the other threads' steps may undo what they gained:
// threads that each go to the best weights for their own examples go too far together, by a factor of up to their
// number, and D stops rising or falls. A thread that is cautious multiplies the curvature of D along the changes that
// it has not told yet, as in CoCoA+ (Ma et al. 2015): D cannot fall if the factor is the number of threads and all of
// them exchange everything at the same time. Smaller factors are mostly enough, and allow longer steps. Hence the
// factor is adapted from pass to pass, by what D gained in comparison to what the steps seemed to gain.
class Sharing {
 public:
  struct Run {  // of neighboring weights
    int64_t begin;
    int64_t end;
  };

  Sharing(const Problem& problem, int threads)
      : owner_(problem), dim_(problem.dim()), most_(kMostCaution * threads), tiers_(kTiers) {
    const int64_t every = std::max<int64_t>(1, problem.size() / kSample);
    const int64_t samples = (problem.size() + every - 1) / every;
    std::vector<int> touched(static_cast<size_t>(problem.dim()), 0);
    std::mutex mutex;
    const auto sample = [&](int64_t s, int) {
      Row row;
      const std::vector<double> ones(static_cast<size_t>(problem.parts(s * every)), 1.0);
      problem.row(s * every, ones.data(), row);
      const std::lock_guard guard(mutex);
      for (const int64_t k : row.index) ++touched[k];
    };
    if (problem.traits().euclidean)
      for_blocks(samples, threads, sample, [] {});
    else  // every coefficient of a kernel has a part in every example's scores
      std::fill(touched.begin(), touched.end(), static_cast<int>(samples));
    for (int64_t k = 0; k < dim_; ++k) {
      std::vector<Run>& runs = tiers_[tier(touched[k] / static_cast<double>(samples))];
      if (!runs.empty() && runs.back().end == k && runs.back().end - runs.back().begin < kLongest)
        ++runs.back().end;
      else
        runs.push_back({k, k + 1});
    }
  }

  void check(const Problem& problem) const { owner_.check(problem, "this sharing of weights"); }
  int64_t dim() const { return dim_; }
  double caution() const { return caution_; }

  // After a pass in which D gained `gained`, while the sum of the gains that its steps saw is `seen`.
  void adapt_caution(double seen, double gained) {
    if (gained < kTooLittle * seen)
      caution_ = std::min(caution_ * kRise, most_);
    else if (gained > kPlenty * seen)
      caution_ = std::max(caution_ / kDecay, 1.0);
  }

  // Calls visit(run) for the weights that the exchange of this number is about, and expect(run) a little before.
  template <typename Expect, typename Visit>
  void for_runs(int64_t exchange, const Expect& expect, const Visit& visit) const {
    for (size_t tier = 0; tier < tiers_.size(); ++tier) {
      const std::vector<Run>& runs = tiers_[tier];
      const size_t period = size_t{1} << tier, slice = static_cast<size_t>(exchange) % period;
      const size_t begin = runs.size() * slice / period, end = runs.size() * (slice + 1) / period;
      for (size_t r = begin; r < end + kAhead; ++r) {
        if (r < end) expect(runs[r]);
        if (r >= begin + kAhead) visit(runs[r - kAhead]);
      }
    }
  }

 private:
  static constexpr int64_t kSample = 128;
  static constexpr int kTiers = 11;
  static constexpr double kOften = 0.3;  // the share of the examples that puts a weight into the first tier
  static constexpr int64_t kLongest = 64;
  static constexpr size_t kAhead = 12;
  static constexpr double kTooLittle = 0.85;  // of the gains that were seen; once it is less, it soon is none
  static constexpr double kPlenty = 0.97;
  static constexpr double kRise = 1.3;
  static constexpr double kDecay = 1.1;
  static constexpr double kMostCaution = 4;  // times the number of threads, which do not exchange at the same time

  static int tier(double share) {
    const double above = kOften / std::max(share, 1e-9);
    return std::clamp(static_cast<int>(std::ceil(std::log2(above))), 0, kTiers - 1);
  }

  OfProblem owner_;
  int64_t dim_;
  double caution_ = 1;
  double most_;
  std::vector<std::vector<Run>> tiers_;
};

// The dual ascent that a pass works on.
struct Ascent {
  const Problem& problem;
  const LossFamily& family;
  double* w;
  double* sum = nullptr;       // of weighted updates, for learners that average
  Sharing* sharing = nullptr;  // for several threads
  double caution = 1;          // the factor on curvatures (see Sharing); w holds this multiple of own changes

  double weight(int64_t i) const { return family.weight(i); }
  // Moves w by c A_i'd; returns the change of 1/2 |w|^2 with the curvature of a cautious step.
  template <typename Example>
  double move(const Example& move_example, double c) const {
    return move_example(caution * c) / caution;
  }
};

// Weights that several threads change, each in a copy of its own: a shared copy would travel between the processors'
// caches at every step. Now and then a thread adds its changes to the weights of all and takes over those of others,
// often of those that many examples touch, since a step that does not know of other steps on them goes too far.
class Exchange {
 public:
  static constexpr int64_t kVisits = 8;       // of a thread between two exchanges
  static constexpr int64_t kMostVisits = 12;  // after which it waits for its turn

  Exchange(double* w, const Sharing& sharing, double caution, int threads)
      : w_(w), sharing_(sharing), share_(1 / caution), copies_(static_cast<size_t>(threads)) {}

  class Copy {
   public:
    void begin(Exchange& exchange) {
      exchange_ = &exchange;
      own_.assign(exchange.w_, exchange.w_ + exchange.sharing_.dim());
      known_ = own_;
    }
    double* w() { return own_.data(); }

    // Called after every visit; where another thread is exchanging just now, one of the next visits will do. It must
    // not be much later: a thread may lose its processor while it exchanges, or hold the lock most of the time.
    void visited() {
      if (++visits_ < kVisits) return;
      std::unique_lock lock(exchange_->mutex_, std::defer_lock);
      if (visits_ >= kMostVisits)
        lock.lock();
      else if (!lock.try_lock())
        return;
      visits_ = 0;
      exchange_->sharing_.for_runs(
          exchanges_++, [&](const Sharing::Run& run) { exchange_->prefetch(run); },
          [&](const Sharing::Run& run) { exchange(run); });
    }

   private:
    friend Exchange;

    void exchange(const Sharing::Run& run) {
      loops().exchange(exchange_->w_ + run.begin, own_.data() + run.begin, known_.data() + run.begin, exchange_->share_,
                       run.end - run.begin);
    }
    void add_changes(int64_t begin, int64_t end, double* w) const {
      for (int64_t k = begin; k < end; ++k) w[k] += exchange_->share_ * (own_[k] - known_[k]);
    }

    Exchange* exchange_ = nullptr;
    std::vector<double> own_;
    std::vector<double> known_;  // the weights of all when this thread last looked
    int64_t visits_ = 0;
    int64_t exchanges_ = 0;
  };

  Copy& copy(int64_t thread) { return copies_[thread]; }

  // When all threads have ended: w is w(alpha) again.
  void finish() {
    const auto threads = static_cast<int>(copies_.size());
    const int64_t dim = sharing_.dim();
    const auto add = [&](int64_t block, int) {
      for (const Copy& copy : copies_)
        if (copy.exchange_) copy.add_changes(dim * block / threads, dim * (block + 1) / threads, w_);
    };
    for_blocks(threads, threads, add, [] {});
  }

 private:
  static constexpr int64_t kLine = 8;  // numbers in a cache line

  // The other thread has written there.
  void prefetch(const Sharing::Run& run) const {
    for (int64_t k = run.begin; k < run.end; k += kLine) __builtin_prefetch(w_ + k, 1);
    __builtin_prefetch(w_ + run.end - 1, 1);
  }

  double* w_;
  const Sharing& sharing_;
  double share_;  // of the changes in a copy that are real
  std::vector<Copy> copies_;
  std::mutex mutex_;
};

// What D gains by steps.
struct Gains {
  double value = 0;  // beside the change of 1/2 |w|^2
  double seen = 0;   // in all, as the steps see it that know nothing of other threads

  void add(const Gains& other) {
    value += other.value;
    seen += other.seen;
  }
};

// What a thread of a pass has for itself.
struct AscentWorker : Worker {
  double longest = 0;  // the longest step of the pass so far (may_try)
  Gains gains;
};

// Keeps threads apart that visit the same example, which an order may name more than once.
class Turns {
 public:
  Turns(const std::vector<int64_t>& order, int64_t examples) {
    std::vector<char> named(static_cast<size_t>(examples), 0);
    const bool repeats = std::any_of(order.begin(), order.end(),
                                     [&](int64_t i) { return std::exchange(named[i], static_cast<char>(1)) != 0; });
    if (repeats) taken_ = std::vector<std::atomic<bool>>(static_cast<size_t>(examples));
  }

  class Turn {
   public:
    Turn(Turns& turns, int64_t i) : taken_(turns.taken_.empty() ? nullptr : &turns.taken_[i]) {
      while (taken_ && taken_->exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    }
    ~Turn() {
      if (taken_) taken_->store(false, std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::atomic<bool>* taken_;
  };

 private:
  std::vector<std::atomic<bool>> taken_;
};

// Calls visit(ascent, i, k, worker) for example i = order[k], for k = 0, 1 and so on. Examples without weight are left
// alone. Returns what the steps gained.
//
// Several threads have copies of the weights, and each takes the next few visits of the order when it is done with its
// last ones. No thread has examples of its own: where threads do not run at the same pace, passes would then visit the
// same set of examples after the same other one, and mass that should move between the sets hardly does, as in passes
// without shuffling. Now the slowest of schedules is that of one thread.
inline constexpr int64_t kTaken = 8;  // visits at a time

template <typename Visit>
Gains for_visits(const Ascent& ascent, const std::vector<int64_t>& order, int threads, const Poll& poll,
                 const Visit& visit) {
  for (const int64_t i : order) ascent.problem.check_example(i);
  const auto visits = static_cast<int64_t>(order.size());
  const auto visit_one = [&](const Ascent& own, int64_t k, AscentWorker& worker) {
    const int64_t i = order[k];
    if (own.weight(i) == 0) return;
    worker.make_room(own.problem.parts(i));
    visit(own, i, k, worker);
  };
  if (threads == 1) {
    AscentWorker worker;
    for (int64_t k = 0; k < visits; ++k) {
      visit_one(ascent, k, worker);
      if ((k + 1) % kPollEvery == 0) poll();
    }
    return worker.gains;
  }

  const auto dim = static_cast<size_t>(ascent.problem.dim());
  std::vector<std::vector<double>> sums(ascent.sum ? static_cast<size_t>(threads) : 0, std::vector<double>(dim));
  std::vector<Gains> gains(static_cast<size_t>(threads));
  Exchange exchange(ascent.w, *ascent.sharing, ascent.caution, threads);
  Turns turns(order, ascent.problem.size());
  std::atomic<bool> stopped{false};
  std::atomic<int64_t> taken{0};  // visits
  const auto work = [&](int64_t share, int thread) {
    int64_t k = taken.fetch_add(kTaken);
    if (k >= visits) return;
    AscentWorker worker;
    Exchange::Copy& copy = exchange.copy(share);
    copy.begin(exchange);
    Ascent own = ascent;
    own.w = copy.w();
    if (own.sum) own.sum = sums[share].data();
    int64_t done = 0;
    for (; k < visits && !stopped; k = taken.fetch_add(kTaken)) {
      for (int64_t end = std::min(k + kTaken, visits); k < end && !stopped; ++k) {
        const Turns::Turn turn(turns, order[k]);
        visit_one(own, k, worker);
        copy.visited();
        if (thread == 0 && ++done % kPollEvery == 0) poll();
      }
    }
    gains[share] = worker.gains;
  };
  const auto together = [&] {
    exchange.finish();
    for (const std::vector<double>& sum : sums)
      for (size_t k = 0; k < dim; ++k) ascent.sum[k] += sum[k];
  };
  try {
    for_blocks(threads, threads, work, [&] { stopped = true; });
  } catch (...) {
    together();
    throw;
  }
  together();
  Gains all;
  for (const Gains& one : gains) all.add(one);
  return all;
}

// The same for visits that raise D and say by how much (AscentWorker::gains): several threads are as cautious as the
// last passes suggest.
template <typename Visit>
void ascend(Ascent ascent, const std::vector<int64_t>& order, int threads, const Poll& poll, const Visit& visit) {
  if (threads == 1) {
    for_visits(ascent, order, threads, poll, visit);
    return;
  }
  const auto half_square = [&] { return 0.5 * ascent.problem.dot(ascent.w, ascent.w); };
  ascent.caution = ascent.sharing->caution();
  const double before = half_square();
  const Gains gains = for_visits(ascent, order, threads, poll, visit);
  const double gained = gains.value - (half_square() - before);
  ascent.sharing->adapt_caution(gains.seen, gained);
}

// v = theta + gamma delta, and c0. `delta` is filled only where gamma > 0; EG and SMO need costs that are sums over
// parts.
inline double augment(const Problem& problem, int64_t i, const LossFamily& family, const double* theta, double* delta,
                      double* v) {
  const int64_t n = problem.parts(i);
  std::copy(theta, theta + n, v);
  if (family.gamma == 0) return 0;
  const double c0 = family.cost(problem, i, delta);
  loops().add_scaled(delta, family.gamma, v, n);
  return c0;
}

// Whether a trial step of length `whole` does no harm. It measures the curvature along a direction, which spares a
// sparse vector, but what is taken back of it leaves its rounding in the weights. A trial of up to kLonger times the
// longest step of the pass does no harm, since the weights have the rounding of that step; C may be any number of times
// longer.
inline bool may_try(double whole, double longest) {
  constexpr double kLonger = 1000;
  return whole <= kLonger * longest;
}

// |A_i'd|^2 without a trial.
inline double square_of(const Problem& problem, int64_t i, const double* d) {
  if (!problem.traits().euclidean) {
    std::vector<double> zeros(static_cast<size_t>(problem.dim()));
    return 2 * problem.move(i, d, 1.0, zeros.data());
  }
  Row row;
  problem.row(i, d, row);
  double sum = 0;
  for (const double value : row.value) sum += value * value;
  return sum;
}

// One step along a line: w += C_i s A_i'd raises D by s * slope - s^2 * bend / 2, with bend = C_i^2 |A_i'd|^2 (times
// the caution of several threads). A trial step of the whole length measures the bend; `theta_d` = <A_i w, d>.
class LineStep {
 public:
  // For directions that end near the best step.
  LineStep(const Ascent& ascent, int64_t i, const double* d, double theta_d, AscentWorker& worker)
      : ascent_(ascent), i_(i), d_(d), C_(ascent.weight(i)), gains_(worker.gains) {
    measure(theta_d);
  }

  // Without a trial where it would be much longer than all steps of the pass; remembers the length of this one.
  LineStep(const Ascent& ascent, int64_t i, const double* d, double theta_d, double slope, double most,
           AscentWorker& worker)
      : ascent_(ascent), i_(i), d_(d), C_(ascent.weight(i)), gains_(worker.gains) {
    if (may_try(C_, worker.longest))
      measure(theta_d);
    else
      bend_ = ascent.caution * C_ * C_ * square_of(ascent.problem, i, d);
    if (bend_ > 0) worker.longest = std::max(worker.longest, C_ * best(slope, most));
  }

  double bend() const { return bend_; }
  double change() const { return change_; }  // of 1/2 |w|^2 since the beginning
  double best(double slope, double most) const {
    const double s = slope < bend_ * most ? slope / bend_ : most;
    return std::fabs(s - at_) < kNear * at_ ? at_ : s;
  }

  // Moves to s of the whole length.
  void move_to(double s) {
    if (s == at_) return;
    change_ += move(C_ * (s - at_));
    at_ = s;
  }

  // Moves to the best s up to `most`; gain(s) is what D gains beside the change of 1/2 |w|^2. Where D would fall,
  // because the gain drowns in rounding, the step is taken back: 0.
  template <typename Gain>
  double ascend(double slope, double most, const Gain& gain) {
    double s = slope > 0 ? best(slope, most) : 0;
    move_to(s);
    for (int trial = 0; s > 0 && !(gain(s) >= change_); ++trial) {
      s = trial < kHalvings ? s / 2 : 0;
      move_to(s);
    }
    accept(gain(s));
    return s;
  }

  // Notes what the step gains; `value` is that beside the change of 1/2 |w|^2.
  void accept(double value) { gains_.add({value, value - change_}); }

 private:
  static constexpr int kHalvings = 3;
  static constexpr double kNear = 1e-6;  // of the best step: D cannot tell, and a move is spared

  double move(double c) {
    return ascent_.move([&](double scaled) { return ascent_.problem.move(i_, d_, scaled, ascent_.w); }, c);
  }
  void measure(double theta_d) {
    at_ = 1;
    change_ = move(C_);
    bend_ = std::max(0.0, 2 * (change_ - C_ * theta_d));
  }

  const Ascent& ascent_;
  int64_t i_;
  const double* d_;
  double C_;
  Gains& gains_;
  double at_ = 0;  // how far w has gone, as a share of the whole length
  double change_ = 0;
  double bend_ = 0;
};

// Which parts of the examples a learner stores numbers for, and where: those of all examples lie one after another.
//
// By default these are all parts. A learner whose numbers are 0 for ever where a part has no weight stores only the
// weighted parts. The exceptions are examples in which another part is gold or has a cost: all of theirs are stored.
class StoredParts {
 public:
  explicit StoredParts(const Problem& problem)
      : owner_(problem), begin_(part_offsets(problem)), all_(begin_.size() - 1, 1) {}
  StoredParts(const Problem& problem, const LossFamily& family, int threads, const Poll& poll)
      : owner_(problem),
        weighted_(problem.interfaces().weighted),
        begin_{0},
        all_(static_cast<size_t>(problem.size()), 0) {
    for_examples(problem, threads, poll,
                 [&](int64_t i, int, Worker& worker) { all_[i] = needs_all(problem, family, i, worker); });
    for (int64_t i = 0; i < problem.size(); ++i) begin_.push_back(begin_.back() + of(problem, i).size());
  }

  int64_t size() const { return begin_.back(); }
  int64_t begin(int64_t i) const { return begin_[i]; }
  bool all(int64_t i) const { return all_[i] != 0; }
  WeightedParts of(const Problem& problem, int64_t i) const {
    return all(i) ? WeightedParts::all(problem.parts(i)) : weighted_.of->weighted_parts(weighted_.first + i);
  }
  const Offered<Weighted>& weighted() const { return weighted_; }

  void check(const Problem& problem) const { owner_.check(problem, "this set of stored parts"); }

 private:
  bool needs_all(const Problem& problem, const LossFamily& family, int64_t i, Worker& worker) const {
    if (!weighted_) return true;
    const WeightedParts weighted = weighted_.of->weighted_parts(weighted_.first + i);
    if (weighted.size() == problem.parts(i)) return true;
    problem.gold(i, 0, worker.gold);
    if (!std::all_of(worker.gold.begin(), worker.gold.end(), [&](int32_t part) { return weighted.has(part); }))
      return true;
    if (family.gamma == 0) return false;
    double* delta = worker.theta.data();
    family.cost(problem, i, delta);
    weighted.each([&](int64_t, int64_t part) { delta[part] = 0; });
    return std::any_of(delta, delta + problem.parts(i), [](double value) { return value != 0; });
  }

  OfProblem owner_;
  Offered<Weighted> weighted_;  // of the owner
  std::vector<int64_t> begin_;
  std::vector<char> all_;  // whether all parts of an example are stored
};

// One example as the stored parts show it: scores, natural parameters, marginals and so on lie side by side. Other
// parts have no weight and no cost, and inference sees a score of 0.
class StoredExample {
 public:
  StoredExample(const Problem& problem, const StoredParts& stored, int64_t i)
      : problem_(problem),
        i_(i),
        all_(stored.all(i)),
        parts_(stored.of(problem, i)),
        weighted_(stored.weighted().from(i)) {}

  int64_t size() const { return parts_.size(); }
  const WeightedParts& parts() const { return parts_; }

  void score(const double* w, double* theta) const {
    all_ ? problem_.score(i_, w, theta) : weighted_.of->score_weighted(weighted_.first, w, theta);
  }
  double move(const double* v, double c, double* w) const {
    return all_ ? problem_.move(i_, v, c, w) : weighted_.of->move_weighted(weighted_.first, v, c, w);
  }
  double logsum(const double* t, double* mu, Scratch& scratch) const {
    return all_ ? problem_.logsum(i_, t, mu, scratch) : weighted_.of->logsum_weighted(weighted_.first, t, mu, scratch);
  }
  // `delta` has room for all parts.
  double cost(const LossFamily& family, double* delta) const {
    const double c0 = family.cost(problem_, i_, delta);
    if (!all_) parts_.pack(delta, delta);
    return c0;
  }

 private:
  const Problem& problem_;
  int64_t i_;
  bool all_;
  WeightedParts parts_;
  Offered<Weighted> weighted_;
};

// w(alpha) = sum_i C_i A_i'(y_i - mu_i): what an interrupted step, or rounding, may have left behind.
inline void weights_of(const Problem& problem, const LossFamily& family, const StoredParts& stored, const double* mu,
                       int threads, const Poll& poll, double* w) {
  family.check(problem);
  const auto visit = [&](int64_t i, Worker& worker, double* sum) {
    const double* own = mu + stored.begin(i);
    stored.of(problem, i).each([&](int64_t k, int64_t part) { worker.direction[part] = -own[k]; });
    problem.gold(i, 0, worker.gold);
    for (const int32_t part : worker.gold) worker.direction[part] += 1;
    problem.scatter(i, worker.direction.data(), family.weight(i), sum);
  };
  sum_over_examples(problem, threads, poll, visit, w);
}

}  // namespace margrave
