/* Files of inertial parameters as the established interface has them: `dynamics: {link: {inertial: {mass: ...}}}`. */
inline constexpr double file_DYN[] = {$file_DYN};

/* par_DYN of all links: the robot file's, with the symbolic entries as they are now. */
inline std::vector<double> all_DYN([[maybe_unused]] const Eigen::Ref<const Eigen::VectorXd>& symbolic) {
  std::vector<double> values(std::begin(file_DYN), std::end(file_DYN));
  Eigen::Index k = 0;
  for (const std::size_t entry : symbolic_entries) values[entry] = symbolic[k++];
  return values;
}

inline constexpr const char* REG_keys[] = {$REG_keys};

inline std::string inertial_text(const Eigen::Ref<const Eigen::VectorXd>& values, std::size_t prefix) {
  std::string text = "dynamics:\n";
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    if (i % 10 == 0) text += "  " + std::string(link_names[i / 10]) + ":\n    inertial:\n";
    const char* key = REG_keys[i % 10];
    text += "      " + std::string(i % 10 > 0 && i % 10 < 4 ? key + prefix : key) + ": " + number_text(values[i]) + "\n";
  }
  return text;
}

inline std::string unquoted(const std::string& name) {
  const bool is_quoted = name.size() > 1 && name.front() == name.back() && (name.front() == '\'' || name.front() == '"');
  return is_quoted ? name.substr(1, name.size() - 2) : name;
}

/* Read ten values for each link, by the links' names or numbers (link1 and so on), or in the order of the file where it has none of them; block and
 * flow style, what else links have is passed over. */
inline std::vector<double> read_inertial(const std::string& file) {
  std::istringstream stream = read_file(file, "save_par_REG");
  std::vector<double> values;
  std::vector<std::string> links;
  std::string text, piece, link;
  int depth = 0, number = 0;
  const auto take = [&] {
    const auto colon = piece.rfind(':');  // names may have some
    const std::string key = trimmed(piece.substr(0, colon)), value = colon == std::string::npos ? "" : trimmed(piece.substr(colon + 1));
    piece.clear();
    if (value.empty()) {
      for (std::size_t i = 0; i < std::size(link_names); ++i)
        if (unquoted(key) == "link" + std::to_string(i + 1)) link = link_names[i];
      for (const char* name : link_names)
        if (unquoted(key) == name) link = name;
    }
    if (key == "inertial") {
      values.insert(values.end(), 10, std::nan(""));
      links.push_back(link);
      link.clear();
    }
    for (std::size_t k = 0; k < 10; ++k) {
      if (key != REG_keys[k]) continue;
      if (values.empty()) fail(file, number, "'" + key + "' of no link; valid: dynamics: {link: {inertial: {mass: ...}}}");
      values[values.size() - 10 + k] = numbers("[" + value + "]", file, number)[0];
    }
    if (key == "CoM_x") fail(file, number, "'CoM_x' is of par_DYN; valid: m_CoM_x, m_CoM_y, m_CoM_z, inertia about the origin");
  };
  while (std::getline(stream, text)) {
    ++number;
    for (const char c : text.substr(0, text.find('#'))) {
      depth += (c == '[') - (c == ']');
      if (depth > 0 || c == ']') continue;
      if (c == ',' || c == '{' || c == '}') take();
      else piece += c;
    }
    take();
  }
  if (values.size() != std::size(file_DYN))
    fail(file, number, std::to_string(values.size() / 10) + " links; valid: " + std::to_string(std::size(file_DYN) / 10));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isnan(values[i])) fail(file, number, "link " + std::to_string(i / 10 + 1) + " has no " + REG_keys[i % 10]);
  if (std::all_of(links.begin(), links.end(), [](const std::string& name) { return name.empty(); })) return values;
  std::vector<double> sorted;
  for (const char* name : link_names) {
    const auto found = std::find(links.begin(), links.end(), name);
    if (found == links.end()) fail(file, number, "no link '" + std::string(name) + "'; valid: the links of the robot, each once");
    const auto block = values.begin() + 10 * (found - links.begin());
    sorted.insert(sorted.end(), block, block + 10);
  }
  return sorted;
}

