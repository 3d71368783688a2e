// What the dual learners share: blocks of dual variables, one an example, and the weights that they imply.
//
// alpha_i is a distribution over the outputs of example i with expected parts mu_i, expected cost c_i and entropy H_i
// (docs/design.md, section 1). All learners keep w = w(alpha) = sum_i C_i A_i'(y_i - mu_i), and
//
//   D(alpha) = sum_i C_i (gamma c_i + H_i / beta) - 1/2 |w|^2,
//
// where C_i = C * sample_weight_i. A step changes one block, and w by C_i A_i'(mu_i - mu_i').
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <vector>

#include "batch.h"

namespace margrave {

// The dual ascent that a pass works on.
struct Ascent {
  const Problem& problem;
  LossFamily family;
  double C;
  const double* sample_weight;  // or null
  double* w;
  double* sum = nullptr;                         // of weighted updates, for learners that average
  const std::vector<int64_t>* common = nullptr;  // for several threads: see common_weights

  double weight(int64_t i) const { return sample_weight ? C * sample_weight[i] : C; }
};

// The weights that many examples have in common: those that at least a few of a sample of the examples touch.
inline std::vector<int64_t> common_weights(const Problem& problem) {
  constexpr int64_t kSample = 128;
  constexpr int kFew = 10;
  std::vector<int> touched(static_cast<size_t>(problem.dim()), 0);
  Row row;
  const int64_t every = std::max<int64_t>(1, problem.size() / kSample);
  for (int64_t i = 0; i < problem.size(); i += every) {
    problem.row(i, std::vector<double>(static_cast<size_t>(problem.parts(i)), 1.0).data(), row);
    for (const int64_t k : row.index) ++touched[static_cast<size_t>(k)];
  }
  std::vector<int64_t> common;
  for (int64_t k = 0; k < problem.dim(); ++k)
    if (touched[static_cast<size_t>(k)] >= std::min<int64_t>(kFew, problem.size())) common.push_back(k);
  return common;
}

// Weights that several threads change, each in a copy of its own: a shared copy would travel between the processors'
// caches at every step. Now and then a thread adds its changes to the weights of all and takes over those of others:
// of the common weights often, since a step that does not know of other steps on them goes too far; of the rest a slice
// at a time. When all have ended, w is w(alpha) again.
class Exchange {
 public:
  static constexpr int64_t kVisits = 16;  // of a thread between two exchanges
  static constexpr int64_t kSlices = 32;

  Exchange(double* w, int64_t dim, const std::vector<int64_t>& common) : w_(w), dim_(dim), common_(common) {}

  class Copy {
   public:
    explicit Copy(Exchange& exchange)
        : exchange_(exchange), own_(exchange.w_, exchange.w_ + exchange.dim_), known_(own_) {}

    double* w() { return own_.data(); }
    void exchange() {
      const std::lock_guard guard(exchange_.mutex_);
      for (const int64_t k : exchange_.common_) settle(static_cast<size_t>(k));
      const int64_t dim = exchange_.dim_;
      settle(dim * slice_ / kSlices, dim * (slice_ + 1) / kSlices);
      slice_ = (slice_ + 1) % kSlices;
    }
    void finish() {
      const std::lock_guard guard(exchange_.mutex_);
      settle(0, exchange_.dim_);
    }

   private:
    void settle(size_t k) {
      double& all = exchange_.w_[k];
      all += own_[k] - known_[k];
      own_[k] = known_[k] = all;
    }
    void settle(int64_t begin, int64_t end) {
      double* __restrict all = exchange_.w_;
      double* __restrict own = own_.data();
      double* __restrict known = known_.data();
      for (int64_t k = begin; k < end; ++k) {
        all[k] += own[k] - known[k];
        own[k] = known[k] = all[k];
      }
    }

    Exchange& exchange_;
    std::vector<double> own_;
    std::vector<double> known_;  // the weights of all when this thread last looked
    int64_t slice_ = 0;
  };

 private:
  double* w_;
  int64_t dim_;
  const std::vector<int64_t>& common_;
  std::mutex mutex_;
};

// Calls visit(ascent, i, k, worker) for example i = order[k], for k = 0, 1 and so on. Of several threads each has its
// own examples and its own copy of the weights. Examples without weight are left alone.
template <typename Visit>
void for_visits(const Ascent& ascent, const std::vector<int64_t>& order, int threads, const Poll& poll,
                const Visit& visit) {
  for (const int64_t i : order) ascent.problem.check_example(i);
  const auto visits = static_cast<int64_t>(order.size());
  const auto visit_one = [&](const Ascent& own, int64_t k, Worker& worker) {
    const int64_t i = order[static_cast<size_t>(k)];
    if (own.weight(i) == 0) return;
    worker.make_room(own.problem.parts(i));
    visit(own, i, k, worker);
  };
  if (threads == 1) {
    Worker worker;
    for (int64_t k = 0; k < visits; ++k) {
      visit_one(ascent, k, worker);
      if ((k + 1) % kPollEvery == 0) poll();
    }
    return;
  }

  const auto dim = static_cast<size_t>(ascent.problem.dim());
  std::vector<std::vector<double>> sums(ascent.sum ? static_cast<size_t>(threads) : 0, std::vector<double>(dim));
  Exchange exchange(ascent.w, ascent.problem.dim(), *ascent.common);
  std::atomic<bool> stopped{false};
  const auto work = [&](int64_t share, int thread) {
    Worker worker;
    Exchange::Copy copy(exchange);
    Ascent own = ascent;
    own.w = copy.w();
    if (own.sum) own.sum = sums[static_cast<size_t>(share)].data();
    int64_t done = 0;
    for (int64_t k = 0; k < visits && !stopped; ++k) {
      if (order[static_cast<size_t>(k)] % threads != share) continue;
      visit_one(own, k, worker);
      if (++done % Exchange::kVisits == 0) copy.exchange();
      if (thread == 0 && done % kPollEvery == 0) poll();
    }
    copy.finish();
  };
  for_blocks(threads, threads, work, [&] { stopped = true; });
  for (const std::vector<double>& sum : sums)
    for (size_t k = 0; k < dim; ++k) ascent.sum[k] += sum[k];
}

// v = theta + gamma delta, and c0. `delta` is filled only where gamma > 0; EG and SMO need costs that are sums over
// parts.
inline double augment(const Problem& problem, int64_t i, const LossFamily& family, const double* theta, double* delta,
                      double* v) {
  const int64_t n = problem.parts(i);
  std::copy(theta, theta + n, v);
  if (family.gamma == 0) return 0;
  const double c0 = family.cost(problem, i, delta);
  kernels().add_scaled(delta, family.gamma, v, n);
  return c0;
}

// One step along a line: w += C_i s A_i'd raises D by s * slope - s^2 * bend / 2, with bend = C_i^2 |A_i'd|^2. A trial
// step of the whole length measures the bend, which spares a sparse vector; `theta_d` = <A_i w, d>.
class LineStep {
 public:
  LineStep(const Ascent& ascent, int64_t i, const double* d, double theta_d)
      : ascent_(ascent), i_(i), d_(d), C_(ascent.weight(i)), change_(ascent.problem.move(i, d, C_, ascent.w)) {
    bend_ = std::max(0.0, 2 * (change_ - C_ * theta_d));
  }

  double bend() const { return bend_; }
  double change() const { return change_; }  // of 1/2 |w|^2 since the beginning
  double best(double slope, double most) const {
    const double s = slope < bend_ * most ? slope / bend_ : most;
    return std::fabs(s - at_) < kNear ? at_ : s;
  }

  // Goes to s of the whole length.
  void go(double s) {
    if (s == at_) return;
    change_ += ascent_.problem.move(i_, d_, C_ * (s - at_), ascent_.w);
    at_ = s;
  }

  // Goes to the best s up to `most`; gain(s) is what D gains beside the change of 1/2 |w|^2. Where D would fall,
  // because the gain drowns in rounding, the step is taken back: 0.
  template <typename Gain>
  double ascend(double slope, double most, const Gain& gain) {
    double s = slope > 0 ? best(slope, most) : 0;
    go(s);
    for (int trial = 0; s > 0 && !(gain(s) >= change_); ++trial) {
      s = trial < kHalvings ? s / 2 : 0;
      go(s);
    }
    return s;
  }

 private:
  static constexpr int kHalvings = 3;
  static constexpr double kNear = 1e-6;  // of the best step: D cannot tell, and a move is spared

  const Ascent& ascent_;
  int64_t i_;
  const double* d_;
  double C_;
  double change_;
  double bend_;
  double at_ = 1;
};

// w(alpha) = sum_i C_i A_i'(y_i - mu_i): what an interrupted step, or rounding, may have left behind.
inline void weights_of(const Problem& problem, const double* mu, double C, const double* sample_weight, int threads,
                       const Poll& poll, double* w) {
  const std::vector<int64_t> begin = part_offsets(problem);
  const auto visit = [&](int64_t i, Worker& worker, double* sum) {
    const double* own = mu + begin[static_cast<size_t>(i)];
    for (int64_t k = 0; k < problem.parts(i); ++k) worker.direction[static_cast<size_t>(k)] = -own[k];
    problem.gold(i, 0, worker.gold);
    for (const int32_t part : worker.gold) worker.direction[static_cast<size_t>(part)] += 1;
    problem.scatter(i, worker.direction.data(), sample_weight ? C * sample_weight[i] : C, sum);
  };
  sum_over_examples(problem, threads, poll, visit, w);
}

}  // namespace margrave
