// Projective dependency trees with parts of two arcs: consecutive siblings (McDonald and Pereira 2006), optionally with
// grandparents (model 1 of Koo and Collins 2010). Computes the best tree, the partition function and marginals. A
// hypergraph of the same trees serves k best and samples.
//
// Parts exist for the allowed arcs, and for the ways two of them can occur in a tree:
//
//   (h, m)      the arc from head h to word m
//   (h, -, m)   m is the child of h closest to it, on its side
//   (h, s, m)   s and m are consecutive children of h on one side; s is closer to h
//   (g, h, m)   g is the head of h, and h that of m; with grandparents
//
// The items are those of engines/eisner.h, except that Arc(h, m) depends on its last child: the span between h and m
// with the arc h -> m, in either direction. C(h, e) is h with all descendants up to position e, on one side. With k and
// k + 1 between s and m, and the weights w of parts,
//
//   Arc(h, m) = w(h, m) [ w(h, -, m) C(m, next to h) + sum_s w(h, s, m) Arc(h, s) Join(s, m) ]
//   Join(s, m) = sum_k C(s, k) C(m, k + 1)
//   C(h, e) = sum_m Arc(h, m) C(m, e)
//
// in O(n^3). With grandparents, each item also has the head of its head, and each part has its own Join(h, s, m), since
// s and m have the head h. In O(n^4), with g outside of the span,
//
//   Arc(g, h, m) = w(g, h, m) w(h, m) [ w(h, -, m) C(h, m, next to h) + sum_s w(h, s, m) Arc(g, h, s) Join(h, s, m) ]
//   Join(h, s, m) = sum_k C(h, s, k) C(h, m, k + 1)
//   C(g, h, e) = sum_m Arc(g, h, m) C(h, m, e)
//
// The partition function is C(0, n). A single root has no parts (0, s, m), hence no second child.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "engines/eisner.h"
#include "engines/hypergraph.h"
#include "engines/semirings.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"
#include "simd/loops.h"

namespace margrave::second_order {

using tree::Arc;

struct Sentence {
  int n;            // words
  const Arc* arcs;  // allowed arcs, by word, then by head
  int64_t count;    // of arcs
  bool grandparents, single_root;
};

// ---- The parts of a sentence ---------------------------------------------------------------------------------------

// Arcs come first, by word, then by head. Then, arc by arc, (h, -, m) and the (h, s, m) by s. Then, for each arc (g,
// h), the (g, h, m) by m. The children of h have consecutive numbers (slots), by ascending words, so all sums run over
// contiguous slots.
class Layout : public Sentence {
 public:
  explicit Layout(const Sentence& sentence) : Sentence(sentence) {
    number_children();
    number_siblings();
    number_grandparents();
  }

  int64_t parts() const { return parts_; }

  // The slots of the children of h strictly between h and the child in slot k.
  std::pair<int64_t, int64_t> slots_between(int h, int64_t k) const {
    if (h == 0 && single_root) return {k, k};
    return words[k] > h ? std::pair{right[h], k} : std::pair{k + 1, right[h]};
  }
  // The slots of the children of h that can occur when its head is g: g is never under an arc from h.
  std::pair<int64_t, int64_t> slots_seen(int g, int h) const {
    const auto first = words.begin() + begin[h], last = words.begin() + begin[h + 1];
    const auto place = std::lower_bound(first, last, g) - words.begin();  // g itself, or the next word
    if (g > h) return {begin[h], place};
    return {place + (place < begin[h + 1] && words[place] == g), begin[h + 1]};
  }

  int64_t first_part(int64_t arc) const { return siblings[arc]; }
  // The part (h, s, m) of the arc in slot k and the sibling in slot s.
  int64_t sibling_part(int64_t k, int64_t s) const {
    const Arc& arc = arcs[by_slot[k]];
    return siblings[by_slot[k]] + 1 + s - slots_between(arc.head, k).first;
  }
  // The part (g, h, m) of the arc (g, h) and the child in slot k.
  int64_t grandparent_part(int64_t arc, int64_t k) const {
    return grand[arc] + k - slots_seen(arcs[arc].head, arcs[arc].word).first;
  }

  // The number of the arc from h to m; -1 if it is not allowed.
  int64_t find(int h, int m) const {
    const auto first = words.begin() + begin[h], last = words.begin() + begin[h + 1];
    const auto place = std::lower_bound(first, last, m);
    return place == last || *place != m ? -1 : by_slot[place - words.begin()];
  }

  // The parts of a tree whose arcs are allowed.
  void parts_of(const int32_t* heads, Output& y) const {
    y.clear();
    std::vector<int64_t> last(2 * (n + 1), -1);  // by head and side: the slot of the last child visited
    const auto visit = [&](int m, bool to_the_right) {
      const int h = heads[m - 1];
      if ((m > h) != to_the_right) return;
      const int64_t arc = find(h, m);
      int64_t& before = last[2 * h + to_the_right];
      const int64_t second = before < 0 ? first_part(arc) : sibling_part(slot[arc], before);
      y.push_back(static_cast<int32_t>(arc));
      y.push_back(static_cast<int32_t>(second));
      if (grandparents && h > 0) y.push_back(static_cast<int32_t>(grandparent_part(find(heads[h - 1], h), slot[arc])));
      before = slot[arc];
    };
    for (int m = 1; m <= n; ++m) visit(m, true);
    for (int m = n; m >= 1; --m) visit(m, false);
    std::sort(y.begin(), y.end());
  }

  // Calls visit(grandparent, head, sibling, word) for every part in order, with -1 for absent members.
  template <class Visit>
  void each_part(const Visit& visit) const {
    for (int64_t a = 0; a < count; ++a) visit(-1, arcs[a].head, -1, arcs[a].word);
    for (int64_t a = 0; a < count; ++a) {
      visit(-1, arcs[a].head, 0, arcs[a].word);
      const auto [first, last] = slots_between(arcs[a].head, slot[a]);
      for (int64_t s = first; s < last; ++s) visit(-1, arcs[a].head, words[s], arcs[a].word);
    }
    for (int64_t a = 0; grandparents && a < count; ++a) {
      const auto [first, last] = slots_seen(arcs[a].head, arcs[a].word);
      for (int64_t k = first; k < last; ++k) visit(arcs[a].head, arcs[a].word, -1, words[k]);
    }
  }

  std::vector<int64_t> begin, right;  // by head: its first slot, and the first one on its right
  std::vector<int32_t> words;         // by slot
  std::vector<int64_t> by_slot;       // the arc of a slot
  std::vector<int64_t> slot;          // the slot of an arc
  std::vector<int64_t> siblings;      // by arc: its part (h, -, m)
  std::vector<int64_t> grand;         // by arc: its first part (g, h, m)

 private:
  void number_children() {
    begin.assign(n + 2, 0);
    for (int64_t a = 0; a < count; ++a) ++begin[arcs[a].head + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    right.assign(begin.begin(), begin.end() - 1);
    std::vector<int64_t> next = right;
    words.resize(count);
    by_slot.resize(count);
    slot.resize(count);
    for (int64_t a = 0; a < count; ++a) {  // arcs are sorted by word
      const int64_t k = next[arcs[a].head]++;
      words[k] = arcs[a].word;
      by_slot[k] = a;
      slot[a] = k;
      right[arcs[a].head] += arcs[a].word < arcs[a].head;
    }
  }
  void number_siblings() {
    parts_ = count;
    siblings.resize(count);
    for (int64_t a = 0; a < count; ++a) {
      const auto [first, last] = slots_between(arcs[a].head, slot[a]);
      siblings[a] = parts_;
      parts_ += 1 + last - first;
    }
  }
  void number_grandparents() {
    if (!grandparents) return;
    grand.resize(count);
    for (int64_t a = 0; a < count; ++a) {
      const auto [first, last] = slots_seen(arcs[a].head, arcs[a].word);
      grand[a] = parts_;
      parts_ += last - first;
    }
  }

  int64_t parts_ = 0;
};

// ---- The items, from narrow to wide spans --------------------------------------------------------------------------

// An item is a sum of terms, times the weights of its own parts: an arc and, with grandparents, a (g, h, m). A term is
// the weight of a part times two items. Part none() has weight 1, and so has item 0.
struct Owned {
  int64_t arc, grandparent;
};

template <bool Grandparents>
class Items {
 public:
  explicit Items(const Layout& layout) : at_(layout), size_(layout.n + 1) {
    const int64_t owners = Grandparents ? at_.count + 1 : size_;
    joins_ = 1 + owners * size_;
    arcs_ = joins_ + (Grandparents ? at_.parts() : size_ * size_);
    end_ = arcs_ + (Grandparents ? at_.parts() : 0) + at_.count;
    sort_by_width();
  }

  int64_t size() const { return end_; }
  int64_t goal() const { return complete(0, root(), at_.n); }
  int64_t none() const { return at_.parts(); }

  // Calls visit(item, owned, each_term) for all items, each after its components (forward) or before them (backward).
  // each_term(add) calls add(part, item, item) for every term.
  template <class Visit>
  void forward(const Visit& visit) const {
    for (int width = 1; width <= at_.n; ++width) {
      arcs(width, visit);
      joins(width, visit);
      completes(width, visit);
    }
  }
  template <class Visit>
  void backward(const Visit& visit) const {
    for (int width = at_.n; width >= 1; --width) {
      completes(width, visit);
      joins(width, visit);
      arcs(width, visit);
    }
  }

 private:
  int64_t root() const { return at_.count; }  // stands for the arc into the head

  // C(h, e), or C(g, h, e) for the arc (g, h).
  int64_t complete(int h, int64_t arc, int e) const { return h == e ? 0 : 1 + (Grandparents ? arc : h) * size_ + e; }
  // Join of a part (h, s, m), or of the words s and m.
  int64_t join(int64_t part, int s, int m) const {
    return joins_ + (Grandparents ? part : std::min(s, m) * size_ + std::max(s, m));
  }
  // Arc(h, m) in slot k, or Arc(g, h, m) for the arc (g, h).
  int64_t arc_item(int64_t into_head, int64_t k) const {
    if (!Grandparents) return arcs_ + k;
    return into_head == root() ? arcs_ + at_.parts() + k : arcs_ + at_.grandparent_part(into_head, k);
  }

  // Arcs, and pairs of siblings, by their widths.
  void sort_by_width() {
    by_width_.resize(size_);
    incoming_.assign(size_ + 1, 0);
    for (int64_t a = 0; a < at_.count; ++a) ++incoming_[at_.arcs[a].word + 1];
    std::partial_sum(incoming_.begin(), incoming_.end(), incoming_.begin());
    for (int64_t a = 0; a < at_.count; ++a) by_width_[std::abs(at_.arcs[a].head - at_.arcs[a].word)].arcs.push_back(a);
    std::vector<bool> seen(Grandparents ? 0 : size_ * size_);
    for (int64_t k = 0; k < at_.count; ++k) {
      const auto [first, last] = at_.slots_between(at_.arcs[at_.by_slot[k]].head, k);
      for (int64_t s = first; s < last; ++s) {
        const auto [low, high] = std::minmax({at_.words[s], at_.words[k]});
        if constexpr (!Grandparents) {
          if (seen[low * size_ + high]) continue;  // shared by all heads
          seen[low * size_ + high] = true;
        }
        by_width_[high - low].siblings.emplace_back(s, k);
      }
    }
  }

  template <class Visit>
  void arcs(int width, const Visit& visit) const {
    for (const int64_t a : by_width_[width].arcs) {
      const Arc arc = at_.arcs[a];
      if (!Grandparents || arc.head == 0) {
        sum_arc(a, root(), none(), visit);
        continue;
      }
      for (int64_t up = incoming_[arc.head]; up < incoming_[arc.head + 1]; ++up) {
        const auto [first, last] = at_.slots_seen(at_.arcs[up].head, arc.head);
        if (first <= at_.slot[a] && at_.slot[a] < last) sum_arc(a, up, at_.grandparent_part(up, at_.slot[a]), visit);
      }
    }
  }

  template <class Visit>
  void sum_arc(int64_t a, int64_t into_head, int64_t grandparent, const Visit& visit) const {
    const auto [h, m] = at_.arcs[a];
    const int64_t k = at_.slot[a];
    visit(arc_item(into_head, k), Owned{a, grandparent}, [&](const auto& add) {
      add(at_.first_part(a), complete(m, a, m > h ? h + 1 : h - 1), 0);
      const auto [first, last] = at_.slots_between(h, k);
      if (first == last) return;
      const int64_t part = at_.sibling_part(k, first), arcs_before = arc_item(into_head, first);
      for (int64_t s = first; s < last; ++s)
        add(part + s - first, arcs_before + s - first, join(part + s - first, at_.words[s], m));
    });
  }

  template <class Visit>
  void joins(int width, const Visit& visit) const {
    for (const auto& [s, k] : by_width_[width].siblings) {
      const int64_t low = std::min(s, k), high = std::max(s, k);
      const int i = at_.words[low], j = at_.words[high];
      const int64_t left = complete(i, at_.by_slot[low], 0), right = complete(j, at_.by_slot[high], 0);
      visit(join(at_.sibling_part(k, s), i, j), Owned{none(), none()}, [&, i = i, j = j](const auto& add) {
        add(none(), 0, i + 1 == j ? 0 : right + i + 1);
        for (int e = i + 1; e < j; ++e) add(none(), left + e, e + 1 == j ? 0 : right + e + 1);
      });
    }
  }

  template <class Visit>
  void completes(int width, const Visit& visit) const {
    if (Grandparents) {
      for (int64_t a = 0; a < at_.count; ++a) {
        const auto [g, h] = at_.arcs[a];
        if (g < h ? h - width > g : h - width > 0) sum_complete(h, a, h - width, visit);
        if (g > h ? h + width < g : h + width <= at_.n) sum_complete(h, a, h + width, visit);
      }
    } else {
      for (int h = 1; h <= at_.n; ++h) {
        if (h - width > 0) sum_complete(h, root(), h - width, visit);
        if (h + width <= at_.n) sum_complete(h, root(), h + width, visit);
      }
    }
    if (width == at_.n) sum_complete(0, root(), width, visit);
  }

  template <class Visit>
  void sum_complete(int h, int64_t arc, int e, const Visit& visit) const {
    visit(complete(h, arc, e), Owned{none(), none()}, [&, h = h, e = e](const auto& add) {
      int64_t first = at_.right[h], last = at_.right[h];
      if (e > h)
        while (last < at_.begin[h + 1] && at_.words[last] <= e) ++last;
      else
        while (first > at_.begin[h] && at_.words[first - 1] >= e) --first;
      if (first == last) return;
      const int64_t item = arc_item(arc, first);
      for (int64_t k = first; k < last; ++k) add(none(), item + k - first, complete(at_.words[k], at_.by_slot[k], e));
    });
  }

  struct Width {
    std::vector<int64_t> arcs;
    std::vector<std::pair<int64_t, int64_t>> siblings;  // the slots of (h, s) and (h, m)
  };

  const Layout& at_;
  int64_t size_, joins_, arcs_, end_;
  std::vector<Width> by_width_;
  std::vector<int64_t> incoming_;  // by word: the first arc into it
};

// ---- Inference -----------------------------------------------------------------------------------------------------

// `size` values from the scratch memory.
template <class T>
T* take(Scratch& scratch, int64_t size, T value) {
  constexpr int64_t kBytes = sizeof(double);
  static_assert(sizeof(T) % kBytes == 0 && alignof(T) == alignof(double));
  auto* numbers = reinterpret_cast<T*>(scratch.take(size * static_cast<int64_t>(sizeof(T)) / kBytes));
  std::uninitialized_fill_n(numbers, size, value);
  return numbers;
}

// Logs of weights, at most 1, of all parts and of none(). In every tree, each word has an arc, a part with or without a
// sibling and, unless its head is the root, one with a grandparent. So the largest weights of the latter two can be
// moved to the arc. Arcs are then scaled as in engines/eisner.h. Null if a word has no possible head.
inline double* log_weights(const Layout& layout, const double* theta, eisner::Scaling& scaling, Scratch& scratch) {
  const int64_t count = layout.count;
  double* x = take(scratch, layout.parts() + 1, 0.0);
  double* tops = take(scratch, count, -kInfinity);  // largest weight of the grandparents of an arc
  std::copy_n(theta, layout.parts(), x);
  const auto each_grandparent = [&](const auto& visit) {
    for (int64_t a = 0; a < count; ++a) {
      const auto [first, last] = layout.slots_seen(layout.arcs[a].head, layout.arcs[a].word);
      for (int64_t k = first; k < last; ++k) visit(x[layout.grand[a] + k - first], tops[layout.by_slot[k]]);
    }
  };
  if (layout.grandparents) {
    each_grandparent([](double score, double& top) { top = std::max(top, score); });
    each_grandparent([](double& score, double top) { score = score > -kInfinity ? score - top : score; });
  }
  for (int64_t a = 0; a < count; ++a) {
    if (layout.grandparents && layout.arcs[a].head > 0) x[a] += tops[a];
    double* second = x + layout.siblings[a];
    const auto [begin, end] = layout.slots_between(layout.arcs[a].head, layout.slot[a]);
    const double top = *std::max_element(second, second + 1 + end - begin);
    x[a] += top;
    for (int64_t k = 0; top > -kInfinity && k < 1 + end - begin; ++k) second[k] -= top;
  }
  int64_t a = 0;
  for (int m = 1; m <= layout.n; ++m) {
    const int64_t first = a;
    while (a < count && layout.arcs[a].word == m) ++a;
    const double top = first == a ? -kInfinity : *std::max_element(x + first, x + a);
    if (top == -kInfinity) return nullptr;
    double sum = 0;
    for (int64_t k = first; k < a; ++k) sum += std::exp(x[k] - top);
    const double log_divisor = std::log(scaling.divisor(top, sum));
    for (int64_t k = first; k < a; ++k) x[k] -= top + log_divisor;
  }
  return x;
}

inline double* exponentials(const double* x, int64_t size, double, Scratch& scratch) {
  double* weights = take(scratch, size, 0.0);
  ChainTable exps{weights, nullptr, 0, 0, false};
  loops().exp_range(size, x, &exps);  // the largest is that of none(), 0
  return weights;
}
inline Wide* exponentials(const double* x, int64_t size, Wide, Scratch& scratch) {
  Wide* weights = take(scratch, size, Wide());
  for (int64_t k = 0; k < size; ++k) weights[k] = Wide::exp(x[k]);
  return weights;
}

// The value of every item.
template <class S, class I, class T>
T* inside(const I& items, const T* weights, Scratch& scratch) {
  T* values = take(scratch, items.size(), T(S::zero()));
  values[0] = S::one();
  items.forward([&](int64_t item, const Owned& owned, const auto& each_term) {
    T sum = S::zero();
    each_term([&](int64_t part, int64_t a, int64_t b) {
      sum = S::plus(sum, S::times(S::times(weights[part], values[a]), values[b]));
    });
    values[item] = S::times(S::times(weights[owned.arc], weights[owned.grandparent]), sum);
  });
  return values;
}

// The marginals, from the derivatives of the goal with respect to all items: the same sums backwards.
template <class S, class I, class T>
void outside(const I& items, const T* weights, const T* values, Scratch& scratch, int64_t parts, double* mu) {
  const T z = values[items.goal()];
  T* derivatives = take(scratch, items.size(), T(S::zero()));
  double* expected = take(scratch, parts + 1, 0.0);  // the last one is that of none()
  derivatives[items.goal()] = S::one();
  items.backward([&](int64_t item, const Owned& owned, const auto& each_term) {
    const double share = eisner::to_double(derivatives[item] * values[item] / z);
    expected[owned.arc] += share;
    expected[owned.grandparent] += share;
    const T above = derivatives[item] * weights[owned.arc] * weights[owned.grandparent];
    each_term([&](int64_t part, int64_t a, int64_t b) {
      const T here = above * weights[part];
      const T left = here * values[b];
      derivatives[a] = derivatives[a] + left;
      derivatives[b] = derivatives[b] + here * values[a];
      expected[part] += eisner::to_double(left * values[a] / z);
    });
  });
  std::copy_n(expected, parts, mu);
}

template <class S, class I>
bool try_logsum(const I& items, const Layout& layout, const double* x, const eisner::Scaling& scaling, double* mu,
                double& log_z, Scratch& scratch) {
  using T = typename S::Value;
  const T* weights = exponentials(x, layout.parts() + 1, T(), scratch);
  const T* values = inside<S>(items, weights, scratch);
  const T z = values[items.goal()];
  log_z = eisner::log_of(z) + scaling.log_scale();
  if constexpr (std::is_same_v<T, double>)
    if (!scaling.trusts(z)) return false;
  if (log_z == -kInfinity)
    std::fill_n(mu, layout.parts(), 0.0);
  else
    outside<S>(items, weights, values, scratch, layout.parts(), mu);
  return true;
}

// Returns log sum over trees of exp(score) and the marginal of every part; -inf and zeros if there is no tree.
template <bool Grandparents>
double logsum(const Layout& layout, const double* theta, Scratch& scratch, double* mu) {
  const Items<Grandparents> items(layout);
  eisner::Scaling scaling;
  const double* x = log_weights(layout, theta, scaling, scratch);
  double log_z = -kInfinity;
  if (!x)
    std::fill_n(mu, layout.parts(), 0.0);
  else if (!try_logsum<semiring::Sum>(items, layout, x, scaling, mu, log_z, scratch))
    try_logsum<semiring::WideSum>(items, layout, x, scaling, mu, log_z, scratch);
  return log_z;
}

// Returns the parts and the score of the best tree; -inf and no parts if there is none. Of equal terms, the first wins.
template <bool Grandparents>
double argmax(const Layout& layout, const double* theta, Scratch& scratch, Output& y) {
  struct Choice {
    Owned owned;
    int64_t part, a, b;
  };
  const Items<Grandparents> items(layout);
  double* scores = take(scratch, layout.parts() + 1, 0.0);
  std::copy_n(theta, layout.parts(), scores);
  double* values = take(scratch, items.size(), -kInfinity);
  values[0] = 0;
  auto* choices = take(scratch, items.size(), Choice{});
  items.forward([&](int64_t item, const Owned& owned, const auto& each_term) {
    double best = -kInfinity;
    Choice& choice = choices[item];
    choice.owned = owned;
    each_term([&](int64_t part, int64_t a, int64_t b) {
      const double value = scores[part] + values[a] + values[b];
      if (value > best) {
        best = value;
        choice.part = part;
        choice.a = a;
        choice.b = b;
      }
    });
    values[item] = scores[owned.arc] + scores[owned.grandparent] + best;
  });
  y.clear();
  if (values[items.goal()] == -kInfinity) return -kInfinity;
  std::vector<int64_t> open{items.goal()};
  while (!open.empty()) {
    const Choice& choice = choices[open.back()];
    open.pop_back();
    for (const int64_t part : {choice.owned.arc, choice.owned.grandparent, choice.part})
      if (part != items.none()) y.push_back(static_cast<int32_t>(part));
    for (const int64_t item : {choice.a, choice.b})
      if (item != 0) open.push_back(item);
  }
  std::sort(y.begin(), y.end());
  double score = 0;
  for (const int32_t part : y) score += theta[part];
  return score;
}

// The trees as derivations of a hypergraph: items are nodes, terms are edges.
template <bool Grandparents>
Hypergraph hypergraph(const Layout& layout) {
  const Items<Grandparents> items(layout);
  std::vector<int32_t> number(items.size(), 0), heads{0}, tails, parts;
  std::vector<int64_t> tail_begin{0, 0}, part_begin{0, 0};  // node 0 has an edge without tails and parts
  int32_t nodes = 1;
  items.forward([&](int64_t item, const Owned& owned, const auto& each_term) {
    number[item] = nodes;
    each_term([&](int64_t part, int64_t a, int64_t b) {
      heads.push_back(nodes);
      for (const int64_t tail : {a, b})
        if (tail != 0) tails.push_back(number[tail]);
      for (const int64_t each : {owned.arc, owned.grandparent, part})
        if (each != items.none()) parts.push_back(static_cast<int32_t>(each));
      tail_begin.push_back(static_cast<int64_t>(tails.size()));
      part_begin.push_back(static_cast<int64_t>(parts.size()));
    });
    ++nodes;
  });
  return Hypergraph(nodes, std::move(heads), std::move(tail_begin), std::move(tails), std::move(part_begin),
                    std::move(parts));
}

}  // namespace margrave::second_order
