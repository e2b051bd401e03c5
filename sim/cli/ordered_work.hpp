#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace roofcast {

/// Makes the text of one chunk. Called by one thread at a time, so it can keep scratch memory.
using ChunkMaker = std::function<void(std::uint64_t chunk, std::string& out)>;

/// What `write_in_order` needs. `new_maker` is called once per thread, before it starts. `write`
/// gets the chunks in order, one call at a time. `tick` is called some ten times a second, by the
/// calling thread, with the number of chunks written.
struct OrderedWork {
  std::uint64_t chunks = 0;
  unsigned threads = 1;
  std::function<ChunkMaker()> new_maker;
  std::function<void(std::string_view)> write;
  std::function<void(std::uint64_t done)> tick;
};

/// Makes all chunks on several threads and writes them in order, holding one chunk per thread in
/// memory. The first exception of any thread stops all and is thrown again here.
void write_in_order(const OrderedWork& work);

}  // namespace roofcast
