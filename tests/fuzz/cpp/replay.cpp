// Runs a target on files, and on changed copies of them, where there is no libFuzzer: replay [-runs=N] FILE|FOLDER...
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "input.h"

namespace {

using Bytes = std::vector<uint8_t>;

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

Bytes changed(Bytes bytes, const Bytes& other, std::mt19937_64& random) {
  for (uint64_t k = random() % 4 + 1; k > 0; --k) {
    const size_t at = bytes.empty() ? 0 : random() % bytes.size();
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 5) {
      case 0:
        if (!bytes.empty()) bytes[at] ^= static_cast<uint8_t>(1u << random() % 8);
        break;
      case 1: bytes.insert(place, static_cast<uint8_t>(random())); break;
      case 2:
        if (!bytes.empty()) bytes.erase(place, place + static_cast<std::ptrdiff_t>(random() % (bytes.size() - at) + 1));
        break;
      case 3: {
        const Bytes copy(place, bytes.end());
        bytes.insert(bytes.end(), copy.begin(), copy.end());
        break;
      }
      default:
        bytes.insert(place, other.begin(), other.begin() + static_cast<std::ptrdiff_t>(random() % (other.size() + 1)));
    }
    if (bytes.size() > 4096) bytes.resize(4096);
  }
  return bytes;
}

}  // namespace

int main(int count, char** arguments) {
  size_t runs = 100000;
  std::vector<Bytes> seeds;
  for (int k = 1; k < count; ++k) {
    const std::string argument = arguments[k];
    if (argument.starts_with("-runs=")) {
      runs = std::stoul(argument.substr(6));
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) seeds.push_back(read(entry.path()));
    } else if (!argument.starts_with("-")) {
      seeds.push_back(read(argument));
    }
  }
  for (const Bytes& seed : seeds) LLVMFuzzerTestOneInput(seed.data(), seed.size());
  std::mt19937_64 random(1);
  for (size_t k = 0; k < runs && !seeds.empty(); ++k) {
    const Bytes bytes = changed(seeds[random() % seeds.size()], seeds[random() % seeds.size()], random);
    // What crashes is found again in this file.
    if (FILE* const last = std::fopen("last-input", "wb")) {
      std::fwrite(bytes.data(), 1, bytes.size(), last);
      std::fclose(last);
    }
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%zu files and %zu changed copies: no fault\n", seeds.size(), seeds.empty() ? 0 : runs);
  return 0;
}
