#pragma once

#include <cstddef>
#include <functional>

#include "microbench/shared/random_slabs.hpp"
#include "microbench/shared/sampling.hpp"
#include "model/reference/cpu/kernels.hpp"
#include "model/reference/cpu/thread_pool.hpp"

namespace roofcast {

/// Work of one thread for the node-th repetition of a kernel.
using NodeWork = std::function<void(int thread, std::size_t node)>;

/// Seconds per node of `nodes` nodes that follow each other in one parallel region with a barrier
/// after each, as operators do in a step. `first_node` lets windows go on where they ended.
double seconds_per_node(ThreadPool& pool, std::size_t first_node, std::size_t nodes,
                        const NodeWork& work);

/// CPU time of all threads of this process so far.
double process_cpu_seconds();

/// Whether threads that compute or spin all the time got less than `least_share` of `seconds` each:
/// what they lack of `cpu_seconds` went to other programs.
bool lacked_cpu(double cpu_seconds, double seconds, int threads, double least_share);

/// Times `work` by the rule: each sample is as many nodes as last about a millisecond. Samples
/// during which other programs ran on the threads' CPUs do not count while there are others.
TimingSummary time_nodes(ThreadPool& pool, const NodeWork& work, const StoppingRule& rule);

/// Looks at the machine: a read of all slabs from memory and a burst of multiplications, about
/// 20 ms together. All threads work, so it also shows whether two of them share a core.
Reference look_at_machine(ThreadPool& pool, const Kernels& kernels, const RandomSlabs& slabs);

}  // namespace roofcast
