#include "model/reference/cpu/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>

#include <stdexcept>
#include <utility>

#include "model/reference/cpu/topology.hpp"

namespace roofcast {
namespace {

bool pin_to(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

}  // namespace

ThreadPool::ThreadPool(std::vector<int> cpus)
    : cpus_(std::move(cpus)), barrier_(static_cast<int>(cpus_.size())), errors_(cpus_.size()) {
  if (cpus_.empty()) throw std::invalid_argument("a thread pool needs at least one thread");
  threads_.reserve(cpus_.size());
  for (std::size_t i = 0; i < cpus_.size(); ++i)
    threads_.emplace_back([this, i] { work(static_cast<int>(i)); });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  region_.fetch_add(1, std::memory_order_release);
  region_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(const std::function<void(int thread)>& body) {
  body_ = &body;
  running_.store(size(), std::memory_order_relaxed);
  region_.fetch_add(1, std::memory_order_release);
  region_.notify_all();
  for (int left = running_.load(std::memory_order_acquire); left != 0;
       left = running_.load(std::memory_order_acquire))
    running_.wait(left, std::memory_order_acquire);
  for (std::exception_ptr& error : errors_) {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
}

void ThreadPool::work(int thread) {
  const auto index = static_cast<std::size_t>(thread);
  if (!pin_to(cpus_[index])) unpinned_.fetch_add(1, std::memory_order_relaxed);
  for (unsigned seen = 0;; ++seen) {
    region_.wait(seen, std::memory_order_acquire);
    if (stop_) return;
    try {
      (*body_)(thread);
    } catch (...) {
      errors_[index] = std::current_exception();
    }
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

std::vector<int> pool_cpus(int count) {
  const Topology topology = this_topology();
  const int threads = count > 0 ? count : static_cast<int>(topology.cpus.size());
  std::vector<int> cpus(static_cast<std::size_t>(threads), -1);
  if (threads > static_cast<int>(topology.cpus.size())) return cpus;
  for (int i = 0; i < threads; ++i)
    cpus[static_cast<std::size_t>(i)] = topology.cpus[static_cast<std::size_t>(i)].id;
  return cpus;
}

}  // namespace roofcast
