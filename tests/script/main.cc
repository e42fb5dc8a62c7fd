// SPDX-License-Identifier: BSD-3-Clause
// Each script in UROCE_SCRIPTS is the test Script.<its name>; TEST() cases of the other files run beside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "runner.h"

namespace uroce::script {
namespace {

class ScriptTest : public testing::Test {
 public:
  explicit ScriptTest(std::filesystem::path path) : path_(std::move(path)) {}
  void TestBody() override {
    try {
      Runner::run_file(path_);
    } catch (const ScriptError& e) {
      FAIL() << e.what();
    }
  }

 private:
  std::filesystem::path path_;
};

void register_scripts() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(UROCE_SCRIPTS)) {
    if (entry.path().extension() == ".script") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    const std::string name = path.stem().string();
    testing::RegisterTest("Script", name.c_str(), nullptr, nullptr, path.c_str(), 1,
                          [path]() -> testing::Test* { return new ScriptTest(path); });
  }
  testing::RegisterTest("Scripts", "AreThere", nullptr, nullptr, __FILE__, __LINE__,
                        [n = paths.size()]() -> testing::Test* {
                          class CountTest : public testing::Test {
                           public:
                            explicit CountTest(std::size_t count) : count_(count) {}
                            void TestBody() override { EXPECT_GT(count_, 0u) << "no script in " UROCE_SCRIPTS; }

                           private:
                            std::size_t count_;
                          };
                          return new CountTest(n);
                        });
}

}  // namespace
}  // namespace uroce::script

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  uroce::script::register_scripts();
  return RUN_ALL_TESTS();
}
