// Paths of an acyclic graph with scored edges: Viterbi, forward-backward, k best, samples, best by cost.
//
// Every edge leads to a node with a higher number. Paths lead from node 0 to the last node. An edge may have a part,
// and a path may contain a part several times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engines/hypergraph.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "simd/loops.h"

namespace margrave {

class Paths {
 public:
  // Edges are sorted by head. part: -1 for an edge without a part, which scores 0.
  Paths(int64_t nodes, std::vector<int32_t> tails, std::vector<int32_t> heads, std::vector<int32_t> parts)
      : nodes_(nodes), tail_(std::move(tails)), head_(std::move(heads)), part_(std::move(parts)) {
    checked_count(nodes_, "nodes of a lattice", 1);
    if (tail_.size() != head_.size() || tail_.size() != part_.size())
      throw InputError("every edge of a lattice needs a tail, a head and a part.");
    begin_.assign(nodes_ + 1, 0);
    for (size_t e = 0; e < head_.size(); ++e) {
      if (head_[e] < 0 || head_[e] >= nodes_ || (e > 0 && head_[e] < head_[e - 1]))
        throw InputError("edge " + std::to_string(e) + ": heads must be nodes, in ascending order.");
      if (tail_[e] < 0 || tail_[e] >= head_[e])
        throw InputError("edge " + std::to_string(e) + ": its tail must come before its head.");
      if (part_[e] < -1) throw InputError("edge " + std::to_string(e) + ": its part is out of range.");
      part_count_ = std::max<int64_t>(part_count_, part_[e] + 1);
      plain_ = plain_ && part_[e] == static_cast<int32_t>(e);
      ++begin_[head_[e] + 1];
    }
    for (size_t v = 1; v < begin_.size(); ++v) begin_[v] += begin_[v - 1];
  }

  int64_t nodes() const { return nodes_; }
  int64_t edges() const { return static_cast<int64_t>(tail_.size()); }
  int64_t parts() const { return part_count_; }  // one more than the largest part
  int32_t tail(int64_t e) const { return tail_[e]; }
  int32_t head(int64_t e) const { return head_[e]; }
  int32_t part(int64_t e) const { return part_[e]; }
  int64_t begin(int64_t v) const { return begin_[v]; }  // the first edge into v

  double argmax(const double* theta, Output& y, Scratch& scratch) const {
    const int64_t* choice;
    const double value = viterbi(theta, choice, scratch)[nodes_ - 1];
    y.clear();
    if (value == -kInfinity) return value;
    for (int64_t v = nodes_ - 1; v > 0;) {
      const int64_t e = choice[v];
      if (part_[e] >= 0) y.push_back(part_[e]);
      v = tail_[e];
    }
    put_in_order(y);
    return value;
  }

  // Every edge weighs exp(score + best(tail) - best(head)), at most 1, where best(v) is the best score of a path to v.
  // The sum a(v) over the paths to a node is then at least 1 and at most their number. If that number is astronomical,
  // the sums are repeated in log space. Backwards, only negligible marginals underflow.
  double logsum(const double* theta, int64_t n, double* mu, Scratch& scratch) const {
    std::fill(mu, mu + n, 0.0);
    const double* best = viterbi(theta, scratch);
    const double top = best[nodes_ - 1];
    if (top == -kInfinity) return top;
    double* x = scratch.take(edges());
    weigh(theta, best, x, scratch);
    double* a = scratch.take(nodes_);
    if (!sum_prefixes(x, a)) return log_space(theta, mu, scratch);
    double* b = scratch.take(nodes_);
    std::fill(b, b + nodes_, 0.0);
    b[nodes_ - 1] = 1 / a[nodes_ - 1];
    for (int64_t e = edges() - 1; e >= 0; --e) {
      const double rest = x[e] * b[head_[e]];
      b[tail_[e]] += rest;
      if (part_[e] >= 0) mu[part_[e]] += a[tail_[e]] * rest;
    }
    return top + std::log(a[nodes_ - 1]);
  }

  // Each path is the best one except for some side edges. The loss of a side edge is the score of the best path to its
  // head minus that of the best path through it. Losses add up. The successors of a path have one more side edge,
  // before all of its own.
  void kbest(const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch& scratch) const {
    struct Path {
      double value;
      int64_t parent;  // index among the paths found
      int64_t edge;    // the side edge; -1: none
      bool operator<(const Path& other) const { return value < other.value; }
    };
    ys.clear();
    const int64_t* choice;
    const double* best = viterbi(theta, choice, scratch);
    if (best[nodes_ - 1] == -kInfinity) return;
    std::vector<Path> found;
    std::vector<Path> heap{{best[nodes_ - 1], -1, -1}};
    std::vector<int64_t> sides;
    while (!heap.empty() && static_cast<int64_t>(found.size()) < k) {
      std::pop_heap(heap.begin(), heap.end());
      found.push_back(heap.back());
      heap.pop_back();
      const Path last = found.back();
      const auto parent = static_cast<int64_t>(found.size()) - 1;
      sides.clear();
      for (int64_t p = parent; found[p].edge >= 0; p = found[p].parent) sides.push_back(found[p].edge);
      ys.push_back({0.0, {}});
      Output& y = ys.back().y;
      for (int64_t v = nodes_ - 1; v > 0;) {
        const bool aside = !sides.empty() && head_[sides.back()] == v;
        const int64_t e = aside ? sides.back() : choice[v];
        if (aside) sides.pop_back();
        if (part_[e] >= 0) y.push_back(part_[e]);
        v = tail_[e];
      }
      put_in_order(y);
      for (const int32_t part : y) ys.back().value += theta[part];
      if (static_cast<int64_t>(found.size()) == k) break;
      for (int64_t v = last.edge < 0 ? nodes_ - 1 : tail_[last.edge]; v > 0; v = tail_[choice[v]])
        for (int64_t e = begin_[v]; e < begin_[v + 1]; ++e) {
          if (e == choice[v]) continue;
          const double through = best[tail_[e]] + score(e, theta);
          if (through == -kInfinity) continue;
          heap.push_back({last.value - (best[v] - through), parent, e});
          std::push_heap(heap.begin(), heap.end());
        }
    }
  }

  // The k best strings, each with its best path. A string is the words of a path, without those that are -1. The search
  // starts at the end. A state is a suffix of strings, with the best way to spell it from each node. States are
  // expanded in order of the best score of a whole path with that suffix.
  void kbest_strings(const double* theta, const int32_t* words, int64_t k, std::vector<ScoredOutput>& ys,
                     Scratch& scratch) const {
    struct Way {
      int32_t node;
      double score;
      int64_t edge;   // edge that leaves the node; -1 at the end
      int64_t after;  // index of the way in the state that the edge leads to
      int64_t state;  // that state
    };
    // If scores are equal up to rounding, a complete string comes first, then the suffix found last, which is the
    // longest. Otherwise all suffixes of all tied strings would be expanded first.
    struct Item {
      double value;
      int64_t state;
      bool whole;  // a complete string
      bool operator<(const Item& other) const {
        if (value != other.value) return value < other.value;
        return whole != other.whole ? other.whole : state < other.state;
      }
    };
    ys.clear();
    const double* best = viterbi(theta, scratch);
    if (best[nodes_ - 1] == -kInfinity) return;
    const double unit = kRounding * std::max(1.0, std::abs(best[nodes_ - 1]));
    const auto rounded = [&](double value) { return std::round(value / unit); };
    std::vector<std::vector<Way>> states;
    std::vector<Item> heap;
    // Adds the tails of edges without a word, and puts the state on the heap.
    const auto add_state = [&](std::vector<Way> ways) {
      const auto state = static_cast<int64_t>(states.size());
      // From higher to lower nodes: backwards, edges lead downwards only.
      for (size_t done = 0; done < ways.size(); ++done) {
        std::sort(ways.begin() + static_cast<int64_t>(done), ways.end(),
                  [](const Way& a, const Way& b) { return a.node != b.node ? a.node > b.node : a.score > b.score; });
        const int32_t node = ways[done].node;
        const auto same = std::find_if(ways.begin() + static_cast<int64_t>(done) + 1, ways.end(),
                                       [&](const Way& other) { return other.node != node; });
        ways.erase(ways.begin() + static_cast<int64_t>(done) + 1, same);
        const Way from = ways[done];
        for (int64_t e = begin_[node]; e < begin_[node + 1]; ++e) {
          const double through = from.score + score(e, theta);
          if (words[e] >= 0 || best[tail_[e]] == -kInfinity || through == -kInfinity) continue;
          ways.push_back({tail_[e], through, e, static_cast<int64_t>(done), state});
        }
      }
      double partial = -kInfinity;
      for (const Way& way : ways) {
        if (way.node == 0)
          heap.push_back({rounded(way.score), state, true}), std::push_heap(heap.begin(), heap.end());
        else
          partial = std::max(partial, way.score + best[way.node]);
      }
      if (partial > -kInfinity)
        heap.push_back({rounded(partial), state, false}), std::push_heap(heap.begin(), heap.end());
      states.push_back(std::move(ways));
    };
    add_state({{static_cast<int32_t>(nodes_ - 1), 0.0, -1, -1, -1}});
    std::vector<std::pair<int32_t, Way>> next;  // by word
    while (!heap.empty() && static_cast<int64_t>(ys.size()) < k) {
      std::pop_heap(heap.begin(), heap.end());
      const Item item = heap.back();
      heap.pop_back();
      const std::vector<Way>& ways = states[item.state];
      if (item.whole) {
        ScoredOutput found{0.0, {}};
        const Way* way = &*std::find_if(ways.begin(), ways.end(), [](const Way& each) { return each.node == 0; });
        while (way->edge >= 0) {
          if (part_[way->edge] >= 0) found.y.push_back(part_[way->edge]);
          way = &states[way->state][way->after];
        }
        std::sort(found.y.begin(), found.y.end());
        for (const int32_t part : found.y) found.value += theta[part];
        ys.push_back(std::move(found));
        continue;
      }
      next.clear();
      for (size_t w = 0; w < ways.size(); ++w)
        for (int64_t e = begin_[ways[w].node]; e < begin_[ways[w].node + 1]; ++e) {
          const double through = ways[w].score + score(e, theta);
          if (words[e] < 0 || best[tail_[e]] == -kInfinity || through == -kInfinity) continue;
          next.push_back({words[e], {tail_[e], through, e, static_cast<int64_t>(w), item.state}});
        }
      std::stable_sort(next.begin(), next.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t first = 0; first < next.size();) {
        std::vector<Way> of_word;
        const int32_t word = next[first].first;
        for (; first < next.size() && next[first].first == word; ++first) of_word.push_back(next[first].second);
        add_state(std::move(of_word));
      }
    }
    std::stable_sort(ys.begin(), ys.end(), [](const auto& a, const auto& b) { return a.value > b.value; });
  }

  // Samples backwards from the end, each edge in proportion to its share of the sum over the paths to its head.
  void sample(const double* theta, Random& random, std::vector<Output>& ys, Scratch& scratch) const {
    const double* best = viterbi(theta, scratch);
    if (best[nodes_ - 1] == -kInfinity) throw InputError("every output is forbidden.");
    double* x = scratch.take(edges());
    weigh(theta, best, x, scratch);
    double* a = scratch.take(nodes_);
    if (sum_prefixes(x, a)) {
      for (int64_t e = 0; e < edges(); ++e) x[e] *= a[tail_[e]];
    } else {
      const std::vector<double> logs = log_prefixes(theta);
      for (int64_t e = 0; e < edges(); ++e) {
        const double through = logs[tail_[e]] + score(e, theta);
        x[e] = through == -kInfinity ? 0.0 : std::exp(through - logs[head_[e]]);
      }
    }
    for (Output& y : ys) {
      y.clear();
      for (int64_t v = nodes_ - 1; v > 0;) {
        const int64_t first = begin_[v];
        const int64_t e = first + random.choose(x + first, begin_[v + 1] - first);
        if (part_[e] >= 0) y.push_back(part_[e]);
        v = tail_[e];
      }
      put_in_order(y);
    }
  }

  // The best path at each total cost: every node has a table over the costs of the paths to it.
  void argmax_by_cost(const double* theta, const double* delta, int64_t n, std::vector<CostedOutput>& ys) const {
    struct ByCost {
      int64_t low = 0;
      std::vector<double> value;
    };
    const std::vector<int64_t> costs = whole_costs(delta, n);
    const auto paid = [&](int64_t e) { return part_[e] < 0 ? 0 : costs[part_[e]]; };
    std::vector<ByCost> tables(nodes_);
    tables[0].value = {0.0};
    int64_t cells = 1;
    for (int64_t v = 1; v < nodes_; ++v) {
      int64_t low = std::numeric_limits<int64_t>::max();
      int64_t high = std::numeric_limits<int64_t>::min();
      const auto each = [&](const auto& visit) {
        for (int64_t e = begin_[v]; e < begin_[v + 1]; ++e) {
          const ByCost& from = tables[tail_[e]];
          if (!from.value.empty() && score(e, theta) > -kInfinity) visit(from, paid(e), score(e, theta));
        }
      };
      each([&](const ByCost& from, int64_t cost, double) {
        low = std::min(low, from.low + cost);
        high = std::max(high, from.low + cost + static_cast<int64_t>(from.value.size()) - 1);
      });
      if (low > high) continue;
      cells += high - low + 1;
      if (cells > kMostCells)
        throw InputError("argmax_by_cost would need tables of more than " + std::to_string(kMostCells) +
                         " entries: use smaller costs.");
      tables[v].low = low;
      tables[v].value.assign(high - low + 1, -kInfinity);
      each([&](const ByCost& from, int64_t cost, double gain) {
        double* to = tables[v].value.data() + (from.low + cost - low);
        for (size_t c = 0; c < from.value.size(); ++c) to[c] = std::max(to[c], from.value[c] + gain);
      });
    }
    ys.clear();
    const ByCost& ends = tables.back();
    for (size_t c = 0; c < ends.value.size(); ++c) {
      if (ends.value[c] == -kInfinity) continue;
      CostedOutput found{ends.low + static_cast<int64_t>(c), ends.value[c], {}};
      int64_t left = found.cost;
      for (int64_t v = nodes_ - 1; v > 0;) {
        const double here = tables[v].value[left - tables[v].low];
        for (int64_t e = begin_[v];; ++e) {
          const ByCost& from = tables[tail_[e]];
          const int64_t before = left - paid(e) - from.low;
          if (before < 0 || before >= static_cast<int64_t>(from.value.size())) continue;
          if (from.value[before] == -kInfinity || from.value[before] + score(e, theta) != here) continue;
          if (part_[e] >= 0) found.y.push_back(part_[e]);
          left -= paid(e);
          v = tail_[e];
          break;
        }
      }
      std::sort(found.y.begin(), found.y.end());
      ys.push_back(std::move(found));
    }
  }

  // The number of paths, as a floating-point number.
  double count() const {
    std::vector<double> paths(nodes_, 0.0);
    paths[0] = 1;
    for (int64_t e = 0; e < edges(); ++e) paths[head_[e]] += paths[tail_[e]];
    return paths.back();
  }

  // The same paths without unused nodes and edges. A graph without paths becomes two nodes without an edge.
  Paths trimmed() const {
    std::vector<uint8_t> reached(nodes_, 0), leads(nodes_, 0);
    reached[0] = 1;
    leads.back() = 1;
    for (int64_t e = 0; e < edges(); ++e)
      if (reached[tail_[e]]) reached[head_[e]] = 1;
    for (int64_t e = edges() - 1; e >= 0; --e)
      if (leads[head_[e]]) leads[tail_[e]] = 1;
    if (!reached.back()) return Paths(2, {}, {}, {});
    std::vector<int32_t> number(nodes_, -1);
    int32_t count = 0;
    for (int64_t v = 0; v < nodes_; ++v)
      if (reached[v] && leads[v]) number[v] = count++;
    std::vector<int32_t> tails, heads, parts;
    for (int64_t e = 0; e < edges(); ++e) {
      if (number[tail_[e]] < 0 || number[head_[e]] < 0) continue;
      tails.push_back(number[tail_[e]]);
      heads.push_back(number[head_[e]]);
      parts.push_back(part_[e]);
    }
    return Paths(count, std::move(tails), std::move(heads), std::move(parts));
  }

 private:
  static constexpr double kMostPaths = 1e200;
  static constexpr double kRounding = 1e-12;  // scores whose relative difference is smaller are equal
  static constexpr int64_t kMostCells = 200'000'000;

  double score(int64_t e, const double* theta) const { return part_[e] < 0 ? 0.0 : theta[part_[e]]; }

  // Paths are found from their end.
  void put_in_order(Output& y) const {
    if (plain_)
      std::reverse(y.begin(), y.end());
    else
      std::sort(y.begin(), y.end());
  }

  // The best score of a path to each node and, on request, the last edge of that path, the first of several. Edges into
  // a node are processed four at a time; the last one is repeated to fill up. Neither their number nor the best one is
  // predictable, so the loop has no branch on the latter and few on the former.
  double* viterbi(const double* theta, Scratch& scratch) const { return search<false>(theta, nullptr, scratch); }
  double* viterbi(const double* theta, const int64_t*& edges_of_best, Scratch& scratch) const {
    auto* choice = ::new (static_cast<void*>(scratch.take(nodes_))) int64_t[nodes_];
    edges_of_best = choice;
    return search<true>(theta, choice, scratch);
  }
  template <bool Choose>
  double* search(const double* theta, int64_t* choice, Scratch& scratch) const {
    double* best = scratch.take(nodes_);
    const double* scores = theta;
    if (!plain_) {
      double* copied = scratch.take(std::max<int64_t>(edges(), 1));
      for (int64_t e = 0; e < edges(); ++e) copied[e] = score(e, theta);
      scores = copied;
    }
    best[0] = 0;
    const int32_t* tail = tail_.data();
    const int64_t* begin = begin_.data();
    const auto larger = [](double a, double b) { return a > b ? a : b; };
    for (int64_t v = 1; v < nodes_; ++v) {
      const int64_t last = begin[v + 1] - 1;
      double top = -kInfinity;
      int64_t chosen = last;
      for (int64_t e = begin[v]; e <= last; e += 4) {
        double x[4];
        for (int64_t k = 0; k < 4; ++k) {
          const int64_t edge = std::min(e + k, last);
          x[k] = best[tail[edge]] + scores[edge];
        }
        const double left = larger(x[0], x[1]);
        const double right = larger(x[2], x[3]);
        const double both = larger(left, right);
        if constexpr (Choose) {  // by arithmetic, because compilers turn conditions into branches
          const int64_t of_left = x[1] > x[0];
          const int64_t of_right = 2 + (x[3] > x[2]);
          const int64_t edge = e + of_left + (of_right - of_left) * (right > left);
          chosen ^= (chosen ^ edge) & -static_cast<int64_t>(both > top);
        }
        top = larger(top, both);
      }
      best[v] = top;
      if constexpr (Choose) choice[v] = chosen;
    }
    return best;
  }

  // x = exp(score + best(tail) - best(head)); the largest is 1.
  void weigh(const double* theta, const double* best, double* x, Scratch& scratch) const {
    double* logs = scratch.take(edges());
    for (int64_t e = 0; e < edges(); ++e) {
      const double through = best[tail_[e]] + score(e, theta);
      logs[e] = through == -kInfinity ? -kInfinity : through - best[head_[e]];
    }
    ChainTable table{x, nullptr, 0, 0, false};
    loops().exp_range(edges(), logs, &table);
    if (edges() == 0) return;
    if (table.top != 0) {  // only because of rounding
      const double factor = std::exp(table.top);
      for (int64_t e = 0; e < edges(); ++e) x[e] *= factor;
    }
  }

  bool sum_prefixes(const double* x, double* a) const {
    a[0] = 1;
    for (int64_t v = 1; v < nodes_; ++v) {
      double sum = 0;
      for (int64_t e = begin_[v]; e < begin_[v + 1]; ++e) sum += a[tail_[e]] * x[e];
      if (sum > kMostPaths) return false;
      a[v] = sum;
    }
    return true;
  }

  std::vector<double> log_prefixes(const double* theta) const {
    std::vector<double> in(nodes_, -kInfinity);
    in[0] = 0;
    for (int64_t e = 0; e < edges(); ++e) {
      double& sum = in[head_[e]];
      sum = log_add(sum, in[tail_[e]] + score(e, theta));
    }
    return in;
  }

  double log_space(const double* theta, double* mu, Scratch&) const {
    const std::vector<double> in = log_prefixes(theta);
    const double log_z = in.back();
    std::vector<double> out(nodes_, -kInfinity);
    out.back() = 0;
    for (int64_t e = edges() - 1; e >= 0; --e) {
      const double rest = score(e, theta) + out[head_[e]];
      if (rest == -kInfinity) continue;
      double& sum = out[tail_[e]];
      sum = log_add(sum, rest);
      if (part_[e] >= 0) mu[part_[e]] += std::exp(in[tail_[e]] + rest - log_z);
    }
    return log_z;
  }

  int64_t nodes_;
  int64_t part_count_ = 0;
  bool plain_ = true;  // every edge has its own number as its part
  std::vector<int32_t> tail_;
  std::vector<int32_t> head_;
  std::vector<int32_t> part_;
  std::vector<int64_t> begin_;  // by head
};

}  // namespace margrave
