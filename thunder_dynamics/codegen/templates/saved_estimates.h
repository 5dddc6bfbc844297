/* Estimates that a controller has saved: ten numbers, as in par_REG, for each link it adapts. */
struct Estimates {
  std::vector<std::size_t> links;
  std::vector<double> values;
  int line = 0;
};

inline std::size_t link_index(std::string name, const std::string& file, int line) {
  name = unquoted(name);
  std::string valid;
  std::size_t index = 0;
  for (const char* candidate : link_names) {
    if (name == candidate) return index;
    valid += (index++ ? ", " : "") + std::string(candidate);
  }
  fail(file, line, "no link '" + name + "'; valid: " + valid);
}

/* Whether the line is one of the estimates; reads it then. */
inline bool read_estimates(Estimates& estimates, const std::string& key, const std::string& value, const std::string& file, int line) {
  if (key == "links") {
    if (value != "[]")
      for (const std::string& name : items(value, file, line)) {
        const std::size_t link = link_index(name, file, line);
        if (std::count(estimates.links.begin(), estimates.links.end(), link))
          fail(file, line, "twice the link '" + std::string(link_names[link]) + "'; valid: each once");
        estimates.links.push_back(link);
      }
  } else if (key == "pi_hat") {
    estimates.values = numbers(value, file, line);
    estimates.line = line;
  } else {
    return false;
  }
  return true;
}

template <typename Parameters>
void put_estimates(const Estimates& estimates, Parameters& par_REG, const std::string& file) {
  if (estimates.values.size() != 10 * estimates.links.size())
    fail(file, estimates.line, std::to_string(estimates.values.size()) + " values in 'pi_hat'; valid: ten for each of " +
         std::to_string(estimates.links.size()) + " links");
  Eigen::Index k = 0;
  for (const std::size_t entry : symbolic_entries) {
    for (std::size_t i = 0; i < estimates.links.size(); ++i)
      if (estimates.links[i] == entry / 10) par_REG[k] = estimates.values[10 * i + entry % 10];
    ++k;
  }
}

