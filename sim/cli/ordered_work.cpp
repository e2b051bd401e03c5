#include "sim/cli/ordered_work.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace roofcast {
namespace {

/// State that the threads of one `write_in_order` share.
class Turnstile {
 public:
  explicit Turnstile(const OrderedWork& work) : work_(work) {}

  void run_worker(const ChunkMaker& make) {
    std::string text;
    try {
      for (std::uint64_t chunk = 0; next(chunk);) {
        text.clear();
        make(chunk, text);
        if (!write(chunk, text)) break;
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  void start(std::vector<std::thread>& threads) {
    for (unsigned i = 0; i < work_.threads; ++i) {
      {
        const std::lock_guard lock(mutex_);
        ++running_;
      }
      try {
        threads.emplace_back([this, make = work_.new_maker()] { run_worker(make); });
      } catch (const std::system_error&) {
        // No further thread is to be had: work with those there are, or with this one.
        if (threads.empty()) return run_worker(work_.new_maker());
        const std::lock_guard lock(mutex_);
        --running_;
        return;
      }
    }
  }

  void wait() {
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(100), [this] { return running_ == 0; });
      const std::uint64_t done = written_;
      lock.unlock();
      work_.tick(done);
      lock.lock();
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  bool next(std::uint64_t& chunk) {
    const std::lock_guard lock(mutex_);
    if (error_ || taken_ >= work_.chunks) return false;
    chunk = taken_++;
    return true;
  }

  /// Waits for the turn of `chunk`; false when another thread failed meanwhile.
  bool write(std::uint64_t chunk, const std::string& text) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return error_ || written_ == chunk; });
    if (error_) return false;
    lock.unlock();
    work_.write(text);
    lock.lock();
    ++written_;
    changed_.notify_all();
    return true;
  }

  const OrderedWork& work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t taken_ = 0;
  std::uint64_t written_ = 0;
  unsigned running_ = 0;
  std::exception_ptr error_;
};

}  // namespace

void write_in_order(const OrderedWork& work) {
  Turnstile turnstile(work);
  std::vector<std::thread> threads;
  turnstile.start(threads);
  std::exception_ptr error;
  try {
    turnstile.wait();
  } catch (...) {
    error = std::current_exception();
  }
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace roofcast
