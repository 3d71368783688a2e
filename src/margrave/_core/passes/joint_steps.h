// Steps over the outputs that all blocks of BCFW remember, together: at a large C, where examples pull the weights to
// and fro, steps on one block at a time gain little (docs/background/learning.md).
//
// The dual over these outputs is that of cutting planes with margin re-scaling (cut_blocks.h): an output other than the
// gold one is a constraint with multiplier C_i alpha_y, and the gold output has the rest of C_i.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "passes/joint_cuts.h"
#include "passes/mixing.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"

namespace margrave {

namespace joint_steps {

inline Output sorted_gold(const Problem& problem, int64_t i) {
  Output gold;
  problem.gold(i, 0, gold);
  std::sort(gold.begin(), gold.end());
  return gold;
}

inline CutBlock constraints_of(const Block& block, const Output& gold, double C, double gamma) {
  CutBlock found;
  for (const Atom& atom : block.atoms)
    if (atom.y != gold) found.cuts.push_back({atom.y, gamma * atom.cost, gamma * atom.cost, 1.0, C * atom.alpha, 0});
  return found;
}

// Sets the masses of a block to those of its constraints.
inline void take_over(const Problem& problem, int64_t i, const CutBlock& found, Output&& gold, double C, Block& block,
                      Worker& worker) {
  double rest = 1;
  size_t k = 0;
  size_t at_gold = block.atoms.size();
  for (size_t a = 0; a < block.atoms.size(); ++a) {
    if (block.atoms[a].y == gold) {
      at_gold = a;
      continue;
    }
    rest -= block.atoms[a].alpha = found.cuts[k++].multiplier / C;
  }
  rest = std::max(rest, 0.0);
  if (at_gold < block.atoms.size())
    block.atoms[at_gold].alpha = rest;
  else if (rest > 0)
    pairwise::add(problem, i, {std::move(gold), 0.0, rest, 0.0}, block, worker);
}

}  // namespace joint_steps

// Maximizes D over the known outputs until their gap is at most `goal`; false, without any change, if there are too
// many of them.
inline bool take_joint_steps(const Problem& problem, const LossFamily& family, Blocks& blocks, double goal, double* w,
                             const Poll& poll) {
  int64_t with_mass = 0;
  for (int64_t i = 0; i < problem.size(); ++i)
    for (const Atom& atom : std::as_const(blocks)[i].atoms) with_mass += atom.alpha > 0;
  if (with_mass - problem.size() > JointCuts::kMost) return false;  // usually, one of them is the gold output
  Worker worker;
  std::vector<CutBlock> constraints;
  for (int64_t i = 0; i < problem.size(); ++i) {
    const Output gold = joint_steps::sorted_gold(problem, i);
    constraints.push_back(joint_steps::constraints_of(blocks[i], gold, family.weight(i), family.gamma));
  }
  const Rescaling rule{false, 1, CostKind::kParts, nullptr, family.gamma};
  GramMemory memory{0};
  const Cutting task{problem, rule, family, w, constraints, memory};
  if (!JointCuts::suits(task)) return false;
  const auto take_over = [&] {
    for (int64_t i = 0; i < problem.size(); ++i) {
      if (family.weight(i) == 0) continue;
      worker.make_room(problem.parts(i));
      joint_steps::take_over(problem, i, constraints[i], joint_steps::sorted_gold(problem, i), family.weight(i),
                             blocks[i], worker);
    }
  };
  try {
    JointCuts(task).optimize(goal, poll, worker);
  } catch (...) {  // An interruption: w is that of the constraints already.
    take_over();
    throw;
  }
  take_over();
  return true;
}

}  // namespace margrave
