// The parts of dependency trees as words: what feature maps of trees need to know about a structure.
#pragma once

#include <cstdint>
#include <vector>

namespace margrave {

// A part of a tree over the words 1..n and the root 0.
struct TreePart {
  int32_t grandparent = -1;  // the head of the head; -1: the part does not mention it
  int32_t head = 0;
  int32_t sibling = -1;  // the next child of the head, towards the head; 0: there is none; -1: not mentioned
  int32_t word = 0;
  int32_t label = -1;  // of the arc; -1: not mentioned

  bool operator==(const TreePart&) const = default;
};

class TreeLayout {
 public:
  virtual ~TreeLayout() = default;
  virtual int words(int64_t i) const = 0;
  virtual void tree_parts(int64_t i, std::vector<TreePart>& parts) const = 0;  // in the order of the scores
};

}  // namespace margrave
