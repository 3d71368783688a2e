// A part of a dependency tree, given by its words. Structures of trees describe their parts to feature maps this way.
#pragma once

#include <cstdint>

namespace margrave {

// A part of a tree over the words 1..n and the root 0.
struct TreePart {
  int32_t grandparent = -1;  // the head of the head; -1: not part of it
  int32_t head = 0;
  int32_t sibling = -1;  // the next child of the head, towards the head; 0: none; -1: not part of it
  int32_t word = 0;
  int32_t label = -1;  // of the arc; -1: not part of it
  int32_t child = -1;  // another child of the head, before the word in the sentence; -1: not part of it

  bool operator==(const TreePart&) const = default;
};

}  // namespace margrave
