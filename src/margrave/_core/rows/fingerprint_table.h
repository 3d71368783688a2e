// Numbers fingerprints (inputs/tree_templates.h) in the order in which they were added, and stores their names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/checks.h"

namespace margrave {

class FingerprintTable {
 public:
  FingerprintTable() : slots_(1024) {}

  // From a model file, which may be corrupt.
  FingerprintTable(const std::vector<uint64_t>& fingerprints, std::vector<char> bytes, std::vector<int64_t> offsets)
      : slots_(1024), bytes_(std::move(bytes)), offsets_(std::move(offsets)) {
    if (offsets_.size() != fingerprints.size() + 1 || offsets_.front() != 0 ||
        offsets_.back() != static_cast<int64_t>(bytes_.size()) || !std::is_sorted(offsets_.begin(), offsets_.end()))
      throw InputError("the bounds of the names of attributes must ascend from 0 to their length.");
    for (const uint64_t each : fingerprints)
      if (!insert(each)) throw InputError("an attribute occurs twice.");
  }

  int64_t size() const { return static_cast<int64_t>(fingerprints_.size()); }
  const std::vector<uint64_t>& fingerprints() const { return fingerprints_; }
  const std::vector<char>& bytes() const { return bytes_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  std::string_view name(int64_t k) const {
    const int64_t first = offsets_[k];
    return {bytes_.data() + first, static_cast<size_t>(offsets_[k + 1] - first)};
  }

  int64_t find(uint64_t fingerprint) const {
    for (size_t at = place(fingerprint);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].number < 0) return -1;
      if (slots_[at].fingerprint == fingerprint) return slots_[at].number;
    }
  }

  void add(uint64_t fingerprint, std::string_view name) {
    if (!insert(fingerprint)) return;
    bytes_.insert(bytes_.end(), name.begin(), name.end());
    offsets_.push_back(static_cast<int64_t>(bytes_.size()));
  }

 private:
  struct Slot {
    uint64_t fingerprint = 0;
    int32_t number = -1;
  };

  size_t place(uint64_t fingerprint) const { return static_cast<size_t>(fingerprint >> 20) & (slots_.size() - 1); }

  bool insert(uint64_t fingerprint) {
    if (find(fingerprint) >= 0) return false;
    if (fingerprints_.size() >= 0x7ffffffe) throw InputError("more than two billion attributes.");
    fingerprints_.push_back(fingerprint);
    if (2 * fingerprints_.size() > slots_.size()) {
      slots_.assign(2 * slots_.size(), {});
      for (size_t k = 0; k < fingerprints_.size(); ++k) put(k);
    } else {
      put(fingerprints_.size() - 1);
    }
    return true;
  }

  void put(size_t number) {
    size_t at = place(fingerprints_[number]);
    while (slots_[at].number >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {fingerprints_[number], static_cast<int32_t>(number)};
  }

  std::vector<uint64_t> fingerprints_;
  std::vector<Slot> slots_;  // at most half of them are full
  std::vector<char> bytes_;
  std::vector<int64_t> offsets_{0};
};

}  // namespace margrave
