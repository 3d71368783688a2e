// The feature map of dependency trees whose attributes come from templates (inputs/tree_templates.h).
//
// Nothing is stored per arc. Fingerprints are computed when an example is scored, which is faster than reading stored
// rows from memory. A weight is found by the highest bits of its fingerprint, or by a table of the attributes observed
// in gold trees. For hashed attributes that are combined with the label of an arc, the weights of all labels are
// contiguous.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inputs/tree_templates.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/outputs.h"
#include "rows/fingerprint_table.h"
#include "rows/sparse_rows.h"
#include "structures/tree_structure.h"

namespace margrave {

inline void check_hash_bits(int bits) {
  if (bits < 1 || bits > 30) throw InputError("attributes are hashed to 1 to 30 bits.");
}

// Finds the weight of an attribute.
class TreeWeights {
 public:
  // table: null if attributes are hashed to hash_bits bits.
  TreeWeights(int hash_bits, std::shared_ptr<const FingerprintTable> table, int64_t labels)
      : hash_bits_(hash_bits), table_(std::move(table)), labels_(labels) {
    if (labels < 0 || labels > 1 << 20) throw InputError("there must be at most a million labels.");
    if (!table_) check_hash_bits(hash_bits);
  }

  int64_t dim() const {
    return table_ ? table_->size() : (int64_t{1} << hash_bits_) + std::max<int64_t>(0, labels_ - 1);
  }
  int64_t labels() const { return labels_; }

  // The weight indices of these attributes. Attributes without a weight are left out.
  void indices(const std::vector<uint64_t>& fingerprints, std::vector<int32_t>& found) const {
    found.resize(fingerprints.size());
    if (!table_) {
      const int shift = 64 - hash_bits_;
      const uint64_t* const from = fingerprints.data();
      int32_t* const to = found.data();
      for (size_t k = 0; k < fingerprints.size(); ++k) to[k] = static_cast<int32_t>(from[k] >> shift);
      return;
    }
    size_t n = 0;
    for (const uint64_t each : fingerprints)
      if (const int64_t k = table_->find(each); k >= 0) found[n++] = static_cast<int32_t>(k);
    found.resize(n);
  }

  // Returns -1 if the attribute has no weight.
  int64_t index(uint64_t fingerprint) const {
    return table_ ? table_->find(fingerprint) : static_cast<int64_t>(fingerprint >> (64 - hash_bits_));
  }
  int64_t index(uint64_t fingerprint, int32_t label) const {
    return table_ ? table_->find(with_label(fingerprint, label)) : index(fingerprint) + label;
  }
  static uint64_t with_label(uint64_t fingerprint, int32_t label) {
    return fingerprint + mix_bits(static_cast<uint64_t>(label) + 1);
  }

 private:
  int hash_bits_;
  std::shared_ptr<const FingerprintTable> table_;
  int64_t labels_;
};

class TreeMap final : public Features {
 public:
  TreeMap(std::shared_ptr<const TreeAttributes> attributes, std::shared_ptr<const TreeStructure> structure,
          TreeWeights weights)
      : attributes_(std::move(attributes)), structure_(std::move(structure)), weights_(std::move(weights)) {
    check_words(*attributes_, *structure_);
  }

  int64_t size() const override { return attributes_->examples(); }
  int64_t dim() const override { return weights_.dim(); }
  int64_t parts(int64_t i) const override { return structure_->parts(i); }

  void score(int64_t i, const double* w, double* theta) const override {
    each_group(i, [&](const Group& group) {
      const double sum = sum_of(w, group.plain);
      for (int64_t part = group.first; part < group.last; ++part) {
        double of_label = 0;
        for (const uint64_t f : group.labeled) of_label += at(w, weights_.index(f, group.label(part)));
        theta[part] = sum + of_label;
      }
    });
  }

  void scatter(int64_t i, const double* mu, double c, double* g) const override { spread<false>(i, mu, c, g); }
  double move(int64_t i, const double* v, double c, double* w) const override { return spread<true>(i, v, c, w); }

  void row(int64_t i, const double* v, Row& row) const override {
    std::vector<std::pair<int64_t, double>> entries;
    each_entry(i, v, [&](int64_t k, double value) { entries.emplace_back(k, value); });
    merge_entries(entries, row);
  }

  // For each word, an output has one arc, one pair with a sibling, at most one with a grandparent, and at most one with
  // each of the words before it as another child. So per word, two outputs differ by at most twice the longest row of
  // each kind times its count.
  double radius(int64_t i) const override {
    std::vector<double> longest(static_cast<size_t>(TreeTemplates::kGroups * (structure_->words(i) + 1)), 0.0);
    Row row;
    std::vector<std::pair<int64_t, double>> entries;
    each_group(i, [&](const Group& group) {
      double& of = longest[group.part->word * TreeTemplates::kGroups + TreeTemplates::group_of(*group.part)];
      for (int64_t part = group.first; part < group.last; ++part) {
        entries.clear();
        for (const int32_t k : group.plain) entries.emplace_back(k, 1.0);
        for (const uint64_t f : group.labeled)
          if (const int64_t k = weights_.index(f, group.label(part)); k >= 0) entries.emplace_back(k, 1.0);
        merge_entries(entries, row);  // hashing may merge two attributes
        double square = 0;
        for (const double v : row.value) square += v * v;
        of = std::max(of, std::sqrt(square));
      }
    });
    double total = 0;
    for (size_t k = 0; k < longest.size(); ++k) {
      const auto word = static_cast<int>(k) / TreeTemplates::kGroups,
                 group = static_cast<int>(k) % TreeTemplates::kGroups;
      total += longest[k] * (group == TreeTemplates::kChildren ? std::max(word - 1, 0) : 1);
    }
    return 2 * total;
  }

  // The names and the weights of the attributes of one part. Locks the mutex of the names.
  void explain(int64_t i, int64_t part, const double* w, const std::vector<std::string>& labels,
               std::vector<std::pair<std::string, double>>& found) const {
    std::vector<TreePart> tree_parts;
    structure_->tree_parts(i, tree_parts);
    if (part < 0 || part >= static_cast<int64_t>(tree_parts.size())) throw InputError("the part is out of range.");
    each_named(*attributes_, i, tree_parts[part], labels, [&](uint64_t f, bool of_label, const std::string& name) {
      const int32_t label = tree_parts[part].label;
      const int64_t k = of_label ? weights_.index(f, label) : weights_.index(f);
      if (k >= 0) found.emplace_back(name, w[k]);
    });
  }

  // Adds the attributes of the gold trees to a table, with their names.
  static void observe(const TreeAttributes& attributes, const TreeStructure& structure,
                      const std::vector<std::string>& labels, FingerprintTable& table) {
    check_words(attributes, structure);
    std::vector<TreePart> parts;
    Output gold;
    for (int64_t i = 0; i < structure.size(); ++i) {
      structure.tree_parts(i, parts);
      structure.gold(i, 0, gold);
      for (const int32_t part : gold) {
        const TreePart& of = parts.at(static_cast<size_t>(part));
        each_named(attributes, i, of, labels, [&](uint64_t f, bool of_label, const std::string& name) {
          table.add(of_label ? TreeWeights::with_label(f, of.label) : f, name);
        });
      }
    }
  }

 private:
  // Parts of the same arc that differ only in their labels, or one part without a label.
  struct Group {
    int64_t first, last;
    const TreePart* part;  // the first of them
    const std::vector<int32_t>& plain;
    const std::vector<uint64_t>& labeled;
    int32_t label(int64_t k) const { return part[k - first].label; }
  };

  struct Memory {
    Fingerprints fingerprints;
    std::vector<TreePart> parts;
    std::vector<uint64_t> found, labeled;
    std::vector<int32_t> plain;
  };

  // Attributes and trees must be those of the same sentences, as far as lengths show.
  static void check_words(const TreeAttributes& attributes, const TreeStructure& structure) {
    if (structure.size() != attributes.examples())
      throw InputError("there are attributes for " + std::to_string(attributes.examples()) + " sentences, and " +
                       std::to_string(structure.size()) + " trees.");
    for (int64_t i = 0; i < structure.size(); ++i)
      if (structure.words(i) != attributes.words(i))
        throw InputError("example " + std::to_string(i) + " has attributes for " + std::to_string(attributes.words(i)) +
                         " words, and a tree of " + std::to_string(structure.words(i)) + ".");
  }

  static double at(const double* w, int64_t k) { return k >= 0 ? w[k] : 0.0; }

  // Four independent sums, so additions do not wait for each other.
  static double sum_of(const double* w, const std::vector<int32_t>& index) {
    double sums[4] = {};
    size_t k = 0;
    for (; k + 4 <= index.size(); k += 4)
      for (size_t j = 0; j < 4; ++j) sums[j] += w[index[k + j]];
    for (; k < index.size(); ++k) sums[0] += w[index[k]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  template <typename Visit>
  void each_group(int64_t i, const Visit& visit) const {
    // Large, so kept between examples; a thread uses them for one map at a time.
    thread_local Memory memory;
    auto& [fingerprints, parts, found, labeled, plain] = memory;
    structure_->tree_parts(i, parts);
    fingerprints.begin(*attributes_, i);
    const auto n = static_cast<int64_t>(parts.size());
    for (int64_t first = 0, last = 0; first < n; first = last) {
      const TreePart& part = parts[first];
      found.clear();
      labeled.clear();
      fingerprints.append(TreeTemplates::group_of(part), part, found);
      weights_.indices(found, plain);
      last = first + 1;
      if (part.label >= 0) {
        fingerprints.append(TreeTemplates::kLabels, part, labeled);
        while (last < n && same_arc(part, parts[last])) ++last;
      }
      visit(Group{first, last, &part, plain, labeled});
    }
  }

  static bool same_arc(const TreePart& a, const TreePart& b) {
    return a.head == b.head && a.word == b.word && b.label >= 0 && b.sibling < 0 && b.grandparent < 0 && b.child < 0;
  }

  // Calls visit(weight, value) for the entries of A_i' v, in a fixed order and with repeats.
  template <typename Visit>
  void each_entry(int64_t i, const double* v, const Visit& visit) const {
    each_group(i, [&](const Group& group) {
      double total = 0;
      for (int64_t part = group.first; part < group.last; ++part) {
        total += v[part];
        if (v[part] == 0) continue;
        for (const uint64_t f : group.labeled)
          if (const int64_t k = weights_.index(f, group.label(part)); k >= 0) visit(k, v[part]);
      }
      if (total == 0) return;
      for (const int32_t k : group.plain) visit(k, total);
    });
  }

  template <bool Measured>
  double spread(int64_t i, const double* mu, double c, double* g) const {
    double change = 0;
    each_entry(i, mu, [&](int64_t k, double value) { change += add_measured<Measured>(c * value, g[k]); });
    return change;
  }

  template <typename Visit>
  static void each_named(const TreeAttributes& attributes, int64_t i, const TreePart& part,
                         const std::vector<std::string>& labels, const Visit& visit) {
    const std::lock_guard lock(attributes.templates().names()->mutex);
    Fingerprints fingerprints;
    fingerprints.begin(attributes, i);
    std::vector<uint64_t> found;
    std::vector<std::string> names;
    fingerprints.append(TreeTemplates::group_of(part), part, found);
    fingerprints.append_names(TreeTemplates::group_of(part), part, {}, names);
    const size_t plain = found.size();
    if (part.label >= 0) {
      if (part.label >= static_cast<int64_t>(labels.size())) throw InputError("there must be a name for every label.");
      fingerprints.append(TreeTemplates::kLabels, part, found);
      fingerprints.append_names(TreeTemplates::kLabels, part, labels[part.label], names);
    }
    for (size_t k = 0; k < found.size(); ++k) visit(found[k], k >= plain, names.at(k));
  }

  std::shared_ptr<const TreeAttributes> attributes_;
  std::shared_ptr<const TreeStructure> structure_;
  TreeWeights weights_;
};

}  // namespace margrave
