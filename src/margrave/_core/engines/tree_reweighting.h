// Spanning forests of a pairwise graph, and the bound on log Z that they give (Wainwright, Jaakkola and Willsky 2005).
// See engines/factor_messages.h for the messages.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "engines/factor_messages.h"

namespace margrave {

class TreeReweighting {
 public:
  TreeReweighting() = default;
  TreeReweighting(const FactorGraphs& graphs, int64_t g, const MessageLayout& layout) {
    for (const MessageLayout::Sender& sender : layout.senders)
      if (sender.hard || sender.arity != 2)
        throw InputError("graph " + std::to_string(g) +
                         ": tree-reweighted messages are for graphs with factors of one or two variables and without "
                         "hard factors: use inference='bp'.");
    rho_.assign(static_cast<size_t>(graphs.factors(g)), 1.0);
    const size_t n = layout.senders.size();
    std::vector<int64_t> times(n, 0);
    for (size_t covered = 0; covered < n;) {  // forests, until each factor is in one of them
      std::vector<int32_t> group(static_cast<size_t>(graphs.variables(g)));
      std::iota(group.begin(), group.end(), 0);
      const auto root = [&](int32_t v) {
        while (group[static_cast<size_t>(v)] != v)
          v = group[static_cast<size_t>(v)] = group[static_cast<size_t>(group[static_cast<size_t>(v)])];
        return v;
      };
      std::vector<size_t> order(n), forest;
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return times[a] < times[b]; });
      for (const size_t s : order) {
        const MessageLayout::Edge* const edges = layout.edges.data() + layout.senders[s].first_edge;
        const int32_t a = root(edges[0].variable), b = root(edges[1].variable);
        if (a == b) continue;
        group[static_cast<size_t>(a)] = b;
        if (times[s]++ == 0) ++covered;
        forest.push_back(s);
      }
      forests_.push_back(directed(layout, forest, graphs.variables(g)));
    }
    if (forests_.empty()) forests_.push_back(directed(layout, {}, graphs.variables(g)));
    for (size_t s = 0; s < n; ++s)
      rho_[static_cast<size_t>(layout.senders[s].number)] =
          static_cast<double>(times[s]) / static_cast<double>(forests_.size());
  }

  const std::vector<double>& rho() const { return rho_; }

  // The mean of the log Z of all forests at the messages as they are, which is above log Z; with `mu`, its gradient by
  // the scores while messages stay the same: the means of the forests' marginals.
  double bound(const FactorGraphs& graphs, int64_t g, const MessageLayout& layout, const FactorMessages& messages,
               const double* theta, double* mu) const {
    const auto share = 1 / static_cast<double>(forests_.size());
    if (mu) std::fill(mu, mu + graphs.parts(g), 0.0);
    double value = 0;
    std::vector<double> up(static_cast<size_t>(layout.label_begin.back())),
        sent(static_cast<size_t>(layout.message_size));
    std::vector<double> marginal(up.size());
    for (const Forest& forest : forests_) {
      // Messages towards the roots, from the last variable to the first.
      for (size_t k = 0; k < up.size(); ++k) up[k] = messages.belief(static_cast<int64_t>(k));
      const auto score = [&](size_t s, int64_t from_label, int64_t to_label, bool from_first) {
        const MessageLayout::Sender& sender = layout.senders[s];
        const SoftFactor soft = graphs.factor(g, sender.number);
        const MessageLayout::Edge* const edges = layout.edges.data() + sender.first_edge;
        const int64_t a = from_first ? from_label : to_label, b = from_first ? to_label : from_label;
        const int64_t cell = a * graphs.labels(g, soft.scope[1]) + b, part = soft.part_of(cell);
        if (part < 0)
          return soft.form == FactorForm::kListed
                     ? -kInfinity
                     : -of_message(messages, edges[0].begin + a) - of_message(messages, edges[1].begin + b);
        return theta[soft.first_part + part] / rho_[static_cast<size_t>(sender.number)] -
               of_message(messages, edges[0].begin + a) - of_message(messages, edges[1].begin + b);
      };
      for (size_t k = forest.steps.size(); k-- > 0;) {
        const Step& step = forest.steps[k];
        const int64_t from = layout.label_begin[static_cast<size_t>(step.child)], n = graphs.labels(g, step.child);
        const int64_t to = layout.label_begin[static_cast<size_t>(step.parent)], m = graphs.labels(g, step.parent);
        for (int64_t b = 0; b < m; ++b) {
          double top = -kInfinity, sum = 0;
          for (int64_t a = 0; a < n; ++a)
            top = std::max(top, up[static_cast<size_t>(from + a)] + score(step.sender, a, b, step.child_first));
          for (int64_t a = 0; a < n && top > -kInfinity; ++a)
            sum += std::exp(up[static_cast<size_t>(from + a)] + score(step.sender, a, b, step.child_first) - top);
          const double message = top == -kInfinity ? top : top + std::log(sum);
          sent[static_cast<size_t>(step.place + b)] = message;
          up[static_cast<size_t>(to + b)] += message;
        }
      }
      for (const int32_t v : forest.roots) {
        double top = -kInfinity, sum = 0;
        const int64_t first = layout.label_begin[static_cast<size_t>(v)], n = graphs.labels(g, v);
        for (int64_t a = 0; a < n; ++a) top = std::max(top, up[static_cast<size_t>(first + a)]);
        if (top == -kInfinity) return top;
        for (int64_t a = 0; a < n; ++a) sum += std::exp(up[static_cast<size_t>(first + a)] - top);
        value += share * (top + std::log(sum));
        for (int64_t a = 0; a < n; ++a)
          marginal[static_cast<size_t>(first + a)] = std::exp(up[static_cast<size_t>(first + a)] - top) / sum;
      }
      if (!mu) continue;
      // Marginals from the roots on: those of a child are sums of those of its pair with its parent.
      for (const Step& step : forest.steps) {
        const MessageLayout::Sender& sender = layout.senders[step.sender];
        const SoftFactor soft = graphs.factor(g, sender.number);
        const double weight = share / rho_[static_cast<size_t>(sender.number)];
        const int64_t from = layout.label_begin[static_cast<size_t>(step.child)], n = graphs.labels(g, step.child);
        const int64_t to = layout.label_begin[static_cast<size_t>(step.parent)], m = graphs.labels(g, step.parent);
        std::fill_n(marginal.begin() + from, n, 0.0);
        for (int64_t b = 0; b < m; ++b) {
          const double of_parent = marginal[static_cast<size_t>(to + b)];
          if (of_parent == 0) continue;
          for (int64_t a = 0; a < n; ++a) {
            const double both =
                of_parent * std::exp(up[static_cast<size_t>(from + a)] + score(step.sender, a, b, step.child_first) -
                                     sent[static_cast<size_t>(step.place + b)]);
            marginal[static_cast<size_t>(from + a)] += both;
            const int64_t cell =
                step.child_first ? a * graphs.labels(g, soft.scope[1]) + b : b * graphs.labels(g, soft.scope[1]) + a;
            if (const int64_t part = soft.part_of(cell); part >= 0) mu[soft.first_part + part] += weight * both;
          }
        }
      }
      for (int64_t f = 0; f < graphs.factors(g); ++f) {
        const SoftFactor soft = graphs.factor(g, f);
        if (soft.arity != 1) continue;
        const int64_t first = layout.label_begin[static_cast<size_t>(soft.scope[0])];
        for (int64_t part = 0; part < soft.parts; ++part)
          mu[soft.first_part + part] += share * marginal[static_cast<size_t>(first + soft.cell_of(part))];
      }
    }
    return value;
  }

 private:
  struct Step {
    size_t sender;
    int32_t child, parent;
    bool child_first;  // the child is the first variable of the factor
    int64_t place;     // of the message to the parent
  };
  struct Forest {
    std::vector<Step> steps;  // parents before children
    std::vector<int32_t> roots;
  };

  static double of_message(const FactorMessages& messages, int64_t k) {
    return messages.message(k) == -kInfinity ? 0.0 : messages.message(k);  // the belief of the label is -inf as well
  }

  static Forest directed(const MessageLayout& layout, const std::vector<size_t>& senders, int64_t variables) {
    std::vector<std::vector<size_t>> around(static_cast<size_t>(variables));
    for (const size_t s : senders)
      for (int64_t j = 0; j < 2; ++j)
        around[static_cast<size_t>(layout.edges[static_cast<size_t>(layout.senders[s].first_edge + j)].variable)]
            .push_back(s);
    Forest forest;
    std::vector<char> seen(static_cast<size_t>(variables), 0);
    for (int32_t start = 0; start < variables; ++start) {
      if (seen[static_cast<size_t>(start)]) continue;
      forest.roots.push_back(start);
      seen[static_cast<size_t>(start)] = 1;
      std::vector<int32_t> path{start};
      while (!path.empty()) {
        const int32_t v = path.back();
        path.pop_back();
        for (const size_t s : around[static_cast<size_t>(v)]) {
          const MessageLayout::Edge* const edges = layout.edges.data() + layout.senders[s].first_edge;
          const bool v_first = edges[0].variable == v;
          const int32_t other = edges[v_first ? 1 : 0].variable;
          if (seen[static_cast<size_t>(other)]) continue;
          seen[static_cast<size_t>(other)] = 1;
          forest.steps.push_back({s, other, v, !v_first, edges[v_first ? 0 : 1].begin});
          path.push_back(other);
        }
      }
    }
    return forest;
  }

  std::vector<double> rho_;  // (soft factors)
  std::vector<Forest> forests_;
};

}  // namespace margrave
