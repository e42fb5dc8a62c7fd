// SPDX-License-Identifier: BSD-3-Clause
// What of this machine matters to uroce, judged from what the kernel tells in /proc and /sys.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace uroce::tools {

enum class Verdict {
  ok,
  note,     // works, but slower or with less than there could be
  problem,  // uroce can't be used
};

struct Check {
  std::string name;  // stable: scripts go by it
  Verdict verdict = Verdict::ok;
  std::string found;  // what is there, and for a note what it means
  std::string fix;    // what to type; empty when there is nothing to be done
};

std::string_view to_string(Verdict v) noexcept;

struct Machine {
  std::string root;              // goes before /proc, /sys and /dev; "" but for tests
  unsigned usable_cores = 1;     // cores this process may run on
  std::string_view copy_kernel;  // the copy + CRC kernel the library chooses here
};

Check check_memory(const Machine& m);
Check check_hugepages(const Machine& m);
Check check_memlock(const Machine& m);
Check check_privileges(const Machine& m);
Check check_vfio(const Machine& m);
Check check_nics(const Machine& m);
Check check_cpu(const Machine& m);
Check check_cores(const Machine& m);
Check check_tsc(const Machine& m);
Check check_clock_source(const Machine& m);

// All of them, in this order.
std::vector<Check> check_machine(const Machine& m);

}  // namespace uroce::tools
