// Clique trees of undirected graphs by min-fill elimination.
//
// Eliminating a variable connects its neighbors to each other. The next variable is one whose neighbors need the fewest
// new edges; among several, one with the smallest table. A variable and its current neighbors are a clique, unless they
// are contained in the clique of a variable eliminated before. The parent of a clique is the one in which the first of
// its other variables is eliminated (Koller and Friedman 2009, sections 9.4.3 and 10.4).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace margrave {

struct Clique {
  std::vector<int32_t> variables;  // shared with the parent first; later eliminated ones come sooner
  int64_t shared;                  // number of variables shared with the parent
  int64_t parent;                  // a later clique, or -1
};

class Elimination {
 public:
  // labels: by variable. Children come before parents. If the tables would have more than `most` cells in total, there
  // are no cliques. Elimination then continues for a while only to estimate the size.
  Elimination(std::vector<int64_t> labels, double most) : labels_(std::move(labels)), most_(most) {
    neighbors_.resize(labels_.size());
  }

  // Connects all variables of a factor.
  void join(const int32_t* scope, int64_t arity) {
    for (int64_t a = 0; a < arity; ++a)
      for (int64_t b = 0; b < arity; ++b)
        if (a != b) neighbors_[scope[a]].push_back(scope[b]);
  }

  void run() {
    const auto n = static_cast<int32_t>(labels_.size());
    mark_.assign(n, -1);
    position_.assign(n, -1);
    for (auto& list : neighbors_) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    key_.resize(n);
    for (int32_t v = 0; v < n; ++v) queue_.insert(key_[v] = key(v));
    for (int32_t step = 0; step < n; ++step) {
      const int32_t v = std::get<2>(*queue_.begin());
      queue_.erase(queue_.begin());
      const std::vector<int32_t> beside = eliminate(v, step);
      double table = static_cast<double>(labels_[v]);
      for (const int32_t u : beside) table *= static_cast<double>(labels_[u]);
      if (table > largest_table_) largest_table_ = table;
      cells_ += table;
      width_ = std::max(width_, static_cast<int64_t>(beside.size()) + 1);
      beside_.push_back(beside);
      if (cells_ > most_ && work_ > kMostWork) return;
    }
    complete_ = true;
    if (cells_ <= most_) make_cliques();
  }

  bool complete() const { return complete_; }  // otherwise the sizes below are lower bounds for this order
  bool fits() const { return complete_ && cells_ <= most_; }
  int64_t width() const { return width_; }  // of the largest clique
  double largest_table() const { return largest_table_; }
  double cells() const { return cells_; }
  std::vector<Clique>& cliques() { return cliques_; }
  int64_t clique_of(int64_t v) const { return clique_of_[v]; }  // where it is eliminated
  int64_t position(int64_t v) const { return position_[v]; }

 private:
  using Key = std::tuple<int64_t, double, int32_t>;  // new edges, cells, variable
  static constexpr int64_t kMostWork = 200'000'000;  // less than a second

  Key key(int32_t v) {
    const std::vector<int32_t>& beside = neighbors_[v];
    int64_t missing = 0;
    double cells = static_cast<double>(labels_[v]);
    for (const int32_t u : beside) {
      cells *= static_cast<double>(labels_[u]);
      ++stamp_;
      for (const int32_t w : neighbors_[u]) mark_[w] = stamp_;
      for (const int32_t w : beside) missing += w != u && mark_[w] != stamp_ ? 1 : 0;
      work_ += static_cast<int64_t>(beside.size() + neighbors_[u].size());
    }
    return {missing, cells, v};
  }

  std::vector<int32_t> eliminate(int32_t v, int32_t step) {
    position_[v] = step;
    std::vector<int32_t> beside = std::move(neighbors_[v]);
    neighbors_[v].clear();
    const bool fills = std::get<0>(key_[v]) > 0;
    for (const int32_t u : beside) {
      std::vector<int32_t>& list = neighbors_[u];
      list.erase(std::find(list.begin(), list.end(), v));
      if (!fills) continue;
      ++stamp_;
      for (const int32_t w : list) mark_[w] = stamp_;
      for (const int32_t w : beside)
        if (w != u && mark_[w] != stamp_) list.push_back(w);
    }
    std::vector<int32_t> changed = beside;
    if (fills) {
      for (const int32_t u : beside) changed.insert(changed.end(), neighbors_[u].begin(), neighbors_[u].end());
      std::sort(changed.begin(), changed.end());
      changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    }
    for (const int32_t u : changed) {
      queue_.erase(key_[u]);
      queue_.insert(key_[u] = key(u));
    }
    return beside;
  }

  void make_cliques() {
    const auto n = static_cast<int64_t>(labels_.size());
    std::vector<int32_t> order(n);
    for (int64_t v = 0; v < n; ++v) order[position_[v]] = static_cast<int32_t>(v);
    const auto later = [this](int32_t u, int32_t v) { return position_[u] > position_[v]; };
    // open_at[u]: the cliques whose first shared variable is u.
    std::vector<std::vector<int64_t>> open_at(n);
    std::vector<Clique> found;
    std::vector<int64_t> last;  // position of the last variable eliminated in each clique
    clique_of_.assign(n, -1);
    for (int64_t step = 0; step < n; ++step) {
      const int32_t u = order[step];
      std::vector<int32_t>& rest = beside_[step];
      std::sort(rest.begin(), rest.end(), later);
      int64_t into = -1;
      for (const int64_t k : open_at[u])
        if (found[k].shared == static_cast<int64_t>(rest.size()) + 1) into = k;
      if (into < 0) {
        into = static_cast<int64_t>(found.size());
        found.push_back({rest, 0, -1});
        found.back().variables.push_back(u);
        last.push_back(0);
      }
      clique_of_[u] = into;
      found[into].shared = static_cast<int64_t>(rest.size());
      last[into] = step;
      if (!rest.empty()) open_at[rest.back()].push_back(into);
    }
    std::vector<int64_t> ranked(found.size());
    std::iota(ranked.begin(), ranked.end(), 0);
    std::sort(ranked.begin(), ranked.end(), [&](int64_t a, int64_t b) { return last[a] < last[b]; });
    std::vector<int64_t> rank(found.size());
    for (size_t k = 0; k < ranked.size(); ++k) rank[ranked[k]] = static_cast<int64_t>(k);
    for (int64_t& k : clique_of_) k = rank[k];
    for (const int64_t k : ranked) {
      Clique& clique = found[k];
      if (clique.shared > 0) clique.parent = clique_of_[clique.variables[clique.shared - 1]];
      cliques_.push_back(std::move(clique));
    }
  }

  std::vector<int64_t> labels_;
  double most_;
  std::vector<std::vector<int32_t>> neighbors_;  // among the remaining variables
  std::vector<std::vector<int32_t>> beside_;     // by step: the neighbors of the eliminated variable
  std::vector<int64_t> mark_;
  int64_t stamp_ = 0;
  int64_t work_ = 0;
  std::vector<Key> key_;
  std::set<Key> queue_;
  std::vector<int64_t> position_;
  std::vector<int64_t> clique_of_;
  std::vector<Clique> cliques_;
  int64_t width_ = 0;
  double largest_table_ = 0;
  double cells_ = 0;
  bool complete_ = false;
};

}  // namespace margrave
