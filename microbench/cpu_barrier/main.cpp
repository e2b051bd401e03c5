#include "microbench/cpu_barrier/cpu_barrier.hpp"
#include "microbench/front/front.hpp"

int main(int argc, char** argv) {
  return roofcast::run_front(argc, argv, [](roofcast::CpuEnvironment& environment) {
    return std::vector<roofcast::CpuBench>{roofcast::barrier_bench(environment)};
  });
}
