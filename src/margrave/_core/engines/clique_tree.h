// Exact inference on one factor graph by its clique tree (000, example 1; Koller and Friedman 2009, chapter 10).
//
// A clique has a table over the labels of its variables. The variables shared with its parent come first and are its
// separator. The others are eliminated in it: cell = s E + e. From the leaves up, the table of a clique is the sum of
// its factors and of its children's messages. Its own message is
//
//   m(s) = log sum_e exp table(s, e),    or the maximum over e.
//
// The same step turns the table into the conditional probability p(e | s) = exp(table(s, e) - m(s)). From the root
// down, p(s) is a marginal of the parent and p(s, e) = p(s) p(e | s). Messages are logs, and each sum is relative to
// its largest term, so nothing overflows. Nothing is divided, so -inf is harmless.
//
// Hard factors are tables of 0 and -inf. A rule that counts true literals becomes a chain of small tables if its own
// table would be large. An auxiliary variable after each literal holds the count so far, cut off where it no longer
// matters. It is a function of the labels, so every labeling is still counted once.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engines/elimination.h"
#include "engines/factor_graphs.h"
#include "engines/hypergraph.h"
#include "engines/lazy_kbest.h"
#include "engines/table_sums.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "simd/loops.h"

namespace margrave {

// The tables of a graph would exceed the memory limit.
struct TooWide : InputError {
  using InputError::InputError;
};

class CliqueTree {
 public:
  // most_bytes: memory limit of the tables.
  CliqueTree(const FactorGraphs& graphs, int64_t g, double most_bytes)
      : graphs_(graphs), g_(g), variables_(graphs.variables(g)) {
    for (int64_t v = 0; v < variables_; ++v) labels_.push_back(graphs.labels(g, v));
    add_soft_factors();
    for (int64_t h = 0; h < graphs.hards(g); ++h) add_hard_factor(h, most_bytes);
    make_cliques(most_bytes);
    bool listed = false;
    for (int64_t f = 0; f < graphs.factors(g); ++f) listed |= graphs.factor(g, f).form == FactorForm::kListed;
    restricted_ = listed || graphs.hards(g) > 0;
  }

  int64_t width() const { return width_; }  // the number of variables in the largest clique
  int64_t bytes() const { return 8 * (cells_ + separators_); }
  int64_t cells() const { return cells_; }
  bool restricted() const { return restricted_; }  // whether some labelings are not outputs
  // Whether every clique is the scope of a dense or listed factor. If so, the marginals of factors determine a
  // distribution.
  bool factors_are_cliques() const {
    return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.factor >= 0; });
  }

  double argmax(const double* theta, int32_t* labeling, Scratch& scratch) const {
    double* tables = scratch.take(cells_);
    double* messages = scratch.take(separators_);
    const double value = upwards<kMax>(theta, tables, messages, scratch);
    if (value == -kInfinity) return value;
    std::vector<int32_t> labels(labels_.size());
    downwards(labels.data(), [&](const Node& node, int64_t s) {
      const double* row = tables + node.first_cell + s * node.eliminated;
      return std::max_element(row, row + node.eliminated) - row;
    });
    std::copy_n(labels.data(), variables_, labeling);
    return value;
  }

  double logsum(const double* theta, double* mu, Scratch& scratch) const {
    double* tables = scratch.take(cells_);
    double* messages = scratch.take(separators_);
    std::fill(mu, mu + graphs_.parts(g_), 0.0);
    const double log_z = upwards<kSum>(theta, tables, messages, scratch);
    if (log_z == -kInfinity) return log_z;
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      double* table = tables + node->first_cell;
      double* shared = messages + node->first_separator;  // now p(s)
      if (node->parent < 0)
        shared[0] = 1;
      else {
        const Node& parent = nodes_[node->parent];
        std::fill(shared, shared + node->separator, 0.0);
        reduce(node->in_parent, tables + parent.first_cell, shared);
      }
      for (int64_t s = 0; s < node->separator; ++s)
        for (int64_t e = 0; e < node->eliminated; ++e) table[s * node->eliminated + e] *= shared[s];
      marginals_of(*node, table, mu, scratch);
    }
    return log_z;
  }

  // Draws `count` labelings and calls visit(labeling) for each. False if there are none.
  template <typename Visit>
  bool sample(const double* theta, int64_t count, Random& random, const Visit& visit, Scratch& scratch) const {
    double* tables = scratch.take(cells_);
    double* messages = scratch.take(separators_);
    if (upwards<kSum>(theta, tables, messages, scratch) == -kInfinity) return false;
    std::vector<int32_t> labels(labels_.size());
    for (int64_t k = 0; k < count; ++k) {
      downwards(labels.data(), [&](const Node& node, int64_t s) {
        return random.choose(tables + node.first_cell + s * node.eliminated, node.eliminated);
      });
      visit(labels.data());
    }
    return true;
  }

  // The k best labelings: visit(value, labeling).
  template <typename Visit>
  void kbest(const double* theta, int64_t k, const Visit& visit, Scratch& scratch) const {
    Ranked ranked{*this, scratch.take(cells_), scratch.take(cells_), scratch.take(separators_), 0};
    ranked.value = upwards<kMax>(theta, ranked.tables, ranked.messages, scratch);
    if (ranked.value == -kInfinity) return;
    for (const Node& node : nodes_) fill(node, theta, ranked.own + node.first_cell, scratch);
    LazyKbest<Ranked> lazy(ranked);
    std::vector<int32_t> labels(labels_.size());
    for (int64_t rank = 0; rank < k && lazy.request(separators_, rank); ++rank) {
      lazy.each_edge(separators_, rank, [&](int64_t edge) {
        if (edge < cells_) read_cell(node_of_cell(edge), edge, labels.data());
      });
      visit(lazy.value(separators_, rank), labels.data());
    }
  }

  // The best output at every cost, by derivations of a hypergraph.
  void argmax_by_cost(const double* theta, const double* delta, std::vector<CostedOutput>& ys) const {
    std::call_once(once_, [this] { hypergraph_ = make_hypergraph(); });
    hypergraph_->argmax_by_cost(theta, delta, graphs_.parts(g_), ys);
  }

  // The entropy of the distribution with these marginals, in which a clique depends on its separator only. Also its
  // natural parameters: log p(e | s) at the factor of each clique.
  double entropy(const double* mu, double* t, Scratch& scratch) const {
    std::fill(t, t + graphs_.parts(g_), 0.0);
    double sum = 0;
    for (const Node& node : nodes_) {
      const Scratch::Frame frame(scratch);
      double* table = scratch.take(node.cells());
      std::fill(table, table + node.cells(), 0.0);
      const Source& source = *std::find_if(node.sources.begin(), node.sources.end(),
                                           [&](const Source& each) { return each.soft == node.factor; });
      double* dense = scratch.take(source.cells);
      const SoftFactor soft = graphs_.factor(g_, node.factor);
      expand(soft, mu, 0.0, dense);
      add(source.pattern, dense, table);
      double* conditional = scratch.take(node.cells());
      for (int64_t s = 0; s < node.separator; ++s) {
        const double* row = table + s * node.eliminated;
        double total = 0;
        for (int64_t e = 0; e < node.eliminated; ++e) total += row[e];
        if (node.parent < 0) total = 1;
        for (int64_t e = 0; e < node.eliminated; ++e) {
          const double log_share = row[e] > 0 ? std::log(row[e] / total) : -kInfinity;
          conditional[s * node.eliminated + e] = log_share;
          if (row[e] > 0) sum -= row[e] * log_share;
        }
      }
      // The factor has exactly the variables of the clique, so each of its cells is written once.
      copy_back(source.pattern, conditional, dense);
      for (int64_t part = 0; part < soft.parts; ++part) t[soft.first_part + part] = dense[soft.cell_of(part)];
    }
    return sum;
  }

 private:
  // How the cells of a clique, in order, read a table over some of its variables: nested loops, the last one innermost,
  // each with its count and its step in the smaller table.
  struct Axis {
    int64_t count;
    int64_t step;
  };
  using Pattern = std::vector<Axis>;

  // A factor assigned to a clique: a soft one, or a table of 0 and -inf.
  struct Source {
    std::vector<int32_t> scope;
    int64_t soft = -1;
    std::vector<double> table;  // if it is hard
    int64_t cells = 1;
    Pattern pattern;
  };

  struct Node {
    std::vector<int32_t> variables;
    std::vector<int64_t> steps;  // (variables): distance between labels, in cells
    int64_t shared = 0;          // the first `shared` variables are the separator
    int64_t parent = -1;
    int64_t separator = 1;   // number of its cells
    int64_t eliminated = 1;  // number of cells of the other variables
    int64_t first_cell = 0;
    int64_t first_separator = 0;
    Pattern in_parent;  // where its message is read
    std::vector<int64_t> children;
    std::vector<Source> sources;
    std::optional<TableSums> sums;  // of the sources, if there are many
    int64_t factor = -1;            // a dense or listed factor with the same variables

    int64_t cells() const { return separator * eliminated; }
  };

  enum Mode { kSum, kMax };

  // ---- tables ------------------------------------------------------------------------------------------------------

  // Calls inner(cell, place, count, step) for runs of `count` cells that read place, place + step, ...
  template <typename Inner>
  static void walk(const Pattern& pattern, const Inner& inner) {
    if (pattern.empty()) return inner(0, 0, 1, 0);
    const Axis last = pattern.back();
    const auto outer = static_cast<int>(pattern.size()) - 1;
    if (outer == 0) return inner(0, 0, last.count, last.step);
    int64_t round[64] = {};
    int64_t cell = 0, place = 0;
    for (;;) {
      inner(cell, place, last.count, last.step);
      cell += last.count;
      int axis = outer - 1;
      for (; axis >= 0; --axis) {
        const Axis& a = pattern[axis];
        place += a.step;
        if (++round[axis] < a.count) break;
        place -= a.step * a.count;
        round[axis] = 0;
      }
      if (axis < 0) return;
    }
  }

  static void add(const Pattern& pattern, const double* small, double* table) {
    walk(pattern, [&](int64_t cell, int64_t place, int64_t count, int64_t step) {
      double* to = table + cell;
      const double* from = small + place;
      if (step == 0)
        for (int64_t k = 0; k < count; ++k) to[k] += from[0];
      else if (step == 1)
        for (int64_t k = 0; k < count; ++k) to[k] += from[k];
      else
        for (int64_t k = 0; k < count; ++k) to[k] += from[k * step];
    });
  }

  static void reduce(const Pattern& pattern, const double* table, double* small) {
    walk(pattern, [&](int64_t cell, int64_t place, int64_t count, int64_t step) {
      const double* from = table + cell;
      double* to = small + place;
      if (step == 0) {
        double sum = 0;
        for (int64_t k = 0; k < count; ++k) sum += from[k];
        to[0] += sum;
      } else {
        for (int64_t k = 0; k < count; ++k) to[k * step] += from[k];
      }
    });
  }

  static void copy_back(const Pattern& pattern, const double* table, double* small) {
    walk(pattern, [&](int64_t cell, int64_t place, int64_t count, int64_t step) {
      for (int64_t k = 0; k < count; ++k) small[place + k * step] = table[cell + k];
    });
  }

  // The pattern of a table over `scope`, row-major, in a clique.
  Pattern pattern_of(const Node& node, const std::vector<int32_t>& scope) const {
    std::vector<int64_t> step(node.variables.size(), 0);
    int64_t stride = 1;
    for (auto v = scope.rbegin(); v != scope.rend(); ++v) {
      const auto place = std::find(node.variables.begin(), node.variables.end(), *v) - node.variables.begin();
      step[place] = stride;
      stride *= labels_[*v];
    }
    Pattern pattern;
    for (size_t j = 0; j < node.variables.size(); ++j) {
      const int64_t count = labels_[node.variables[j]];
      if (count == 1) continue;
      if (!pattern.empty() && pattern.back().step == step[j] * count)
        pattern.back() = {pattern.back().count * count, step[j]};  // merge two loops into one
      else
        pattern.push_back({count, step[j]});
    }
    return pattern;
  }

  // The values of the parts of a factor as a dense table.
  static void expand(const SoftFactor& soft, const double* values, double others, double* dense) {
    if (!soft.listed) {
      std::copy_n(values + soft.first_part, soft.parts, dense);
      return;
    }
    std::fill(dense, dense + soft.cells, others);
    for (int64_t part = 0; part < soft.parts; ++part) dense[soft.listed[part]] = values[soft.first_part + part];
  }

  // The sum of the factors of a clique.
  void fill(const Node& node, const double* theta, double* table, Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    if (node.sums) {
      std::vector<const double*> small;
      for (const Source& source : node.sources) small.push_back(scores_of(source, theta, scratch));
      return node.sums->add_up(small, table, scratch);
    }
    std::fill(table, table + node.cells(), 0.0);
    for (const Source& source : node.sources) {
      const Scratch::Frame of_source(scratch);
      add(source.pattern, scores_of(source, theta, scratch), table);
    }
  }

  // The scores of a factor as a dense table.
  const double* scores_of(const Source& source, const double* theta, Scratch& scratch) const {
    if (source.soft < 0) return source.table.data();
    const SoftFactor soft = graphs_.factor(g_, source.soft);
    if (!soft.listed) return theta + soft.first_part;
    double* dense = scratch.take(source.cells);
    expand(soft, theta, soft.form == FactorForm::kListed ? -kInfinity : 0.0, dense);
    return dense;
  }

  // Adds the marginals of the soft factors of a clique to mu.
  void marginals_of(const Node& node, const double* table, double* mu, Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    std::vector<double*> small;
    for (const Source& source : node.sources) {
      small.push_back(nullptr);
      if (source.soft < 0) continue;
      const SoftFactor soft = graphs_.factor(g_, source.soft);
      small.back() = soft.listed ? scratch.take(source.cells) : mu + soft.first_part;
      if (soft.listed) std::fill_n(small.back(), source.cells, 0.0);
      if (!node.sums) reduce(source.pattern, table, small.back());
    }
    if (node.sums) node.sums->collect(table, small, scratch);
    for (size_t k = 0; k < small.size(); ++k) {
      if (!small[k]) continue;
      const SoftFactor soft = graphs_.factor(g_, node.sources[k].soft);
      for (int64_t part = 0; soft.listed && part < soft.parts; ++part)
        mu[soft.first_part + part] = small[k][soft.listed[part]];
    }
  }

  // ---- messages ----------------------------------------------------------------------------------------------------

  // Fills all tables and messages. Returns the log partition function or the best score. After kSum, tables are
  // conditional probabilities.
  template <Mode mode>
  double upwards(const double* theta, double* tables, double* messages, Scratch& scratch) const {
    double total = 0;
    for (const Node& node : nodes_) {
      double* table = tables + node.first_cell;
      double* message = messages + node.first_separator;
      fill(node, theta, table, scratch);
      for (const int64_t child : node.children) {
        const Node& below = nodes_[child];
        add(below.in_parent, messages + below.first_separator, table);
      }
      if constexpr (mode == kMax)
        for (int64_t s = 0; s < node.separator; ++s)
          message[s] = *std::max_element(table + s * node.eliminated, table + (s + 1) * node.eliminated);
      else
        normalize(node, table, message);
      if (node.parent < 0) total += message[0];
      if (total == -kInfinity) return total;
    }
    return total;
  }

  static void normalize(const Node& node, double* table, double* message) {
    const int64_t n = node.eliminated;
    if (n == 2) {  // log(exp a + exp b) and the logistic function
      for (int64_t s = 0; s < node.separator; ++s) {
        double* row = table + 2 * s;
        const bool second = row[1] > row[0];
        const double top = second ? row[1] : row[0];
        const double below = second ? row[0] : row[1];
        if (top == -kInfinity) {
          message[s] = top;
          row[0] = row[1] = 0;
          continue;
        }
        const double e = std::exp(below - top);
        message[s] = top + std::log1p(e);
        row[second ? 1 : 0] = 1 / (1 + e);
        row[second ? 0 : 1] = e / (1 + e);
      }
      return;
    }
    if (n >= kManyLabels) {
      for (int64_t s = 0; s < node.separator; ++s) message[s] = loops().softmax(table + s * n, n, table + s * n);
      return;
    }
    for (int64_t s = 0; s < node.separator; ++s) {
      double* row = table + s * n;
      const double top = *std::max_element(row, row + n);
      message[s] = top;
      if (top == -kInfinity) {
        std::fill(row, row + n, 0.0);
        continue;
      }
      double sum = 0;
      for (int64_t e = 0; e < n; ++e) sum += row[e] = std::exp(row[e] - top);
      message[s] += std::log(sum);
      const double share = 1 / sum;
      for (int64_t e = 0; e < n; ++e) row[e] *= share;
    }
  }

  // Chooses labels from the roots down: choose(clique, cell of its separator) returns the cell of the other variables.
  template <typename Choose>
  void downwards(int32_t* labels, const Choose& choose) const {
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      int64_t cell = 0;
      for (int64_t j = 0; j < node->shared; ++j) cell += labels[node->variables[j]] * node->steps[j];
      cell += choose(*node, cell / node->eliminated);
      read_cell(*node, node->first_cell + cell, labels);
    }
  }

  void read_cell(const Node& node, int64_t cell, int32_t* labels) const {
    int64_t rest = cell - node.first_cell;
    for (size_t j = 0; j < node.variables.size(); ++j) {
      labels[node.variables[j]] = static_cast<int32_t>(rest / node.steps[j]);
      rest %= node.steps[j];
    }
  }

  const Node& node_of_cell(int64_t cell) const {
    return *(std::upper_bound(nodes_.begin(), nodes_.end(), cell,
                              [](int64_t value, const Node& node) { return value < node.first_cell; }) -
             1);
  }
  const Node& node_of_separator(int64_t place) const {
    return *(std::upper_bound(nodes_.begin(), nodes_.end(), place,
                              [](int64_t value, const Node& node) { return value < node.first_separator; }) -
             1);
  }

  // The position in a child's message that a cell of its parent reads.
  int64_t separator_cell(const Node& child, const int32_t* labels) const {
    int64_t cell = 0;
    for (int64_t j = 0; j < child.shared; ++j) cell += labels[child.variables[j]] * child.steps[j];
    return child.first_separator + cell / child.eliminated;
  }

  // The clique tree as a hypergraph for LazyKbest. Its nodes are the cells of separators and a final root. Its edges
  // are the cells of cliques and one that joins the roots.
  struct Ranked {
    const CliqueTree& tree;
    double* tables;  // with messages
    double* own;     // without
    double* messages;
    double value;

    int64_t nodes() const { return tree.separators_ + 1; }
    double best(int64_t v) const { return v == tree.separators_ ? value : messages[v]; }
    int64_t best_edge(int64_t v) const {
      if (v == tree.separators_) return tree.cells_;
      const Node& node = tree.node_of_separator(v);
      const double* row = tables + node.first_cell + (v - node.first_separator) * node.eliminated;
      return std::max_element(row, row + node.eliminated) - tables;
    }
    template <class Visit>
    void each_edge(int64_t v, const Visit& visit) const {
      if (v == tree.separators_) return visit(tree.cells_);
      const Node& node = tree.node_of_separator(v);
      const int64_t first = node.first_cell + (v - node.first_separator) * node.eliminated;
      for (int64_t e = 0; e < node.eliminated; ++e)
        if (tables[first + e] > -kInfinity) visit(first + e);
    }
    int64_t tail_count(int64_t e) const {
      return static_cast<int64_t>(e == tree.cells_ ? tree.roots_.size() : tree.node_of_cell(e).children.size());
    }
    int64_t tail(int64_t e, int64_t j) const {
      if (e == tree.cells_) return tree.nodes_[tree.roots_[j]].first_separator;
      const Node& node = tree.node_of_cell(e);
      const Node& child = tree.nodes_[node.children[j]];
      int64_t rest = e - node.first_cell, place = 0, j_child = 0;
      // Both lists of variables have the same order.
      for (size_t k = 0; k < node.variables.size() && j_child < child.shared; ++k) {
        if (node.variables[k] == child.variables[j_child]) place += rest / node.steps[k] * child.steps[j_child++];
        rest %= node.steps[k];
      }
      return child.first_separator + place / child.eliminated;
    }
    double score(int64_t e) const { return e == tree.cells_ ? 0.0 : own[e]; }
  };

  std::unique_ptr<const Hypergraph> make_hypergraph() const {
    std::vector<int32_t> heads, tails, parts;
    std::vector<int64_t> tail_begin{0}, part_begin{0};
    std::vector<int32_t> labels(labels_.size());
    for (const Node& node : nodes_)
      for (int64_t cell = 0; cell < node.cells(); ++cell) {
        read_cell(node, node.first_cell + cell, labels.data());
        const auto parts_before = static_cast<std::ptrdiff_t>(parts.size());
        bool allowed = true;
        for (const Source& source : node.sources) {
          int64_t place = 0;
          for (const int32_t v : source.scope) place = place * labels_[v] + labels[v];
          if (source.soft < 0) {
            allowed = allowed && source.table[place] == 0;
            continue;
          }
          const SoftFactor soft = graphs_.factor(g_, source.soft);
          const int64_t part = soft.part_of(place);
          if (part >= 0) parts.push_back(static_cast<int32_t>(soft.first_part + part));
          allowed = allowed && (part >= 0 || soft.form == FactorForm::kPartial);
        }
        if (!allowed) {
          parts.erase(parts.begin() + parts_before, parts.end());
          continue;
        }
        heads.push_back(static_cast<int32_t>(node.first_separator + cell / node.eliminated));
        for (const int64_t child : node.children)
          tails.push_back(static_cast<int32_t>(separator_cell(nodes_[child], labels.data())));
        tail_begin.push_back(static_cast<int64_t>(tails.size()));
        part_begin.push_back(static_cast<int64_t>(parts.size()));
      }
    heads.push_back(static_cast<int32_t>(separators_));
    for (const int64_t root : roots_) tails.push_back(static_cast<int32_t>(nodes_[root].first_separator));
    tail_begin.push_back(static_cast<int64_t>(tails.size()));
    part_begin.push_back(static_cast<int64_t>(parts.size()));
    return std::make_unique<Hypergraph>(separators_ + 1, std::move(heads), std::move(tail_begin), std::move(tails),
                                        std::move(part_begin), std::move(parts));
  }

  // ---- building the cliques ----------------------------------------------------------------------------------------

  void add_soft_factors() {
    for (int64_t f = 0; f < graphs_.factors(g_); ++f) {
      const SoftFactor soft = graphs_.factor(g_, f);
      Source source;
      source.scope.assign(soft.scope, soft.scope + soft.arity);
      source.soft = f;
      source.cells = soft.cells;
      sources_.push_back(std::move(source));
    }
  }

  void add_hard_factor(int64_t h, double most_bytes) {
    const HardFactor hard = graphs_.hard(g_, h);
    double cells = 1;
    for (int64_t j = 0; j < hard.arity; ++j) cells *= static_cast<double>(labels_[hard.scope[j]]);
    const bool counts = hard.kind <= HardKind::kBudget;
    if (counts && (cells > kLargeRule || hard.arity > kManyLiterals)) return add_counting(hard);
    if (8 * cells > most_bytes || cells > kLargestRule)
      throw TooWide("graph " + std::to_string(g_) + ", hard factor " + std::to_string(h) + ": its table has " +
                    number(cells) +
                    " cells, which is too many for exact inference: use inference=\"relaxed\" or \"bp\".");
    Source source;
    source.scope.assign(hard.scope, hard.scope + hard.arity);
    source.cells = static_cast<int64_t>(cells);
    const bool of_tuples = hard.kind == HardKind::kAllowed || hard.kind == HardKind::kForbidden;
    if (of_tuples) {
      const bool allowed = hard.kind == HardKind::kAllowed;
      source.table.assign(source.cells, allowed ? -kInfinity : 0.0);
      for (const int32_t* tuple = hard.data; tuple < hard.data + hard.data_size; tuple += hard.arity) {
        int64_t cell = 0;
        for (int64_t j = 0; j < hard.arity; ++j) cell = cell * labels_[hard.scope[j]] + tuple[j];
        source.table[cell] = allowed ? 0.0 : -kInfinity;
      }
    } else {
      std::vector<int32_t> tuple(hard.arity, 0);
      for (int64_t cell = 0; cell < source.cells; ++cell) {
        source.table.push_back(graphs_.allows(g_, hard, tuple.data()) ? 0.0 : -kInfinity);
        for (int64_t j = hard.arity - 1; j >= 0 && ++tuple[j] == labels_[hard.scope[j]]; --j) tuple[j] = 0;
      }
    }
    sources_.push_back(std::move(source));
  }

  // Rules that count: after literal j, an auxiliary variable holds the number of true literals so far, capped at `top`.
  // The last literal leads to a final state that is allowed or not.
  void add_counting(const HardFactor& hard) {
    const bool implication = hard.kind == HardKind::kImplication;
    int64_t top = 1;  // or, implication: none or some
    if (hard.kind == HardKind::kXor || hard.kind == HardKind::kAtMostOne) top = 2;
    if (hard.kind == HardKind::kBudget) top = std::min<int64_t>(hard.data[0], hard.arity) + 1;
    const auto next = [&](int64_t state, int64_t j, int32_t label) {
      const bool is_true = hard.literal(j, label);
      // An implication counts false literals of the premise and a true conclusion.
      const bool counted = implication && j + 1 < hard.arity ? !is_true : is_true;
      return std::min(top, state + (counted ? 1 : 0));
    };
    const auto ends_well = [&](int64_t state) {
      switch (hard.kind) {
        case HardKind::kXor: return state == 1;
        case HardKind::kAtMostOne: return state <= 1;
        case HardKind::kBudget: return state <= hard.data[0];
        default: return state >= 1;  // or, implication
      }
    };
    int32_t before = -1;  // the variable of the count so far
    for (int64_t j = 0; j < hard.arity; ++j) {
      const bool last = j + 1 == hard.arity;
      const int32_t v = hard.scope[j];
      const auto after = static_cast<int32_t>(labels_.size());
      Source source;
      if (before >= 0) source.scope.push_back(before);
      source.scope.push_back(v);
      if (!last) {
        source.scope.push_back(after);
        labels_.push_back(top + 1);
      }
      for (int64_t state = 0; state <= (before < 0 ? 0 : top); ++state)
        for (int32_t label = 0; label < labels_[v]; ++label) {
          const int64_t reached = next(state, j, label);
          if (last)
            source.table.push_back(ends_well(reached) ? 0.0 : -kInfinity);
          else
            for (int64_t state_after = 0; state_after <= top; ++state_after)
              source.table.push_back(state_after == reached ? 0.0 : -kInfinity);
        }
      source.cells = static_cast<int64_t>(source.table.size());
      sources_.push_back(std::move(source));
      before = after;
    }
  }

  void make_cliques(double most_bytes) {
    Elimination elimination(labels_, most_bytes / 8);
    for (const Source& source : sources_)
      elimination.join(source.scope.data(), static_cast<int64_t>(source.scope.size()));
    elimination.run();
    if (!elimination.fits())
      throw TooWide("graph " + std::to_string(g_) + ": exact inference needs a clique of " +
                    (elimination.complete() ? "" : "at least ") + std::to_string(elimination.width()) +
                    " variables and tables of " + (elimination.complete() ? "" : "at least ") +
                    number(8 * elimination.cells() / 1e6) + " MB, and the limit is " + number(most_bytes / 1e6) +
                    " MB: use approximate inference (inference=\"bp\", \"trw\", \"relaxed\" or \"lp\").");
    for (Clique& clique : elimination.cliques()) {
      Node node;
      node.variables = std::move(clique.variables);
      node.shared = clique.shared;
      node.parent = clique.parent;
      node.steps.resize(node.variables.size());
      int64_t step = 1;
      for (size_t j = node.variables.size(); j-- > 0;) {
        node.steps[j] = step;
        step *= labels_[node.variables[j]];
        if (static_cast<int64_t>(j) == node.shared) node.eliminated = step;
      }
      node.separator = step / node.eliminated;
      node.first_cell = cells_;
      node.first_separator = separators_;
      cells_ += node.cells();
      separators_ += node.separator;
      width_ = std::max(width_, static_cast<int64_t>(node.variables.size()));
      nodes_.push_back(std::move(node));
    }
    for (size_t k = 0; k < nodes_.size(); ++k) {
      Node& node = nodes_[k];
      if (node.parent < 0) {
        roots_.push_back(static_cast<int64_t>(k));
        continue;
      }
      Node& parent = nodes_[node.parent];
      parent.children.push_back(static_cast<int64_t>(k));
      node.in_parent =
          pattern_of(parent, std::vector<int32_t>(node.variables.begin(), node.variables.begin() + node.shared));
    }
    for (Source& source : sources_) {
      const int32_t first = *std::min_element(source.scope.begin(), source.scope.end(), [&](int32_t u, int32_t v) {
        return elimination.position(u) < elimination.position(v);
      });
      Node& node = nodes_[elimination.clique_of(first)];
      source.pattern = pattern_of(node, source.scope);
      if (node.factor < 0 && source.soft >= 0 && source.scope.size() == node.variables.size() &&
          graphs_.factor(g_, source.soft).form != FactorForm::kPartial)
        node.factor = source.soft;
      node.sources.push_back(std::move(source));
    }
    sources_.clear();
    for (Node& node : nodes_)
      if (node.sources.size() > kManySources * node.variables.size()) node.sums = sums_of(node);
  }

  TableSums sums_of(const Node& node) const {
    std::vector<int64_t> counts;
    for (const int32_t v : node.variables) counts.push_back(labels_[v]);
    std::vector<std::vector<TableSums::Place>> places;
    for (const Source& source : node.sources) {
      std::vector<TableSums::Place>& of_source = places.emplace_back();
      int64_t step = source.cells;
      for (const int32_t v : source.scope) {
        step /= labels_[v];
        const auto at = std::find(node.variables.begin(), node.variables.end(), v) - node.variables.begin();
        of_source.push_back({static_cast<size_t>(at), step});
      }
      std::sort(of_source.begin(), of_source.end(),
                [](const TableSums::Place& a, const TableSums::Place& b) { return a.variable < b.variable; });
    }
    return {std::move(counts), std::move(places)};
  }

  static std::string number(double value) {
    if (value < 100) {  // small limits would round to 0 MB
      std::array<char, 32> digits{};
      std::snprintf(digits.data(), digits.size(), "%.6g", value);
      return digits.data();
    }
    if (value < 1e15) return std::to_string(static_cast<int64_t>(std::ceil(value)));
    return "1e" + std::to_string(static_cast<int64_t>(std::floor(std::log10(value))));
  }

  static constexpr double kLargeRule = 256;        // a rule that counts becomes a chain if its table is larger
  static constexpr int64_t kManyLiterals = 8;      // ... or if it has more literals
  static constexpr int64_t kManyLabels = 8;        // eliminated at once: enough for vector code to pay off
  static constexpr size_t kManySources = 2;        // per variable of a clique: more are summed by TableSums
  static constexpr double kLargestRule = 1 << 22;  // cells of the table of any other rule

  const FactorGraphs& graphs_;
  int64_t g_;
  int64_t variables_;            // of the graph; auxiliary ones follow
  std::vector<int64_t> labels_;  // of all variables
  std::vector<Source> sources_;
  std::vector<Node> nodes_;  // children before parents
  std::vector<int64_t> roots_;
  int64_t width_ = 0;
  int64_t cells_ = 0;
  int64_t separators_ = 0;
  bool restricted_ = false;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Hypergraph> hypergraph_;
};

}  // namespace margrave
