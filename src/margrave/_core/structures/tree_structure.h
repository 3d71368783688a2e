// Base of all structures of dependency trees. Their outputs are heads of words, and perhaps labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/checks.h"
#include "protocol/structure.h"
#include "structures/tree_part.h"
#include "structures/treebank.h"

namespace margrave {

class TreeStructure : public Structure {
 public:
  struct LabeledArc {
    int32_t head, word, label;  // label -1: arcs have none
  };

  virtual int words(int64_t i) const = 0;
  virtual int labels() const { return 0; }  // number of labels
  // The first parts of an example are arcs with their labels. arc() returns the arc of such a part.
  virtual int64_t arc_parts(int64_t i) const = 0;
  virtual LabeledArc arc(int64_t i, int64_t part) const = 0;

  // All parts of an example, in the order of their scores.
  virtual void tree_parts(int64_t i, std::vector<TreePart>& parts) const {
    parts.clear();
    for (int64_t part = 0; part < arc_parts(i); ++part) {
      const LabeledArc found = arc(i, part);
      parts.push_back({-1, found.head, -1, found.word, found.label});
    }
  }

  // The head and the label of every word of an output.
  void read(int64_t i, const int32_t* parts, int64_t size, int32_t* heads, int32_t* labels) const {
    const int n = words(i);
    const int64_t arcs = arc_parts(i);
    const auto refuse = [&](const std::string& what) {
      throw InputError("example " + std::to_string(i) + ": " + what + ".");
    };
    std::fill_n(heads, n, -1);
    for (int64_t k = 0; k < size; ++k) {
      if (parts[k] < 0 || parts[k] >= this->parts(i))
        refuse("there is no part " + std::to_string(parts[k]) + " of " + std::to_string(this->parts(i)));
      if (parts[k] >= arcs) continue;
      const LabeledArc found = arc(i, parts[k]);
      int32_t& head = heads[found.word - 1];
      if (head >= 0) refuse("these parts give word " + std::to_string(found.word) + " two heads");
      head = found.head;
      if (labels) labels[found.word - 1] = found.label;
    }
    const int32_t* none = std::find(heads, heads + n, -1);
    if (none != heads + n) refuse("these parts give word " + std::to_string(none - heads + 1) + " no head");
  }

  // Sums values of the parts, such as marginals, by arc: a table (words, words + 1), with the root first.
  void head_table(int64_t i, const double* mu, double* table) const {
    const int64_t n = words(i), arcs = arc_parts(i);
    std::fill_n(table, n * (n + 1), 0.0);
    for (int64_t part = 0; part < arcs; ++part) {
      const LabeledArc found = arc(i, part);
      table[(found.word - 1) * (n + 1) + found.head] += mu[part];
    }
  }
};

}  // namespace margrave
