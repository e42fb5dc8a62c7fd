// SPDX-License-Identifier: BSD-3-Clause
// The checks of `uroce doctor` on made-up machines. What the files look like is from proc(5) and the kernel's
// Documentation/ABI; each test starts from a machine on which all is well and breaks one thing.
#include "machine_check.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pci_nics.h"

namespace uroce::tools {
namespace {

namespace fs = std::filesystem;

class MadeUpMachine : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/machineXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    machine_.root = name;
    machine_.usable_cores = 4;
    machine_.copy_kernel = "vpclmul256";
    put("/proc/meminfo", "MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    8192000 kB\n");
    put("/proc/self/status", "Name:\turoce\nCapInh:\t0000000000000000\nCapEff:\t000001ffffffffff\n");
    put("/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max locked memory         unlimited            unlimited            bytes     \n");
    cpu("fpu sse4_2 pclmulqdq avx2 vpclmulqdq avx512vl constant_tsc nonstop_tsc");
    put("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n");
    put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "500\n");
    put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    put("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n");
    put("/dev/vfio/vfio", "");
    put("/sys/kernel/iommu_groups/0/type", "DMA\n");
    nic("0000:01:00.0", "vfio-pci", "");
  }
  void TearDown() override { fs::remove_all(machine_.root); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(machine_.root + path).parent_path());
    std::ofstream(machine_.root + path) << text;
  }
  void cpu(const std::string& flags) {
    put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: flags: none\nflags\t\t: " + flags + "\nbugs\t\t:\n");
  }
  void nic(const std::string& address, const std::string& driver, const std::string& interface) {
    const std::string at = "/sys/bus/pci/devices/" + address;
    put(at + "/class", "0x020000\n");
    put(at + "/vendor", "0x15b3\n");
    put(at + "/device", "0x1017\n");
    if (!driver.empty()) fs::create_symlink("../../../bus/pci/drivers/" + driver, machine_.root + at + "/driver");
    if (!interface.empty()) put(at + "/net/" + interface + "/mtu", "1500\n");
  }
  void no_nics() { fs::remove_all(machine_.root + "/sys/bus/pci/devices"); }

  static void expect(const Check& c, Verdict verdict, const std::string& found, const std::string& fix) {
    EXPECT_EQ(to_string(c.verdict), to_string(verdict)) << c.name << ": " << c.found;
    EXPECT_NE(c.found.find(found), std::string::npos) << c.name << ": " << c.found;
    EXPECT_NE(c.fix.find(fix), std::string::npos) << c.name << ": " << c.fix;
    EXPECT_EQ(c.fix.empty(), fix.empty()) << c.name << ": " << c.fix;
  }

  Machine machine_;
};

TEST_F(MadeUpMachine, AllIsWell) {
  for (const Check& c : check_machine(machine_)) {
    EXPECT_EQ(to_string(c.verdict), "ok") << c.name << ": " << c.found;
    EXPECT_TRUE(c.fix.empty()) << c.name << ": " << c.fix;
    EXPECT_FALSE(c.found.empty()) << c.name;
  }
}

TEST_F(MadeUpMachine, NothingAtAllIsThere) {
  fs::remove_all(machine_.root);
  for (const Check& c : check_machine(machine_)) EXPECT_FALSE(c.name.empty() || c.found.empty());
  expect(check_memory(machine_), Verdict::problem, "0 MB", "ps ");
}

TEST_F(MadeUpMachine, LittleMemory) {
  put("/proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable:     200000 kB\n");
  expect(check_memory(machine_), Verdict::problem, "195 MB available; a process of uroce needs 300", "ps ");
}

TEST_F(MadeUpMachine, HugepagesUsedUp) {
  put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3\n");
  expect(check_hugepages(machine_), Verdict::note, "512 of 2048 kB reserved, 3 free", "nr_hugepages");
}

TEST_F(MadeUpMachine, OneFreeGigabyteIsEnough) {
  put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n");
  put("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "1\n");
  put("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "1\n");
  expect(check_hugepages(machine_), Verdict::ok, "1 of 1048576 kB reserved, 1 free", "");
}

TEST_F(MadeUpMachine, LittleLockedMemory) {
  put("/proc/self/limits", "Max locked memory         8388608              8388608              bytes     \n");
  expect(check_memlock(machine_), Verdict::ok, "at most 8 MB", "");  // CAP_IPC_LOCK
  put("/proc/self/status", "CapEff:\t0000000000003000\n");
  expect(check_memlock(machine_), Verdict::note, "at most 8 MB", "ulimit -l unlimited");
}

TEST_F(MadeUpMachine, Privileges) {
  put("/proc/self/status", "CapEff:\t0000000000003000\n");  // bits 12 and 13
  expect(check_privileges(machine_), Verdict::ok, "CAP_NET_RAW", "");
  put("/proc/self/status", "CapEff:\t0000000000002000\n");
  const Check admin = check_privileges(machine_);
  expect(admin, Verdict::note, "missing: CAP_NET_ADMIN", "setcap");
  EXPECT_EQ(admin.found.find("CAP_NET_RAW"), std::string::npos);
  put("/proc/self/status", "CapEff:\t0000000000000000\n");
  expect(check_privileges(machine_), Verdict::note, "missing: CAP_NET_RAW (for af_packet), CAP_NET_ADMIN", "setcap");
}

TEST_F(MadeUpMachine, Vfio) {
  fs::remove_all(machine_.root + "/sys/kernel/iommu_groups");
  expect(check_vfio(machine_), Verdict::note, "no IOMMU", "iommu=pt");
  fs::remove(machine_.root + "/dev/vfio/vfio");
  expect(check_vfio(machine_), Verdict::note, "no /dev/vfio/vfio", "modprobe vfio-pci");
}

TEST_F(MadeUpMachine, NicsOfTheKernel) {
  no_nics();
  nic("0000:02:00.0", "ixgbe", "enp2s0");
  nic("0000:03:00.0", "", "");
  // The one that nobody uses is the one to take.
  expect(check_nics(machine_), Verdict::note, "0000:02:00.0 (ixgbe, enp2s0), 0000:03:00.0 (no driver): none is DPDK's",
         "--bind=vfio-pci 0000:03:00.0");
  nic("0000:04:00.0", "mlx5_core", "enp4s0");
  expect(check_nics(machine_), Verdict::ok, "0000:04:00.0 (mlx5_core, enp4s0)", "");
  no_nics();
  expect(check_nics(machine_), Verdict::note, "no Ethernet NIC", "uroce devices");
}

TEST_F(MadeUpMachine, OtherPciDevicesAreNoNics) {
  put("/sys/bus/pci/devices/0000:00:1f.0/class", "0x060100\n");
  put("/sys/bus/pci/devices/0000:05:00.0/class", "0x020700\n");  // InfiniBand
  const auto nics = pci_nics(machine_.root);
  ASSERT_EQ(nics.size(), 1u);
  EXPECT_EQ(nics[0].address, "0000:01:00.0");
  EXPECT_EQ(nics[0].id, "15b3:1017");
}

TEST_F(MadeUpMachine, VirtioKeepsItsInterfaceOneLevelDown) {
  no_nics();
  nic("0000:00:03.0", "virtio-pci", "");
  put("/sys/bus/pci/devices/0000:00:03.0/virtio2/net/eth7/mtu", "1500\n");
  const auto nics = pci_nics(machine_.root);
  ASSERT_EQ(nics.size(), 1u);
  EXPECT_EQ(nics[0].kernel_interface, "eth7");
  EXPECT_FALSE(nics[0].usable());
  const auto recipes = port_recipes(nics);
  ASSERT_EQ(recipes.size(), 4u);
  EXPECT_NE(recipes[0].what.find("loses eth7"), std::string::npos);
  EXPECT_NE(recipes[2].type.find("iface=eth7"), std::string::npos);
}

TEST_F(MadeUpMachine, Cpu) {
  cpu("sse4_2 pclmulqdq");
  expect(check_cpu(machine_), Verdict::note, "sse4_2 pclmulqdq; copy + CRC kernel: vpclmul256", "-cpu host");
  cpu("sse2 pclmulqdq vpclmulqdq");
  expect(check_cpu(machine_), Verdict::problem, "DPDK needs SSE4.2", "-cpu host");
}

TEST_F(MadeUpMachine, MorePollersThanCores) {
  for (const char* pid : {"11", "12"})
    put(std::string("/proc/") + pid + "/maps", "7f00-7f01 r-xp /usr/lib/librte_eal.so.23\n");
  put("/proc/13/maps", "7f00-7f01 r-xp /usr/lib/libc.so.6\n");
  expect(check_cores(machine_), Verdict::ok, "4 usable; 2 other DPDK processes", "");
  machine_.usable_cores = 2;
  expect(check_cores(machine_), Verdict::note, "2 usable; 2 other DPDK processes", "--idle nap");
  machine_.usable_cores = 1;
  fs::remove_all(machine_.root + "/proc");
  expect(check_cores(machine_), Verdict::note, "1 usable; 0 other DPDK processes", "--idle nap");
}

TEST_F(MadeUpMachine, Clocks) {
  cpu("sse4_2 constant_tsc");
  expect(check_tsc(machine_), Verdict::note, "missing: nonstop_tsc", "invtsc");
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  expect(check_clock_source(machine_), Verdict::note, "hpet", "echo tsc");
  put("/sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm\n");
  expect(check_clock_source(machine_), Verdict::note, "hpet", "");
}

}  // namespace
}  // namespace uroce::tools
