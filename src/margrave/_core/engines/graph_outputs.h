// Whether the hard factors and listed tuples of a factor graph leave any output.
//
// Elimination answers exactly if its tables are small. Otherwise a search tries labels one by one. It answers if it
// finds a labeling or exhausts all of them. A user's rule would be called for each cell of its table, so large ones are
// only searched.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/clique_tree.h"
#include "engines/factor_messages.h"
#include "engines/factor_relaxation.h"
#include "protocol/checks.h"
#include "protocol/scratch.h"

namespace margrave {

inline bool asks_often(const FactorGraphs& graphs, int64_t g) {
  constexpr double kMostAsked = 256;
  for (int64_t h = 0; h < graphs.hards(g); ++h) {
    const HardFactor hard = graphs.hard(g, h);
    double cells = 1;
    for (int64_t j = 0; j < hard.arity; ++j) cells *= static_cast<double>(graphs.labels(g, hard.scope[j]));
    if (hard.kind == HardKind::kOwn && cells > kMostAsked) return true;
  }
  return false;
}

// Empty if unknown: the tables would be too large, and the search was given up.
inline std::optional<bool> has_outputs(const FactorGraphs& graphs, int64_t g) {
  constexpr double kMostBytes = 8e6;
  constexpr RelaxationSettings kShort{/*iterations=*/5, /*tolerance=*/1e-7, /*trials=*/5'000};
  const std::vector<double> zeros(static_cast<size_t>(graphs.parts(g)), 0.0);
  std::vector<int32_t> labeling(static_cast<size_t>(graphs.variables(g)));
  if (!asks_often(graphs, g)) {
    try {
      Scratch scratch;
      return CliqueTree(graphs, g, kMostBytes).argmax(zeros.data(), labeling.data(), scratch) > -kInfinity;
    } catch (const TooWide&) {
    }
  }
  try {
    const MessageLayout layout(graphs, g);
    return FactorRelaxation().run(graphs, g, layout, zeros.data(), kShort, labeling).value > -kInfinity;
  } catch (const SearchTooLong&) {
    return std::nullopt;
  }
}

}  // namespace margrave
