// Synchronous grammars: rules with gaps and features.
#include "input.h"
#include "translation/synchronous_grammar.h"

using namespace margrave;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::tried(data, size, [](fuzz::Input& input) {
    SynchronousGrammar grammar;
    grammar.begin("p", input.number(1) > 0 ? -1.0 : 1.0, static_cast<int32_t>(input.number(20)) + 1);
    grammar.feed(input.rest());
    for (int64_t r = 0; r < grammar.size(); ++r)
      for (const auto& [feature, value] : grammar.rule(r).features) grammar.features().name(feature);
  });
}
