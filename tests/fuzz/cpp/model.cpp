// What the core makes of the arrays of a model file, which may be anything: names, fingerprints, tables of weights.
#include "features/table.h"
#include "input.h"
#include "rows/fingerprint_table.h"
#include "rows/vocabulary.h"

using namespace margrave;

namespace {

std::vector<char> characters(fuzz::Input& input) {
  const std::string_view text = input.text(input.number(300));
  return {text.begin(), text.end()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::tried(data, size, [](fuzz::Input& input) {
    const int64_t kind = input.number(2);
    const int64_t count = input.number(300);
    if (kind == 0) {
      const auto bytes = characters(input);
      Vocabulary names(bytes, input.numbers<int64_t>(count));
      for (int64_t id = 0; id < names.size(); ++id)
        if (names.find(names.name(id), hash_bytes(names.name(id).data(), names.name(id).size())) != id)
          __builtin_trap();
    } else if (kind == 1) {
      const auto bytes = characters(input);
      const auto fingerprints = input.numbers<uint64_t>(count);
      const FingerprintTable table(fingerprints, bytes, input.numbers<int64_t>(count + 1));
      for (int64_t k = 0; k < table.size(); ++k) table.name(k);
    } else {
      const int64_t labels = input.number(300);
      const auto begin = input.numbers<int64_t>(count);
      const Pairs pairs(labels, begin, input.numbers<uint16_t>(input.number(300)));
      for (int64_t a = 0; a < pairs.attributes(); ++a)
        for (int64_t k = pairs.begin()[a]; k < pairs.begin()[a + 1]; ++k)
          if (pairs.column()[k] >= labels) __builtin_trap();
    }
  });
}
