// Language models in ARPA format: read in pieces, and asked about words.
#include "translation/arpa.h"

#include "input.h"

using namespace margrave;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::tried(data, size, [](fuzz::Input& input) {
    ArpaReader reader;
    const std::string_view text = input.rest();
    const size_t middle = text.find('\n', text.size() / 2);
    if (middle != std::string_view::npos) reader.feed(text.substr(0, middle + 1));
    reader.feed(text.substr(middle == std::string_view::npos ? 0 : middle + 1));
    const LanguageModel model = reader.finish();
    auto state = model.begin();
    for (int32_t word = 0; word < model.words().size() && word < 20; ++word) model.step(state, word, state);
    model.end(state);
    model.context(state);
  });
}
