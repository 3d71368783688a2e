// How threads that ascend the same dual, each on a copy of the weights, exchange changes.
#pragma once

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "protocol/features.h"
#include "protocol/interfaces.h"
#include "protocol/problem.h"
#include "simd/loops.h"
#include "threads/parallel.h"

namespace margrave {

// How often threads with copies of the weights exchange changes (see Exchange). Weights are in tiers, by the share of
// the examples that touch them. A weight of a tier is exchanged every 2^tier exchanges, so few steps on it happen in
// between.
//
// It also holds the threads' caution. A step that ignores the other threads' steps may undo their gains. Threads that
// each go to the best weights for their own examples go too far together, by a factor of up to their number, and D
// stops rising or falls. A cautious thread multiplies the curvature of D along its unpublished changes, as in CoCoA+
// (Ma et al. 2015). D cannot fall if the factor is the number of threads and all of them exchange everything at the
// same time. Smaller factors usually suffice, and allow longer steps. The factor is therefore adapted from pass to
// pass, by comparing the gain of D with the apparent gains of the steps.
class Sharing {
 public:
  struct Run {  // consecutive weights
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
    else  // every coefficient of a kernel affects every example's scores
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

  // To be called after a pass in which D gained `gained`, and the gains of its steps sum to `seen`.
  void adapt_caution(double seen, double gained) {
    if (gained < kTooLittle * seen)
      caution_ = std::min(caution_ * kRise, most_);
    else if (gained > kPlenty * seen)
      caution_ = std::max(caution_ / kDecay, 1.0);
  }

  // Calls visit(run) for the weights of this exchange, and expect(run) a little before.
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
  static constexpr double kOften = 0.3;  // share of the examples that puts a weight into the first tier
  static constexpr int64_t kLongest = 64;
  static constexpr size_t kAhead = 12;
  static constexpr double kTooLittle = 0.85;  // of the gains seen; below it, the gain soon vanishes
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

// Weights that several threads change, each in its own copy: a shared copy would travel between the processors' caches
// at every step. Now and then, a thread adds its changes to the common weights and takes over those of others. Weights
// that many examples touch are exchanged more often, since a step that ignores other steps on them goes too far.
class Exchange {
 public:
  static constexpr int64_t kVisits = 8;       // visits of a thread between two exchanges
  static constexpr int64_t kMostVisits = 12;  // visits after which it waits for its turn

  Exchange(double* w, const Sharing& sharing, double caution, int threads)
      : w_(w), sharing_(sharing), share_(1 / caution), copies_(static_cast<size_t>(threads)) {}

  class Copy {
   public:
    void begin(Exchange& exchange) {
      exchange_ = &exchange;
      const std::lock_guard lock(exchange.mutex_);  // threads that began before may exchange already
      own_.assign(exchange.w_, exchange.w_ + exchange.sharing_.dim());
      known_ = own_;
    }
    double* w() { return own_.data(); }

    // Called after every visit. If another thread is exchanging, one of the next visits will try again. It must not be
    // much later: a thread may lose its processor while it exchanges, or hold the lock most of the time.
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
    std::vector<double> known_;  // the common weights at the last exchange of this thread
    int64_t visits_ = 0;
    int64_t exchanges_ = 0;
  };

  Copy& copy(int64_t thread) { return copies_[thread]; }

  // To be called when all threads have ended: w is w(alpha) again.
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
  static constexpr int64_t kLine = 8;  // doubles per cache line

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

}  // namespace margrave
