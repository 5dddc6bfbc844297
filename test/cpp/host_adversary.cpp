// SPDX-License-Identifier: Apache-2.0
//
// Everything goes wrong at random, in closed loop with the arm: measurements, time, references, gains, life cycle.
// Usage: host_adversary <updates> <seed> <lib1.so> [<lib2.so> …]      every law of each library, on all cores
//        host_adversary replay <seed> <robot> <law> <episode> <lib.so>  one episode, its faults to stdout
//
// An episode is a session of its own: an arm, a load, options, gains and estimates at random, then some seconds of 1 kHz
// in which faults come in bursts. Exit status: 0, or 1 if judge.hpp found a breach. JSON to stdout, breaches to stderr.
#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>

#include "episode.hpp"

namespace {

using test::Episode;
using test::Subject;
using test::Tally;

/// Episodes of all subjects in turn until there are enough updates; what a thread finds it adds at the end of each.
class Campaign {
 public:
  Campaign(std::vector<Subject> subjects, double updates, std::uint64_t seed)
      : subjects_(std::move(subjects)), totals_(subjects_.size()), updates_(updates), seed_(seed) {}

  void run() {
    test::in_parallel([this](long number) {
      play(number);
      return static_cast<double>(done_) < updates_;
    });
  }

  /// Whether nothing was found.
  bool print() const {
    bool is_clean = true;
    std::printf("{\"updates\": %.0f, \"subjects\": [\n", static_cast<double>(done_));
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      print(subjects_[i], totals_[i]);
      std::printf(i + 1 < subjects_.size() ? ",\n" : "]}\n");
      is_clean = is_clean && totals_[i].count.empty();
    }
    return is_clean;
  }

 private:
  void play(long number) {
    const std::size_t which = static_cast<std::size_t>(number) % subjects_.size();
    const long index = number / static_cast<long>(subjects_.size());
    const Subject& subject = subjects_[which];
    Tally tally;
    Episode(subject, seed_, index, tally, false).run();
    done_ += tally.updates;
    const std::lock_guard<std::mutex> lock(mutex_);
    totals_[which].add(tally);
    for (const auto& [kind, place] : tally.breaches) {
      std::fprintf(stderr, "%s %s, seed %llu, episode %ld: %s:%s\n", subject.data().robot, subject.law.c_str(),
                   static_cast<unsigned long long>(seed_), index, kind.c_str(), place.c_str());
    }
  }

  static void print(const Subject& subject, const Tally& t) {
    std::printf("{\"robot\": \"%s\", \"law\": \"%s\", \"episodes\": %ld, \"updates\": %ld, \"sighted\": %ld,\n",
                subject.data().robot, subject.law.c_str(), t.episodes, t.updates, t.sighted);
    std::printf(" \"activations\": %ld, \"activations_refused\": %ld, \"requests\": %ld, \"requests_refused\": %ld,\n",
                t.activations, t.activations_refused, t.requests, t.requests_refused);
    std::printf(" \"margin\": %s, \"farthest_beyond_limits\": %s", test::json(t.margin).c_str(),
                test::json(t.farthest).c_str());
    std::printf(",\n \"guards\": {");
    for (std::size_t i = 0; i < thunder::kGuards.size(); ++i) {
      std::printf("%s\"%s\": %ld", i == 0 ? "" : ", ", thunder::kGuards[i].name, t.guards[i]);
    }
    std::printf("},\n \"breaches\": {");
    const char* comma = "";
    for (const auto& [name, count] : t.count) std::printf("%s\"%s\": %ld", comma, name.c_str(), count), comma = ", ";
    std::printf("}}");
  }

  std::vector<Subject> subjects_;
  std::vector<Tally> totals_;
  double updates_;
  std::uint64_t seed_;
  std::mutex mutex_;
  std::atomic<long> done_{0};
};

bool try_all(std::vector<Subject> subjects, double updates, std::uint64_t seed) {
  Campaign campaign(std::move(subjects), updates, seed);
  campaign.run();
  return campaign.print();
}

bool replay(const Subject& subject, std::uint64_t seed, long number) {
  Tally tally;
  Episode(subject, seed, number, tally, true).run();
  for (const auto& [kind, place] : tally.breaches) std::printf("%s:%s\n", kind.c_str(), place.c_str());
  return tally.breaches.empty();
}

}  // namespace

int main(int count, char** arguments) { return test::run_command(count, arguments, try_all, replay); }
