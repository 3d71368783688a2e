// The names of the operations that structures and problems offer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "protocol/interfaces.h"

namespace margrave {

inline constexpr std::pair<const char*, unsigned> kOffers[] = {{"argmax", kArgmax},
                                                               {"argmax_by_cost", kArgmaxByCost},
                                                               {"logsum", kLogsum},
                                                               {"kbest", kKbest},
                                                               {"sample", kSample},
                                                               {"entropy", kEntropy},
                                                               {"untied", kUntied},
                                                               {"most_violated", kMostViolated},
                                                               {"relaxed_argmax", kRelaxedArgmax}};

inline std::vector<std::string> offered(unsigned flags) {
  std::vector<std::string> names;
  for (const auto& [name, flag] : kOffers)
    if (flags & flag) names.emplace_back(name);
  return names;
}

}  // namespace margrave
