// Belief propagation on factor graphs (engines/factor_graphs.h): sum-product, max-product, and tree-reweighted.
//
// The messages m_fv of a factor f to a variable v, and n_vf of v to f, are logs over the labels of v:
//
//   B_v = u_v + sum_f rho_f m_fv         beliefs; u_v: the scores of the factors of v alone
//   n_vf = B_v - m_fv
//   m_fv(l) <- log sum over labelings x of f with x_v = l of exp(theta_f(x) / rho_f + sum_{w != v} n_wf(x_w))
//
// with rho = 1, and max in place of log sum for max-product. Messages have the maximum 0. At any messages
//
//   log Z ~ sum_f log Z_f(n) + sum_v (1 - d_v) log sum_l exp B_v(l)             (Bethe; d_v: the factors of v)
//
// where Z_f is the sum of exp(theta_f + sum_v n_vf). It is exact on trees. It is stationary at fixed points, where its
// derivatives by the scores are the pseudo-marginals.
//
// Tree-reweighted (Wainwright, Jaakkola and Willsky 2005), for pairwise graphs without hard factors: rho_f is the share
// of the spanning forests T that contain f. At any messages, the scores B_v and theta_f / rho_f - m_fv - m_fw of
// forests sum to theta on average. So the mean of their log Z is an upper bound on log Z, whether messages have
// converged or not.
//
// A factor of two variables stores exp(theta - max). A message is then the product of a matrix with a vector. It is
// repeated in logs if a sum is so small that underflow may have changed it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "engines/factor_graphs.h"
#include "engines/hard_factors.h"
#include "engines/message_layout.h"
#include "protocol/checks.h"

namespace margrave {

enum class Schedule { kSequential, kParallel, kResidual };

struct PropagationSettings {
  Schedule schedule = Schedule::kSequential;
  int sweeps = 100;         // at most
  double tolerance = 1e-6;  // of the largest change of a message
  double damping = 0;       // the share of the old message that is kept
};

struct Propagated {
  double value = -kInfinity;
  bool converged = true;
  int sweeps = 0;
};

class FactorMessages {
 public:
  // theta: by part. mu, if not null: their pseudo-marginals. from: the `messages` of an earlier run, or empty.
  template <bool Max>
  Propagated run(const FactorGraphs& graphs, int64_t g, const MessageLayout& layout, const double* theta,
                 const PropagationSettings& settings, double* mu, const double* rho = nullptr,
                 const std::vector<double>& from = {}) {
    start(graphs, g, layout, theta, rho);
    if (!from.empty()) resume(from);
    Propagated result;
    std::vector<double> priority;
    for (result.sweeps = 0; result.sweeps < settings.sweeps && !layout.senders.empty();) {
      ++result.sweeps;
      const double change = settings.schedule == Schedule::kSequential ? sequential<Max>(settings, result.sweeps)
                            : settings.schedule == Schedule::kParallel ? parallel<Max>(settings)
                                                                       : residual<Max>(settings, priority);
      result.converged = change <= settings.tolerance;
      if (result.converged) break;
    }
    result.value = Max ? -kInfinity : bethe();
    if (mu && !Max) marginals(mu);
    return result;
  }

  // One more sweep, for callers that inspect the state between sweeps.
  template <bool Max>
  double sweep(const PropagationSettings& settings) {
    return parallel<Max>(settings);
  }
  void start(const FactorGraphs& graphs, int64_t g, const MessageLayout& layout, const double* theta,
             const double* rho = nullptr) {
    graphs_ = &graphs;
    g_ = g;
    layout_ = &layout;
    theta_ = theta;
    rho_ = rho;
    load();
  }

  // The label with the highest belief of each variable.
  void decode(int32_t* labeling) const {
    for (size_t v = 0; v + 1 < layout_->label_begin.size(); ++v) {
      const int64_t first = layout_->label_begin[v], last = layout_->label_begin[v + 1];
      int64_t best = first;
      for (int64_t k = first; k < last; ++k)
        if (belief(k) > belief(best)) best = k;
      labeling[v] = static_cast<int32_t>(best - first);
    }
  }

  double belief(int64_t label) const { return infinite_[label] > 0 ? -kInfinity : sum_[label]; }
  double message(int64_t k) const { return message_[k]; }
  const std::vector<double>& messages() const { return message_; }

  // Bethe's approximation of log Z at the current messages.
  double bethe() {
    double value = 0;
    const int64_t variables = static_cast<int64_t>(layout_->label_begin.size()) - 1;
    for (int64_t v = 0; v < variables; ++v) {
      const int64_t degree = layout_->edge_begin[v + 1] - layout_->edge_begin[v];
      const double own = log_sum_of_belief(v);
      if (own == -kInfinity) return -kInfinity;
      value += static_cast<double>(1 - degree) * own;
    }
    for (size_t s = 0; s < layout_->senders.size(); ++s) {
      gather(s);
      const double of_factor = send<false>(s);
      if (of_factor == -kInfinity) return -kInfinity;
      value += of_factor;
    }
    return value;
  }

 private:
  static constexpr double kSmallest = 1e-250;
  void load() {
    const FactorGraphs& graphs = *graphs_;
    const auto labels = layout_->label_begin.back();
    sum_.assign(labels, 0.0);
    infinite_.assign(labels, 0);
    message_.assign(layout_->message_size, 0.0);
    in_.resize(message_.size());
    out_.resize(message_.size());
    sums_.resize(message_.size());
    for (int64_t f = 0; f < graphs.factors(g_); ++f) {
      const SoftFactor soft = graphs.factor(g_, f);
      if (soft.arity != 1) continue;
      const int64_t first = layout_->label_begin[soft.scope[0]];
      if (soft.form == FactorForm::kListed) {
        for (int64_t cell = 0; cell < soft.cells; ++cell) add(first + cell, soft.part_of(cell) < 0 ? -kInfinity : 0.0);
      }
      for (int64_t part = 0; part < soft.parts; ++part) add(first + soft.cell_of(part), theta_[soft.first_part + part]);
    }
    table_.resize(layout_->table_size);
    top_.assign(layout_->senders.size(), 0.0);
    for (size_t s = 0; s < layout_->senders.size(); ++s) {
      const MessageLayout::Sender& sender = layout_->senders[s];
      if (sender.table < 0) continue;
      const SoftFactor soft = graphs.factor(g_, sender.number);
      const double* const scores = theta_ + soft.first_part;
      const double per = 1 / share(s);
      double top = -kInfinity;
      for (int64_t k = 0; k < soft.cells; ++k) top = std::max(top, scores[k]);
      top_[s] = top * per;
      for (int64_t k = 0; k < soft.cells; ++k)
        table_[sender.table + k] = top == -kInfinity ? 0.0 : std::exp((scores[k] - top) * per);
    }
  }

  // Starts from messages of an earlier run, except those that forbade a label: it may be allowed now.
  void resume(const std::vector<double>& from) {
    for (const MessageLayout::Edge& edge : layout_->edges)
      for (int64_t l = 0; l < labels_of(edge); ++l) {
        const double sent = from[edge.begin + l];
        if (sent == -kInfinity) continue;
        message_[edge.begin + l] = sent;
        add(layout_->label_begin[edge.variable] + l, sent, share(edge.sender));
      }
  }

  // The weight of the messages of a factor.
  double share(size_t sender) const { return rho_ ? rho_[layout_->senders[sender].number] : 1.0; }
  void add(int64_t label, double value, double weight = 1) {
    if (value == -kInfinity)
      ++infinite_[label];
    else
      sum_[label] += weight * value;
  }
  void take(int64_t label, double value, double weight) {
    if (value == -kInfinity)
      --infinite_[label];
    else
      sum_[label] -= weight * value;
  }

  double log_sum_of_belief(int64_t v) const {
    double top = -kInfinity, sum = 0;
    for (int64_t k = layout_->label_begin[v]; k < layout_->label_begin[v + 1]; ++k) top = std::max(top, belief(k));
    if (top == -kInfinity) return top;
    for (int64_t k = layout_->label_begin[v]; k < layout_->label_begin[v + 1]; ++k) sum += std::exp(belief(k) - top);
    return top + std::log(sum);
  }

  // Collects the messages from the variables of a factor.
  void gather(size_t s) {
    const MessageLayout::Sender& sender = layout_->senders[s];
    for (int64_t e = sender.first_edge; e < sender.first_edge + sender.arity; ++e) {
      const MessageLayout::Edge& edge = layout_->edges[e];
      const int64_t first = layout_->label_begin[edge.variable];
      const int64_t n = layout_->label_begin[static_cast<size_t>(edge.variable) + 1] - first;
      for (int64_t l = 0; l < n; ++l) {
        const double sent = message_[edge.begin + l];
        const bool gone = infinite_[first + l] > (sent == -kInfinity ? 1 : 0);
        in_[edge.begin + l] = gone ? -kInfinity : sum_[first + l] - (sent == -kInfinity ? 0.0 : sent);
      }
    }
  }

  // Computes new messages of a factor from in_ into out_, not normalized. Returns its log Z.
  template <bool Max>
  double send(size_t s) {
    const MessageLayout::Sender& sender = layout_->senders[s];
    if (sender.hard) return send_hard<Max>(sender);
    if (sender.table >= 0) {
      const double value = send_pair<Max>(s);
      if (!std::isnan(value)) return value;
    }
    return send_table<Max>(s);
  }

  // Returns NaN if a sum has underflowed.
  template <bool Max>
  double send_pair(size_t s) {
    const MessageLayout::Sender& sender = layout_->senders[s];
    const MessageLayout::Edge &first = layout_->edges[sender.first_edge],
                              &second = layout_->edges[static_cast<size_t>(sender.first_edge) + 1];
    const int64_t rows = labels_of(first), columns = labels_of(second);
    const double* const table = table_.data() + sender.table;
    const double *const in_rows = in_.data() + first.begin, *const in_columns = in_.data() + second.begin;
    double *const out_rows = out_.data() + first.begin, *const out_columns = out_.data() + second.begin;
    const double top_rows = *std::max_element(in_rows, in_rows + rows);
    const double top_columns = *std::max_element(in_columns, in_columns + columns);
    if (top_rows == -kInfinity || top_columns == -kInfinity || top_[s] == -kInfinity)
      return std::numeric_limits<double>::quiet_NaN();
    weights_.resize(rows + 2 * columns);
    double *const of_rows = weights_.data(), *const of_columns = of_rows + rows, *const sums = of_columns + columns;
    for (int64_t a = 0; a < rows; ++a) of_rows[a] = std::exp(in_rows[a] - top_rows);
    for (int64_t b = 0; b < columns; ++b) of_columns[b] = std::exp(in_columns[b] - top_columns);
    std::fill(sums, sums + columns, 0.0);
    double total = 0;
    for (int64_t a = 0; a < rows; ++a) {
      const double* const row = table + a * columns;
      double sum = 0;
      for (int64_t b = 0; b < columns; ++b) {
        const double here = row[b] * of_columns[b], there = row[b] * of_rows[a];
        sum = Max ? std::max(sum, here) : sum + here;
        sums[b] = Max ? std::max(sums[b], there) : sums[b] + there;
      }
      if (!(sum > kSmallest)) return std::numeric_limits<double>::quiet_NaN();
      out_rows[a] = std::log(sum) + top_columns + top_[s];
      total = Max ? std::max(total, sum * of_rows[a]) : total + sum * of_rows[a];
    }
    for (int64_t b = 0; b < columns; ++b) {
      if (!(sums[b] > kSmallest)) return std::numeric_limits<double>::quiet_NaN();
      out_columns[b] = std::log(sums[b]) + top_rows + top_[s];
    }
    if (!(total > kSmallest)) return std::numeric_limits<double>::quiet_NaN();
    return std::log(total) + top_rows + top_columns + top_[s];
  }

  int64_t labels_of(const MessageLayout::Edge& edge) const {
    return layout_->label_begin[static_cast<size_t>(edge.variable) + 1] - layout_->label_begin[edge.variable];
  }

  // Calls visit(tuple, score) for the cells of a soft factor that are allowed.
  template <typename Visit>
  void each_cell(size_t s, const Visit& visit) {
    const SoftFactor soft = graphs_->factor(g_, layout_->senders[s].number);
    const double per = 1 / share(s);
    tuple_.resize(soft.arity);
    if (soft.form == FactorForm::kPartial) {
      for (int64_t cell = 0; cell < soft.cells; ++cell) {
        graphs_->tuple(g_, soft, cell, tuple_.data());
        const int64_t part = soft.part_of(cell);
        visit(part, part < 0 ? 0.0 : theta_[soft.first_part + part] * per);
      }
      return;
    }
    for (int64_t part = 0; part < soft.parts; ++part) {
      graphs_->tuple(g_, soft, soft.cell_of(part), tuple_.data());
      visit(part, theta_[soft.first_part + part] * per);
    }
  }

  // Any soft factor, in logs: largest terms first, then sums.
  template <bool Max>
  double send_table(size_t s) {
    const MessageLayout::Sender& sender = layout_->senders[s];
    const MessageLayout::Edge* const edges = layout_->edges.data() + sender.first_edge;
    const int64_t arity = sender.arity;
    for (int64_t j = 0; j < arity; ++j) {
      std::fill_n(out_.data() + edges[j].begin, labels_of(edges[j]), -kInfinity);
      std::fill_n(sums_.data() + edges[j].begin, labels_of(edges[j]), 0.0);
    }
    double top = -kInfinity, total = 0;
    cavity_.resize(arity);
    // The score of a cell with the messages of all variables, and without each of them.
    const auto weigh = [&](double score) {
      double before = score;
      for (int64_t j = 0; j < arity; ++j) {
        cavity_[j] = before;
        before += in_[edges[j].begin + tuple_[j]];
      }
      double behind = 0;
      for (int64_t j = arity; j-- > 0;) {
        cavity_[j] += behind;
        behind += in_[edges[j].begin + tuple_[j]];
      }
      return before;
    };
    each_cell(s, [&](int64_t, double score) {
      top = std::max(top, weigh(score));
      for (int64_t j = 0; j < arity; ++j) {
        double& out = out_[edges[j].begin + tuple_[j]];
        out = std::max(out, cavity_[j]);
      }
    });
    if (Max) return top;
    each_cell(s, [&](int64_t, double score) {
      const double all = weigh(score);
      if (all > -kInfinity) total += std::exp(all - top);
      for (int64_t j = 0; j < arity; ++j) {
        const int64_t k = edges[j].begin + tuple_[j];
        if (cavity_[j] > -kInfinity) sums_[k] += std::exp(cavity_[j] - out_[k]);
      }
    });
    for (int64_t j = 0; j < arity; ++j)
      for (int64_t k = edges[j].begin; k < edges[j].begin + labels_of(edges[j]); ++k)
        if (out_[k] > -kInfinity) out_[k] += std::log(sums_[k]);
    return top == -kInfinity ? top : top + std::log(total);
  }

  template <bool Max>
  double send_hard(const MessageLayout::Sender& sender) {
    const HardFactor hard = graphs_->hard(g_, sender.number);
    const MessageLayout::Edge* const edges = layout_->edges.data() + sender.first_edge;
    switch (hard.kind) {
      case HardKind::kAllowed:
      case HardKind::kForbidden: return send_tuples<Max>(hard, edges);
      case HardKind::kOwn: return send_own<Max>(hard, edges);
      default: break;
    }
    const bool implication = hard.kind == HardKind::kImplication;  // one premise is false, or the conclusion is true
    literals_.resize(hard.arity);
    for (int64_t j = 0; j < hard.arity; ++j) {
      LiteralLogs& literal = literals_[j];
      literal = {-kInfinity, -kInfinity};
      for (int32_t l = 0; l < labels_of(edges[j]); ++l) {
        double& of = hard.literal(j, l) != (implication && j + 1 < hard.arity) ? literal.yes : literal.no;
        of = join_logs<Max>(of, in_[edges[j].begin + l]);
      }
    }
    double value = 0;
    switch (hard.kind) {
      case HardKind::kXor: value = count_messages<Max>(literals_, 1, 1, sent_); break;
      case HardKind::kAtMostOne: value = count_messages<Max>(literals_, 0, 1, sent_); break;
      case HardKind::kBudget: value = count_messages<Max>(literals_, 0, hard.data[0], sent_); break;
      case HardKind::kOr:
      case HardKind::kImplication: value = count_messages<Max>(literals_, 1, hard.arity, sent_); break;
      default: value = tree_messages<Max>(hard, literals_, sent_); break;
    }
    for (int64_t j = 0; j < hard.arity; ++j)
      for (int32_t l = 0; l < labels_of(edges[j]); ++l) {
        const bool yes = hard.literal(j, l) != (implication && j + 1 < hard.arity);
        out_[edges[j].begin + l] = yes ? sent_[j].yes : sent_[j].no;
      }
    return value;
  }

  // Sums over allowed tuples. If the forbidden ones are listed, all others are visited.
  template <bool Max>
  double send_tuples(const HardFactor& hard, const MessageLayout::Edge* edges) {
    for (int64_t j = 0; j < hard.arity; ++j) std::fill_n(out_.data() + edges[j].begin, labels_of(edges[j]), -kInfinity);
    double value = -kInfinity;
    std::vector<int32_t> tuple(hard.arity, 0);
    const auto visit = [&](const int32_t* labels) {
      double before = 0;
      cavity_.resize(hard.arity);
      for (int64_t j = 0; j < hard.arity; ++j) {
        cavity_[j] = before;
        before += in_[edges[j].begin + labels[j]];
      }
      double behind = 0;
      for (int64_t j = hard.arity; j-- > 0;) {
        double& out = out_[edges[j].begin + labels[j]];
        out = join_logs<Max>(out, cavity_[j] + behind);
        behind += in_[edges[j].begin + labels[j]];
      }
      value = join_logs<Max>(value, before);
    };
    if (hard.kind == HardKind::kAllowed) {
      for (const int32_t* labels = hard.data; labels < hard.data + hard.data_size; labels += hard.arity) visit(labels);
      return value;
    }
    for (;;) {
      if (graphs_->allows(g_, hard, tuple.data())) visit(tuple.data());
      int64_t j = hard.arity - 1;
      while (j >= 0 && ++tuple[j] == labels_of(edges[j])) tuple[j--] = 0;
      if (j < 0) return value;
    }
  }

  template <bool Max>
  double send_own(const HardFactor& hard, const MessageLayout::Edge* edges) {
    const OwnRule& rule = graphs_->own(hard.data[0]);
    const int64_t begin = edges[0].begin, size = edges[hard.arity - 1].begin + labels_of(edges[hard.arity - 1]) - begin;
    std::vector<double> scores(in_.begin() + begin, in_.begin() + begin + size), found(scores.size());
    std::vector<int32_t> labels(hard.arity);
    const double value = Max ? rule.maximum(scores.data(), labels.data()) : rule.sum(scores.data(), found.data());
    for (int64_t j = 0; j < hard.arity; ++j)
      for (int64_t l = 0; l < labels_of(edges[j]); ++l) {
        const int64_t k = edges[j].begin - begin + l;
        double& out = out_[edges[j].begin + l];
        // A marginal of 0 may have underflowed, and a message of -inf would forbid a label that the rule allows.
        if (!Max && scores[k] > -kInfinity && found[k] > kSmallest) {
          out = value + std::log(found[k]) - scores[k];
          continue;
        }
        std::vector<double> fixed = scores;  // only this label, without the message of its variable
        for (int64_t other = 0; other < labels_of(edges[j]); ++other)
          fixed[edges[j].begin - begin + other] = other == l ? 0.0 : -kInfinity;
        std::vector<double> ignored(scores.size());
        out = Max ? rule.maximum(fixed.data(), labels.data()) : rule.sum(fixed.data(), ignored.data());
      }
    return value;
  }

  // Replaces the messages of a factor by those in out_. Returns the largest change.
  double apply(size_t s, double damping, std::vector<double>* changes = nullptr) {
    const MessageLayout::Sender& sender = layout_->senders[s];
    const double weight = share(s);
    double largest = 0;
    for (int64_t e = sender.first_edge; e < sender.first_edge + sender.arity; ++e) {
      const MessageLayout::Edge& edge = layout_->edges[e];
      const int64_t n = labels_of(edge), first = layout_->label_begin[edge.variable];
      double* const out = out_.data() + edge.begin;
      const double top = *std::max_element(out, out + n);
      double change = 0;
      for (int64_t l = 0; l < n; ++l) {
        double next = top == -kInfinity ? -kInfinity : out[l] - top;
        double& sent = message_[edge.begin + l];
        if (damping > 0 && next > -kInfinity && sent > -kInfinity) next = (1 - damping) * next + damping * sent;
        if (next == sent) continue;
        change = std::max(change, next == -kInfinity || sent == -kInfinity ? kInfinity : std::fabs(next - sent));
        take(first + l, sent, weight);
        add(first + l, next, weight);
        sent = next;
      }
      largest = std::max(largest, change);
      if (changes)
        for (int64_t k = layout_->edge_begin[edge.variable];
             k < layout_->edge_begin[static_cast<size_t>(edge.variable) + 1]; ++k) {
          const size_t other = layout_->edges[layout_->edges_of[k]].sender;
          // The messages to a factor include 1 - weight of its own messages.
          const double heard = other != s ? change : weight < 1 ? (1 - weight) * change : 0.0;
          (*changes)[other] = std::max((*changes)[other], heard);
        }
    }
    return largest / (1 - damping);
  }

  // One factor after another, forward and backward in turn.
  template <bool Max>
  double sequential(const PropagationSettings& settings, int sweep) {
    const size_t n = layout_->senders.size();
    double largest = 0;
    for (size_t k = 0; k < n; ++k) {
      const size_t s = sweep % 2 == 1 ? k : n - 1 - k;
      gather(s);
      send<Max>(s);
      largest = std::max(largest, apply(s, settings.damping));
    }
    return largest;
  }

  template <bool Max>
  double parallel(const PropagationSettings& settings) {
    for (size_t s = 0; s < layout_->senders.size(); ++s) {
      gather(s);
      send<Max>(s);
    }
    double largest = 0;
    for (size_t s = 0; s < layout_->senders.size(); ++s) largest = std::max(largest, apply(s, settings.damping));
    return largest;
  }

  // As many updates as there are factors, always of the one whose variables have changed most since its last update.
  template <bool Max>
  double residual(const PropagationSettings& settings, std::vector<double>& priority) {
    const size_t n = layout_->senders.size();
    if (priority.empty()) priority.assign(n, kInfinity);
    std::priority_queue<std::pair<double, size_t>> queue;
    for (size_t s = 0; s < n; ++s) queue.push({priority[s], s});
    std::vector<double> changes(n, 0.0);
    for (size_t k = 0; k < n && !queue.empty();) {
      const auto [value, s] = queue.top();
      queue.pop();
      if (value != priority[s]) continue;  // outdated entry
      if (value <= settings.tolerance) break;
      ++k;
      gather(s);
      send<Max>(s);
      const MessageLayout::Sender& sender = layout_->senders[s];
      const double change = apply(s, settings.damping, &changes);
      priority[s] = settings.damping > 0 ? settings.damping * change : 0.0;  // the rest of the change
      if (priority[s] > settings.tolerance) queue.push({priority[s], s});
      for (int64_t e = sender.first_edge; e < sender.first_edge + sender.arity; ++e) {
        const int32_t v = layout_->edges[e].variable;
        for (int64_t j = layout_->edge_begin[v]; j < layout_->edge_begin[v + 1]; ++j) {
          const auto other = layout_->edges[layout_->edges_of[j]].sender;
          if (changes[other] > priority[other]) {
            priority[other] = changes[other];
            queue.push({priority[other], other});
          }
          changes[other] = 0;
        }
      }
    }
    return *std::max_element(priority.begin(), priority.end());
  }

  // The pseudo-marginals of all parts.
  void marginals(double* mu) {
    const FactorGraphs& graphs = *graphs_;
    size_t s = 0;
    for (int64_t f = 0; f < graphs.factors(g_); ++f) {
      const SoftFactor soft = graphs.factor(g_, f);
      double* const out = mu + soft.first_part;
      if (soft.arity == 1) {
        const double all = log_sum_of_belief(soft.scope[0]);
        const int64_t first = layout_->label_begin[soft.scope[0]];
        for (int64_t part = 0; part < soft.parts; ++part)
          out[part] = all == -kInfinity ? 0.0 : std::exp(belief(first + soft.cell_of(part)) - all);
        continue;
      }
      const MessageLayout::Edge* const edges = layout_->edges.data() + layout_->senders[s].first_edge;
      gather(s);
      const double all = send<false>(s);
      std::fill(out, out + soft.parts, 0.0);
      if (all > -kInfinity)
        each_cell(s, [&](int64_t part, double score) {
          if (part < 0) return;
          for (int64_t j = 0; j < soft.arity; ++j) score += in_[edges[j].begin + tuple_[j]];
          out[part] = std::exp(score - all);
        });
      ++s;
    }
  }

  const FactorGraphs* graphs_ = nullptr;
  int64_t g_ = 0;
  const MessageLayout* layout_ = nullptr;
  const double* theta_ = nullptr;
  const double* rho_ = nullptr;  // (soft factors); null: all 1
  std::vector<double> sum_, message_, in_, out_, table_, top_, weights_, sums_, cavity_;
  std::vector<int32_t> infinite_, tuple_;
  std::vector<LiteralLogs> literals_, sent_;
};

}  // namespace margrave
