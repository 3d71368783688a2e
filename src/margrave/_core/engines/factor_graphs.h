// Factor graphs as flat arrays, for exact and approximate inference.
//
// A graph has variables, soft factors and hard factors.
//
//   Variables    variable v has labels(v) labels, 0, 1, ...; different variables may have different numbers of labels.
//   Soft factor  a scope (variables in any order, without repeats) and a table with one cell per tuple of their labels,
//                row-major: the last variable of the scope varies fastest. A cell can have a part. An output has the
//                parts of the cells that its labeling selects. There are three forms:
//                  dense    every cell has a part;
//                  listed   the listed cells have parts, in ascending order, and all other cells are forbidden;
//                  partial  the listed cells have parts; the others are allowed, score 0 and have no part.
//                Scores of single labels are factors with one variable.
//   Hard factor  literals of different variables, and a rule that decides which labelings are allowed. Hard factors
//                have no parts. A literal (variable, value) is true if the variable has the label `value` or, if value
//                is negative, if it does not have the label ~value. See HardKind.
//
// Parts are numbered within a graph: those of soft factor 0, in the order of their cells, then those of factor 1, and
// so on. Every part occurs at most once in an output, so parts are never tied. Feature maps tie weights.
//
// Home. Every variable must have a home: a soft factor whose parts determine its label. This is a dense or listed
// factor with the variable in its scope, or a partial factor of this variable alone in which at most one label has no
// part. The home is the first one among those with the fewest variables. Costs of labels are charged only at home, so
// each variable is charged exactly once. If one label has no part at home, its cost goes into c0.
//
// A dataset is a list of graphs and the graph number of each example. Examples can share a graph, such as images of
// one size or label sets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/outputs.h"

namespace margrave {

enum class FactorForm : uint8_t { kDense = 0, kListed = 1, kPartial = 2 };

// The rules of hard factors. `data` contains their parameters.
enum class HardKind : uint8_t {
  kXor = 0,          // exactly one literal is true
  kAtMostOne = 1,    // at most one literal is true
  kOr = 2,           // at least one literal is true
  kImplication = 3,  // if all literals but the last are true, then so is the last
  kBudget = 4,       // at most data[0] literals are true
  kTree = 5,       // the true literals are the arcs of a dependency tree of data[0] words; if data[1] is 1, then word 0
                   // (the root) has one child. data[2 + 2 j] and data[3 + 2 j] are head (0, ..., n) and modifier (1,
                   // ..., n) of literal j
  kAllowed = 6,    // the variables have one of the listed tuples of labels: data has one label per literal and tuple.
                   // The values of the literals are ignored
  kForbidden = 7,  // the variables have none of the listed tuples
  kOwn = 8,        // a rule written by the user: own(data[0]). The values of the literals are ignored
};

// A rule written by the user. Scores of labels are stored variable by variable.
class OwnRule {
 public:
  virtual ~OwnRule() = default;
  // The best allowed labeling and its score; -inf if there is none.
  virtual double maximum(const double* scores, int32_t* labels) const = 0;
  // The log of the sum of exp(score) over allowed labelings, and the marginals of the labels.
  virtual double sum(const double* scores, double* marginals) const = 0;
};

// A soft factor of a graph; parts are numbered within the graph.
struct SoftFactor {
  FactorForm form;
  int64_t arity;
  const int32_t* scope;  // (arity)
  int64_t cells;         // the size of the table
  int64_t first_part;
  int64_t parts;
  const int64_t* listed;  // (parts): their cells; null if the factor is dense

  int64_t cell_of(int64_t part) const { return listed ? listed[part] : part; }  // part: within the factor
  // The part of a cell within the factor, or -1.
  int64_t part_of(int64_t cell) const {
    if (!listed) return cell;
    const int64_t* found = std::lower_bound(listed, listed + parts, cell);
    return found != listed + parts && *found == cell ? found - listed : -1;
  }
};

struct HardFactor {
  HardKind kind;
  int64_t arity;
  const int32_t* scope;   // (arity): the variables of the literals
  const int32_t* values;  // (arity): their labels, or ~label for negated literals
  const int32_t* data;
  int64_t data_size;

  // Whether literal j is true if its variable has this label.
  bool literal(int64_t j, int32_t label) const { return values[j] >= 0 ? label == values[j] : label != ~values[j]; }
};

// The arrays of a dataset of graphs. The begin arrays mark where the list of each graph or factor begins.
struct FactorGraphArrays {
  std::vector<int64_t> graph_of;        // (examples)
  std::vector<int64_t> variable_begin;  // (graphs + 1)
  std::vector<int32_t> labels;          // (variables): how many labels each has
  std::vector<int64_t> factor_begin;    // (graphs + 1): soft factors
  std::vector<uint8_t> form;            // (soft factors): FactorForm
  std::vector<int64_t> scope_begin;     // (soft factors + 1)
  std::vector<int32_t> scope;           // variables, numbered within their graph
  std::vector<int64_t> listed_begin;    // (soft factors + 1); dense factors list nothing
  std::vector<int64_t> listed;          // cells, ascending within a factor
  std::vector<int64_t> hard_begin;      // (graphs + 1): hard factors
  std::vector<uint8_t> hard_kind;       // (hard factors): HardKind
  std::vector<int64_t> literal_begin;   // (hard factors + 1)
  std::vector<int32_t> literal_variable;
  std::vector<int32_t> literal_value;
  std::vector<int64_t> data_begin;  // (hard factors + 1)
  std::vector<int32_t> data;
};

class FactorGraphs {
 public:
  FactorGraphs(FactorGraphArrays arrays, std::vector<std::shared_ptr<const OwnRule>> own = {})
      : a_(std::move(arrays)), own_(std::move(own)) {
    check_bounds();
    for (int64_t g = 0; g < graphs(); ++g) {
      check_variables(g);
      for (int64_t f = 0; f < factors(g); ++f) add_soft(g, f);
      part_begin_of_graph_.push_back(parts_so_far_);
      for (int64_t h = 0; h < hards(g); ++h) check_hard(g, h);
      find_homes(g);
    }
  }

  int64_t examples() const { return static_cast<int64_t>(a_.graph_of.size()); }
  int64_t graphs() const { return static_cast<int64_t>(a_.variable_begin.size()) - 1; }
  int64_t graph_of(int64_t example) const { return a_.graph_of[example]; }

  // The following functions concern graph g.
  int64_t variables(int64_t g) const { return a_.variable_begin[g + 1] - a_.variable_begin[g]; }
  int64_t labels(int64_t g, int64_t v) const { return a_.labels[a_.variable_begin[g] + v]; }
  int64_t parts(int64_t g) const { return part_begin_of_graph_[g + 1] - part_begin_of_graph_[g]; }
  int64_t factors(int64_t g) const { return a_.factor_begin[g + 1] - a_.factor_begin[g]; }
  int64_t hards(int64_t g) const { return a_.hard_begin[g + 1] - a_.hard_begin[g]; }
  int64_t home(int64_t g, int64_t v) const { return home_[a_.variable_begin[g] + v]; }

  SoftFactor factor(int64_t g, int64_t f) const {
    const size_t k = a_.factor_begin[g] + f;
    const auto form = static_cast<FactorForm>(a_.form[k]);
    return {form,
            a_.scope_begin[k + 1] - a_.scope_begin[k],
            a_.scope.data() + a_.scope_begin[k],
            cells_[k],
            part_begin_[k] - part_begin_of_graph_[g],
            part_begin_[k + 1] - part_begin_[k],
            form == FactorForm::kDense ? nullptr : a_.listed.data() + a_.listed_begin[k]};
  }

  HardFactor hard(int64_t g, int64_t h) const {
    const size_t k = a_.hard_begin[g] + h;
    const int64_t first = a_.literal_begin[k];
    return {static_cast<HardKind>(a_.hard_kind[k]), a_.literal_begin[k + 1] - first,
            a_.literal_variable.data() + first,     a_.literal_value.data() + first,
            a_.data.data() + a_.data_begin[k],      a_.data_begin[k + 1] - a_.data_begin[k]};
  }

  const OwnRule& own(int64_t number) const { return *own_[number]; }

  // The cell of a soft factor that a labeling of the graph selects.
  int64_t cell(int64_t g, const SoftFactor& factor, const int32_t* labeling) const {
    int64_t cell = 0;
    for (int64_t j = 0; j < factor.arity; ++j) cell = cell * labels(g, factor.scope[j]) + labeling[factor.scope[j]];
    return cell;
  }

  // The label of each variable of the scope in a cell.
  void tuple(int64_t g, const SoftFactor& factor, int64_t cell, int32_t* labels_of_scope) const {
    for (int64_t j = factor.arity - 1; j >= 0; --j) {
      const int64_t n = labels(g, factor.scope[j]);
      labels_of_scope[j] = static_cast<int32_t>(cell % n);
      cell /= n;
    }
  }

  // Whether a hard factor allows these labels of its literals' variables, in the order of its scope.
  bool allows(int64_t g, const HardFactor& hard, const int32_t* labels_of_scope) const;

  // The parts of a labeling, ascending; false if a listed factor forbids it.
  bool parts_of(int64_t g, const int32_t* labeling, Output& y) const {
    y.clear();
    for (int64_t f = 0; f < factors(g); ++f) {
      const SoftFactor soft = factor(g, f);
      const int64_t part = soft.part_of(cell(g, soft, labeling));
      if (part >= 0) y.push_back(static_cast<int32_t>(soft.first_part + part));
      if (part < 0 && soft.form == FactorForm::kListed) return false;
    }
    return true;
  }

  // The labeling that has these parts. y must be a valid output.
  void labeling_of(int64_t g, const int32_t* y, int64_t size, int32_t* labeling) const;

  // The marginals of the labels, variable by variable, from those of the parts.
  void label_marginals(int64_t g, const double* mu, double* marginals) const;

  // The label that has no part at the home of a variable, or -1.
  int64_t label_without_part(int64_t g, int64_t v) const;

 private:
  static constexpr int64_t kMostParts = int64_t{1} << 31;

  static std::string place(int64_t g, const char* kind, int64_t f) {
    return "graph " + std::to_string(g) + ", " + kind + " factor " + std::to_string(f) + ": ";
  }

  static void check_list(const std::vector<int64_t>& begin, int64_t count, size_t total, const char* what) {
    if (static_cast<int64_t>(begin.size()) != count + 1 || begin.front() != 0 ||
        begin.back() != static_cast<int64_t>(total) || !std::is_sorted(begin.begin(), begin.end()))
      throw InputError(std::string("the bounds of the ") + what + " must ascend from 0 to their number.");
  }

  void check_bounds() const;
  void check_variables(int64_t g) const;
  void add_soft(int64_t g, int64_t f);
  void check_hard(int64_t g, int64_t h) const;
  void find_homes(int64_t g);
  bool is_tree(const HardFactor& hard, const int32_t* labels_of_scope) const;
  int64_t listed_without(int64_t g, const SoftFactor& soft) const;

  FactorGraphArrays a_;
  std::vector<std::shared_ptr<const OwnRule>> own_;
  std::vector<int64_t> cells_;                   // (soft factors)
  std::vector<int64_t> part_begin_{0};           // (soft factors + 1), over all graphs
  std::vector<int64_t> part_begin_of_graph_{0};  // (graphs + 1)
  std::vector<int64_t> home_;                    // (variables): a factor of its graph
  int64_t parts_so_far_ = 0;
};

// ---- labelings and parts ------------------------------------------------------------------------------------------

inline int64_t FactorGraphs::label_without_part(int64_t g, int64_t v) const {
  const SoftFactor soft = factor(g, home(g, v));
  return soft.form == FactorForm::kPartial ? listed_without(g, soft) : -1;
}

// For a partial factor with one variable: the first label that has no part, or -1.
inline int64_t FactorGraphs::listed_without(int64_t, const SoftFactor& soft) const {
  for (int64_t label = 0; label < soft.parts; ++label)
    if (soft.listed[label] != label) return label;
  return soft.parts < soft.cells ? soft.parts : -1;
}

inline void FactorGraphs::labeling_of(int64_t g, const int32_t* y, int64_t size, int32_t* labeling) const {
  for (int64_t v = 0; v < variables(g); ++v)
    labeling[v] = static_cast<int32_t>(std::max<int64_t>(label_without_part(g, v), 0));
  std::vector<int32_t> labels_of_scope;
  int64_t f = 0;
  for (int64_t k = 0; k < size; ++k) {
    SoftFactor soft = factor(g, f);
    while (y[k] >= soft.first_part + soft.parts) soft = factor(g, ++f);
    labels_of_scope.resize(soft.arity);
    tuple(g, soft, soft.cell_of(y[k] - soft.first_part), labels_of_scope.data());
    for (int64_t j = 0; j < soft.arity; ++j)
      if (home(g, soft.scope[j]) == f) labeling[soft.scope[j]] = labels_of_scope[j];
  }
}

inline void FactorGraphs::label_marginals(int64_t g, const double* mu, double* marginals) const {
  std::vector<int64_t> begin(variables(g) + 1, 0);
  for (int64_t v = 0; v < variables(g); ++v) begin[v + 1] = begin[v] + labels(g, v);
  std::fill(marginals, marginals + begin.back(), 0.0);
  std::vector<int32_t> labels_of_scope;
  for (int64_t f = 0; f < factors(g); ++f) {
    const SoftFactor soft = factor(g, f);
    const auto lives_here = [&](int32_t v) { return home(g, v) == f; };
    if (std::none_of(soft.scope, soft.scope + soft.arity, lives_here)) continue;
    labels_of_scope.resize(soft.arity);
    for (int64_t part = 0; part < soft.parts; ++part) {
      tuple(g, soft, soft.cell_of(part), labels_of_scope.data());
      for (int64_t j = 0; j < soft.arity; ++j)
        if (lives_here(soft.scope[j]))
          marginals[begin[soft.scope[j]] + labels_of_scope[j]] += mu[soft.first_part + part];
    }
  }
  for (int64_t v = 0; v < variables(g); ++v) {
    const int64_t without = label_without_part(g, v);
    if (without < 0) continue;
    double rest = 1;
    for (int64_t k = begin[v]; k < begin[v + 1]; ++k) rest -= marginals[k];
    marginals[begin[v] + without] = std::max(rest, 0.0);
  }
}

// ---- hard factors --------------------------------------------------------------------------------------------------

inline bool FactorGraphs::allows(int64_t g, const HardFactor& hard, const int32_t* labels_of_scope) const {
  int64_t count = 0;
  for (int64_t j = 0; j < hard.arity; ++j) count += hard.literal(j, labels_of_scope[j]) ? 1 : 0;
  switch (hard.kind) {
    case HardKind::kXor: return count == 1;
    case HardKind::kAtMostOne: return count <= 1;
    case HardKind::kOr: return count >= 1;
    case HardKind::kBudget: return count <= hard.data[0];
    case HardKind::kImplication: {
      const bool last = hard.literal(hard.arity - 1, labels_of_scope[hard.arity - 1]);
      return last || count < hard.arity - 1;
    }
    case HardKind::kTree: return is_tree(hard, labels_of_scope);
    case HardKind::kAllowed:
    case HardKind::kForbidden: {
      bool found = false;
      for (const int32_t* tuple = hard.data; !found && tuple < hard.data + hard.data_size; tuple += hard.arity)
        found = std::equal(tuple, tuple + hard.arity, labels_of_scope);
      return found == (hard.kind == HardKind::kAllowed);
    }
    case HardKind::kOwn: {
      std::vector<double> scores;
      for (int64_t j = 0; j < hard.arity; ++j)
        for (int64_t label = 0; label < labels(g, hard.scope[j]); ++label)
          scores.push_back(label == labels_of_scope[j] ? 0.0 : -kInfinity);
      std::vector<int32_t> best(hard.arity);
      return own(hard.data[0]).maximum(scores.data(), best.data()) > -kInfinity;
    }
  }
  return false;
}

// Every word has one head, and following heads leads to the root.
inline bool FactorGraphs::is_tree(const HardFactor& hard, const int32_t* labels_of_scope) const {
  const int64_t words = hard.data[0];
  std::vector<int32_t> head(words + 1, -1);
  int64_t children_of_root = 0;
  for (int64_t j = 0; j < hard.arity; ++j) {
    if (!hard.literal(j, labels_of_scope[j])) continue;
    const int32_t from = hard.data[2 + 2 * j];
    int32_t& of_word = head[hard.data[3 + 2 * j]];
    if (of_word >= 0) return false;
    of_word = from;
    children_of_root += from == 0 ? 1 : 0;
  }
  if (hard.data[1] == 1 && children_of_root != 1) return false;
  for (int64_t word = 1; word <= words; ++word) {
    int64_t up = word;
    for (int64_t steps = 0; up > 0 && steps <= words; ++steps) up = head[up];
    if (up != 0) return false;
  }
  return true;
}

// ---- checks --------------------------------------------------------------------------------------------------------

inline void FactorGraphs::check_bounds() const {
  if (a_.variable_begin.empty()) throw InputError("the bounds of the variables must begin with 0.");
  const int64_t n = graphs();
  check_list(a_.variable_begin, n, a_.labels.size(), "variables");
  check_list(a_.factor_begin, n, a_.form.size(), "soft factors");
  check_list(a_.hard_begin, n, a_.hard_kind.size(), "hard factors");
  check_list(a_.scope_begin, static_cast<int64_t>(a_.form.size()), a_.scope.size(), "scopes");
  check_list(a_.listed_begin, static_cast<int64_t>(a_.form.size()), a_.listed.size(), "listed cells");
  check_list(a_.literal_begin, static_cast<int64_t>(a_.hard_kind.size()), a_.literal_variable.size(), "literals");
  check_list(a_.literal_begin, static_cast<int64_t>(a_.hard_kind.size()), a_.literal_value.size(), "literals");
  check_list(a_.data_begin, static_cast<int64_t>(a_.hard_kind.size()), a_.data.size(), "data of hard factors");
  for (const uint8_t form : a_.form)
    if (form > 2) throw InputError("a soft factor has an unknown form.");
  for (const uint8_t kind : a_.hard_kind)
    if (kind > 8) throw InputError("a hard factor has an unknown kind.");
  for (const int64_t g : a_.graph_of)
    if (g < 0 || g >= n) throw InputError("an example's graph is out of range: there are " + std::to_string(n) + ".");
}

inline void FactorGraphs::check_variables(int64_t g) const {
  if (variables(g) == 0) throw InputError("graph " + std::to_string(g) + " has no variables.");
  for (int64_t v = 0; v < variables(g); ++v)
    if (labels(g, v) < 1)
      throw InputError("graph " + std::to_string(g) + ": variable " + std::to_string(v) + " has no labels.");
}

inline void FactorGraphs::add_soft(int64_t g, int64_t f) {
  const size_t k = a_.factor_begin[g] + f;
  const int32_t* scope = a_.scope.data() + a_.scope_begin[k];
  const int64_t arity = a_.scope_begin[k + 1] - a_.scope_begin[k];
  if (arity == 0) throw InputError(place(g, "soft", f) + "it has no variables.");
  int64_t cells = 1;
  for (int64_t j = 0; j < arity; ++j) {
    if (scope[j] < 0 || scope[j] >= variables(g))
      throw InputError(place(g, "soft", f) + "variable " + std::to_string(scope[j]) + " is out of range: there are " +
                       std::to_string(variables(g)) + ".");
    if (std::find(scope, scope + j, scope[j]) != scope + j)
      throw InputError(place(g, "soft", f) + "variable " + std::to_string(scope[j]) + " occurs twice in it.");
    if (cells > (int64_t{1} << 62) / labels(g, scope[j]))
      throw InputError(place(g, "soft", f) + "its table has more than 2^62 cells.");
    cells *= labels(g, scope[j]);
  }
  const int64_t* listed = a_.listed.data() + a_.listed_begin[k];
  const int64_t count = a_.listed_begin[k + 1] - a_.listed_begin[k];
  const bool dense = static_cast<FactorForm>(a_.form[k]) == FactorForm::kDense;
  if (dense && count > 0) throw InputError(place(g, "soft", f) + "a dense factor lists no cells.");
  if (static_cast<FactorForm>(a_.form[k]) == FactorForm::kListed && count == 0)
    throw InputError(place(g, "soft", f) + "it lists no tuples, so nothing is allowed.");
  for (int64_t c = 0; c < count; ++c) {
    if (listed[c] < 0 || listed[c] >= cells)
      throw InputError(place(g, "soft", f) + "a listed tuple is not in its table of " + std::to_string(cells) +
                       " cells.");
    if (c > 0 && listed[c] <= listed[c - 1])
      throw InputError(place(g, "soft", f) + "listed tuples must be different and in order.");
  }
  cells_.push_back(cells);
  if ((dense ? cells : count) > kMostParts - (parts_so_far_ - part_begin_of_graph_.back()))
    throw InputError("graph " + std::to_string(g) + " has more than 2^31 parts: list the tuples of its large factors.");
  parts_so_far_ += dense ? cells : count;
  part_begin_.push_back(parts_so_far_);
}

inline void FactorGraphs::check_hard(int64_t g, int64_t h) const {
  const HardFactor hard = this->hard(g, h);
  const auto refuse = [&](const std::string& why) { throw InputError(place(g, "hard", h) + why); };
  const bool of_tuples = hard.kind == HardKind::kAllowed || hard.kind == HardKind::kForbidden;
  for (int64_t j = 0; j < hard.arity; ++j) {
    const int32_t v = hard.scope[j];
    if (v < 0 || v >= variables(g))
      refuse("variable " + std::to_string(v) + " is out of range: there are " + std::to_string(variables(g)) + ".");
    if (std::find(hard.scope, hard.scope + j, v) != hard.scope + j)
      refuse("variable " + std::to_string(v) + " occurs twice in it.");
    const int32_t label = hard.values[j] >= 0 ? hard.values[j] : ~hard.values[j];
    if (!of_tuples && hard.kind != HardKind::kOwn && label >= labels(g, v))
      refuse("variable " + std::to_string(v) + " has no label " + std::to_string(label) + ".");
  }
  if (hard.arity == 0) refuse("it has no variables.");
  const auto expect_data = [&](int64_t n) {
    if (hard.data_size != n)
      refuse("it must have " + std::to_string(n) + " numbers as data, not " + std::to_string(hard.data_size) + ".");
  };
  switch (hard.kind) {
    case HardKind::kXor:
    case HardKind::kAtMostOne:
    case HardKind::kOr: expect_data(0); break;
    case HardKind::kImplication:
      expect_data(0);
      if (hard.arity < 2) refuse("an implication needs at least two literals.");
      break;
    case HardKind::kBudget:
      expect_data(1);
      if (hard.data[0] < 0) refuse("a budget must not be negative.");
      break;
    case HardKind::kTree: {
      expect_data(2 + 2 * hard.arity);
      const int32_t words = hard.data[0];
      if (words < 1) refuse("a tree needs at least one word.");
      for (int64_t j = 0; j < hard.arity; ++j) {
        const int32_t from = hard.data[2 + 2 * j];
        const int32_t to = hard.data[3 + 2 * j];
        if (from < 0 || from > words || to < 1 || to > words || from == to)
          refuse("there is no arc from " + std::to_string(from) + " to " + std::to_string(to) + ".");
        for (int64_t i = 0; i < j; ++i)
          if (hard.data[2 + 2 * i] == from && hard.data[3 + 2 * i] == to)
            refuse("the arc from " + std::to_string(from) + " to " + std::to_string(to) + " occurs twice in it.");
      }
      break;
    }
    case HardKind::kAllowed:
    case HardKind::kForbidden:
      if (hard.data_size % hard.arity != 0)
        refuse("its tuples must have " + std::to_string(hard.arity) + " labels each.");
      for (int64_t k = 0; k < hard.data_size; ++k)
        if (hard.data[k] < 0 || hard.data[k] >= labels(g, hard.scope[k % hard.arity]))
          refuse("variable " + std::to_string(hard.scope[k % hard.arity]) + " has no label " +
                 std::to_string(hard.data[k]) + ".");
      if (hard.kind == HardKind::kAllowed && hard.data_size == 0) refuse("it lists no tuples, so nothing is allowed.");
      break;
    case HardKind::kOwn:
      expect_data(1);
      if (hard.data[0] < 0 || static_cast<size_t>(hard.data[0]) >= own_.size() || !own_[hard.data[0]])
        refuse("its rule is missing.");
      break;
  }
}

inline void FactorGraphs::find_homes(int64_t g) {
  const int64_t first = a_.variable_begin[g];
  home_.resize(first + variables(g), -1);
  std::vector<int64_t> arity(variables(g), 0);
  for (int64_t f = 0; f < factors(g); ++f) {
    const SoftFactor soft = factor(g, f);
    if (soft.form == FactorForm::kPartial && (soft.arity != 1 || soft.parts < soft.cells - 1)) continue;
    for (int64_t j = 0; j < soft.arity; ++j) {
      const int32_t v = soft.scope[j];
      if (home_[first + v] >= 0 && soft.arity >= arity[v]) continue;
      home_[first + v] = f;
      arity[v] = soft.arity;
    }
  }
  for (int64_t v = 0; v < variables(g); ++v)
    if (home_[first + v] < 0)
      throw InputError(
          "graph " + std::to_string(g) + ": variable " + std::to_string(v) +
          " is in no soft factor that has a part for each of its labels: add a factor of this variable alone.");
}

}  // namespace margrave
