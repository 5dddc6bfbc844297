// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace thunder {

/// Calls a function every period in a thread of its own, and once more when it ends: for what a real-time thread must
/// not do itself, such as writing logs.
class PeriodicThread {
 public:
  PeriodicThread(std::chrono::milliseconds period, std::function<void()> task);
  ~PeriodicThread();
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

 private:
  void run(std::chrono::milliseconds period);

  std::function<void()> task_;
  std::mutex mutex_;
  std::condition_variable ending_changed_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace thunder
