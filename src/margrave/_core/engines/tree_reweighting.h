// An upper bound on log Z of a pairwise graph by its spanning forests (Wainwright, Jaakkola and Willsky 2005). See
// engines/factor_messages.h for the messages.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engines/factor_messages.h"
#include "engines/spanning_forests.h"
#include "protocol/checks.h"

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
    SpanningForests::Edges edges;
    for (const MessageLayout::Sender& sender : layout.senders) {
      const MessageLayout::Edge* const ends = layout.edges.data() + sender.first_edge;
      edges.emplace_back(ends[0].variable, ends[1].variable);
    }
    forests_ = SpanningForests(graphs.variables(g), edges);
    for (size_t s = 0; s < edges.size(); ++s) rho_[layout.senders[s].number] = forests_.share(static_cast<int64_t>(s));
  }

  const std::vector<double>& rho() const { return rho_; }

  // The mean of log Z over all forests at the current messages, an upper bound on log Z. `mu`: its gradient by the
  // scores at fixed messages, which is the mean of the forests' marginals.
  double bound(const FactorGraphs& graphs, int64_t g, const MessageLayout& layout, const FactorMessages& messages,
               const double* theta, double* mu) const {
    const auto share = 1 / static_cast<double>(forests_.forests().size());
    if (mu) std::fill(mu, mu + graphs.parts(g), 0.0);
    double value = 0;
    std::vector<double> up(static_cast<size_t>(layout.label_begin.back())),
        sent(static_cast<size_t>(layout.message_size));
    std::vector<double> marginal(up.size());
    for (const Forest& forest : forests_.forests()) {
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
        return theta[soft.first_part + part] / rho_[sender.number] - of_message(messages, edges[0].begin + a) -
               of_message(messages, edges[1].begin + b);
      };
      for (size_t k = forest.steps.size(); k-- > 0;) {
        const Forest::Step& step = forest.steps[k];
        const int64_t from = layout.label_begin[step.child], n = graphs.labels(g, step.child);
        const int64_t to = layout.label_begin[step.parent], m = graphs.labels(g, step.parent);
        for (int64_t b = 0; b < m; ++b) {
          double top = -kInfinity, sum = 0;
          for (int64_t a = 0; a < n; ++a)
            top = std::max(top, up[from + a] + score(static_cast<size_t>(step.edge), a, b, step.child_first));
          for (int64_t a = 0; a < n && top > -kInfinity; ++a)
            sum += std::exp(up[from + a] + score(static_cast<size_t>(step.edge), a, b, step.child_first) - top);
          const double message = top == -kInfinity ? top : top + std::log(sum);
          sent[place(layout, step, b)] = message;
          up[to + b] += message;
        }
      }
      for (const int32_t v : forest.roots) {
        double top = -kInfinity, sum = 0;
        const int64_t first = layout.label_begin[v], n = graphs.labels(g, v);
        for (int64_t a = 0; a < n; ++a) top = std::max(top, up[first + a]);
        if (top == -kInfinity) return top;
        for (int64_t a = 0; a < n; ++a) sum += std::exp(up[first + a] - top);
        value += share * (top + std::log(sum));
        for (int64_t a = 0; a < n; ++a) marginal[first + a] = std::exp(up[first + a] - top) / sum;
      }
      if (!mu) continue;
      // Marginals from the roots down: a child's are sums over those of the pair with its parent.
      for (const Forest::Step& step : forest.steps) {
        const MessageLayout::Sender& sender = layout.senders[step.edge];
        const SoftFactor soft = graphs.factor(g, sender.number);
        const double weight = share / rho_[sender.number];
        const int64_t from = layout.label_begin[step.child], n = graphs.labels(g, step.child);
        const int64_t to = layout.label_begin[step.parent], m = graphs.labels(g, step.parent);
        std::fill_n(marginal.begin() + from, n, 0.0);
        for (int64_t b = 0; b < m; ++b) {
          const double of_parent = marginal[to + b];
          if (of_parent == 0) continue;
          for (int64_t a = 0; a < n; ++a) {
            const double both =
                of_parent * std::exp(up[from + a] + score(static_cast<size_t>(step.edge), a, b, step.child_first) -
                                     sent[place(layout, step, b)]);
            marginal[from + a] += both;
            const int64_t cell =
                step.child_first ? a * graphs.labels(g, soft.scope[1]) + b : b * graphs.labels(g, soft.scope[1]) + a;
            if (const int64_t part = soft.part_of(cell); part >= 0) mu[soft.first_part + part] += weight * both;
          }
        }
      }
      for (int64_t f = 0; f < graphs.factors(g); ++f) {
        const SoftFactor soft = graphs.factor(g, f);
        if (soft.arity != 1) continue;
        const int64_t first = layout.label_begin[soft.scope[0]];
        for (int64_t part = 0; part < soft.parts; ++part)
          mu[soft.first_part + part] += share * marginal[first + soft.cell_of(part)];
      }
    }
    return value;
  }

 private:
  static double of_message(const FactorMessages& messages, int64_t k) {
    return messages.message(k) == -kInfinity ? 0.0 : messages.message(k);  // the belief of the label is -inf as well
  }

  // Index of the message to the parent.
  static size_t place(const MessageLayout& layout, const Forest::Step& step, int64_t label) {
    const int64_t first = layout.senders[step.edge].first_edge;
    return static_cast<size_t>(layout.edges[first + (step.child_first ? 1 : 0)].begin + label);
  }

  std::vector<double> rho_;  // (soft factors)
  SpanningForests forests_;
};

}  // namespace margrave
