// SPDX-License-Identifier: BSD-3-Clause
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
