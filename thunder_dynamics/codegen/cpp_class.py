"""thunder_<robot>.h: an Eigen class over the C core, of which the library knows nothing; and the package's own test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca

from thunder_dynamics.algorithms.drives import rotor_inertias
from thunder_dynamics.algorithms.kinematics import Parameters
from thunder_dynamics.codegen.package import GeneratedFunction, Package
from thunder_dynamics.codegen.text import c_double, c_string, comment_text, template
from thunder_dynamics.model import PARAMETER_GROUPS
from thunder_dynamics.runtime.parameter_files import FROM_ROBOT_FILE, NO_PAR_REG, REG_KEYS

CONVERSIONS = ("par_REG_from_DYN", "par_DYN_from_REG", "pi_from_DYN")
"""Functions that serve get_par_REG, set_par_REG and save_par_REG and are no methods of their own."""

_LOAD_PAR_REG = """\
  const std::vector<double> values = read_inertial(file);
  auto par_REG = get_par_REG();
  Eigen::Index k = 0;
  for (const std::size_t entry : symbolic_entries) par_REG[k++] = values[entry];
  set_par_REG(par_REG);
  return get_par_REG();
"""

_ESTIMATES_DECLARED = "  Estimates estimates;\n"
_ESTIMATES_READ = "    if (!group && has_law && read_estimates(estimates, key, value, file, line)) continue;\n"
_ESTIMATES_SET = """\
  if (estimates.line > 0) {
    auto par_REG = loaded.get_par_REG();
    put_estimates(estimates, par_REG, file);
    try {
      loaded.set_par_REG(par_REG);
    } catch (const std::invalid_argument& error) {
      fail(file, estimates.line, error.what());
    }
  }
"""

LARGEST_FIXED = 128 * 1024
"""Bytes that Eigen keeps in a fixed-size matrix by default: what is larger is on the heap."""


def eigen_type(rows: int, cols: int) -> str:
    """The Eigen type of that shape, of fixed size unless the stack is no place for it."""
    is_large = 8 * rows * cols > LARGEST_FIXED
    return "Eigen::MatrixXd" if is_large else f"Eigen::Matrix<double, {rows}, {cols}>"


def stored_arguments(package: Package) -> list[str]:
    """Arguments that the class keeps and has a setter for; par_REG is computed from par_DYN."""
    return [name for name in package.arguments if name != "par_REG"]


def established_names(package: Package) -> dict[str, str]:
    """Names without underscore that C++ written for the established interface calls setters of references by."""
    return {name.replace("_r", "r"): name for name in stored_arguments(package) if name.endswith("_r")}


def constants(package: Package) -> dict[str, int | bool | str | tuple[int, ...]]:
    """Sizes and what else a class is asked for by the names of the established interface."""
    model = package.model
    elastic = list(model.elasticities())
    orders = {f"{name}_order": max((len(getattr(e, name)) for e in elastic), default=0) for name in ("K", "D", "Dm")}
    return {
        **dict.fromkeys(("num_joints", "n_joints"), model.n),
        **dict.fromkeys(("numParDYN", "numParREG"), len(model.pi)),
        "numElasticJoints": len(elastic),
        "Dl_order": model.friction_order,
        **orders,
        "isElasticJoint": tuple(int(i in model.elastic_joints) for i in range(model.n)),
        "ELASTIC": bool(elastic),
        "robotName": package.name,
    }


def numeric_groups(package: Package) -> dict[str, tuple[float, ...]]:
    """Groups without run-time parameters, whose getters give the numbers of the robot file."""
    groups = (group for group in PARAMETER_GROUPS if group not in package.groups)
    return {group: package.model.parameters(group) for group in groups}


def visible_functions(package: Package) -> list[GeneratedFunction]:
    """Functions that become get_<name>; the conversions of parameters serve get/set_par_REG."""
    return [f for f in package.functions if f.name not in CONVERSIONS]


def has_conversions(package: Package) -> bool:
    """Whether the robot has symbolic inertial parameters."""
    return "par_REG" in package.arguments


def header(package: Package) -> str:
    """Text of thunder_<robot>.h."""
    setters, getters, members = [], [], []
    for name in stored_arguments(package):
        entry = package.arguments[name]
        note = f"  /** {comment_text(entry.description)} [{comment_text(entry.unit)}], {entry.size} values. */\n"
        setters.append(f"{note}  void set_{name}(const Eigen::Ref<const Eigen::VectorXd>& value);\n")
        if name in package.groups:
            setters.append(f"  const {eigen_type(entry.size, 1)}& get_{name}() const {{ return {name}_; }}\n")
        members.append(f"  {eigen_type(entry.size, 1)} {name}_;\n")
    setters += [_constant_getter(group, values) for group, values in numeric_groups(package).items()]
    for established, name in established_names(package).items():
        setters.append(
            f"  void set_{established}(const Eigen::Ref<const Eigen::VectorXd>& value) {{ set_{name}(value); }}\n"
        )
    if has_conversions(package):
        size = package.arguments["par_REG"].size
        setters.append("  /** REG form of the symbolic inertial parameters; setting it sets par_DYN. */\n")
        setters.append("  void set_par_REG(const Eigen::Ref<const Eigen::VectorXd>& value);\n")
        setters.append(f"  {eigen_type(size, 1)} get_par_REG() const;\n")
    for f in visible_functions(package):
        arguments = ", ".join(f.arguments) or "nothing"
        getters.append(f"  /** {comment_text(f.description)} Function of {arguments}. */\n")
        getters.append(f"  {eigen_type(f.rows, f.cols)} get_{f.name}() const;\n")
    return template("class.h").substitute(
        robot=package.name,
        constants="".join(_constant(name, value) for name, value in constants(package).items()),
        work=max([1, *package.core.work_sizes.values()]),
        setters="".join(setters),
        getters="".join(getters),
        members="".join(members),
        **_definitions(package),
    )


def _definitions(package: Package) -> dict[str, str]:
    """Pieces of the template class.h that define its functions."""
    return dict(
        initial="\n".join(_initial(package, name) for name in stored_arguments(package)),
        setter_definitions="\n".join(_setter(package, name) for name in stored_arguments(package)),
        conversions=_conversions(package) if has_conversions(package) else "",
        getter_definitions="\n".join(_getter(package, f) for f in visible_functions(package)),
        save="".join(f'  write_group(text, "{g}", {g}_);\n' for g in package.groups),
        load="".join(
            f'  if (const auto* values = find(groups, "{g}")) loaded.set_{g}(map(*values));\n' for g in package.groups
        ),
        check="".join(f'  known.push_back({{"{g}", {e.size}}});\n' for g, e in package.groups.items()),
        from_robot_file=c_string(FROM_ROBOT_FILE),
        **_inertial_files(package),
        **_saved_estimates(package),
    )


def _inertial_files(package: Package) -> dict[str, str]:
    """Pieces of the template class.h that read and write inertial parameters of all links."""
    model = package.model
    symbolic = [k for k, marked in enumerate(model.symbolic.get("par_DYN", ())) if marked]
    file_DYN = ", ".join(c_double(value) for value in model.parameters("par_DYN"))
    return {
        "link_names": ", ".join(c_string(name) for name in model.link_names),
        "n_symbolic": str(len(symbolic)),
        "symbolic": f"{{{', '.join(map(str, symbolic))}}}",
        "inertial_files": template("inertial_files.h").substitute(
            file_DYN=file_DYN, REG_keys=", ".join(map(c_string, REG_KEYS))
        ),
        "par_DYN": "par_DYN_" if symbolic else "Eigen::VectorXd()",
        "par_REG_type": _par_REG_type(package),
        "all_REG": _all_REG(package),
        "load_par_REG": _LOAD_PAR_REG if symbolic else _refusal(NO_PAR_REG.format(robot=model.name)),
    }


def _saved_estimates(package: Package) -> dict[str, str]:
    """Pieces of the template class.h that read a controller's saved estimates: defined, declared, read and set.

    The symbolic entries of par_DYN are set so that the parameters in REG form at these places are the estimates;
    numeric entries keep their values.
    """
    if "par_DYN" not in package.groups:
        return dict.fromkeys(("estimates_parts", "estimates_declared", "estimates_read", "estimates_set"), "")
    return {
        "estimates_parts": template("saved_estimates.h").substitute(),
        "estimates_declared": _ESTIMATES_DECLARED,
        "estimates_read": _ESTIMATES_READ,
        "estimates_set": _ESTIMATES_SET,
    }


def self_test(package: Package) -> str:
    """Text of test_<robot>.cpp: the identities of theory.md §2 on the compiled class.

    π is that of the robot file, so it holds with symbolic parameters too, which start from the file's values.
    """
    pi = ", ".join(c_double(v) for v in package.model.pi)
    model = replace(package.model, symbolic={})
    rotors = ", ".join(c_double(float(rotor)) for rotor in ca.DM(rotor_inertias(model, Parameters(model))).elements())
    return template("self_test.cpp").substitute(
        robot=package.name, n=model.n, nq=model.nq, nv=model.nv, pi=pi, rotors=rotors
    )


def _par_REG_type(package: Package) -> str:
    """Of what get_par_REG returns: of fixed size, as memory that a library allocates may not be freed outside of it."""
    values = package.arguments["par_REG"].size if has_conversions(package) else len(package.model.pi)
    return eigen_type(values, 1)


def _all_REG(package: Package) -> str:
    """C++ that puts par_REG of all links into `out`."""
    name = "pi_from_DYN" if has_conversions(package) else "par_REG"
    (function,) = (f for f in package.functions if f.name == name)
    return _call(package, function, [f"{argument}_" for argument in function.arguments])


def _refusal(message: str) -> str:
    return f"  throw std::runtime_error(file + {c_string(f': {message}')});\n"


def _constant(name: str, value: int | bool | str | tuple[int, ...]) -> str:
    if isinstance(value, tuple):
        return f"  static constexpr int {name}[] = {{{', '.join(map(str, value))}}};\n"
    if isinstance(value, str):
        return f"  static constexpr const char* {name} = {c_string(value)};\n"
    kind = "bool" if isinstance(value, bool) else "int"
    return f"  static constexpr {kind} {name} = {str(value).lower()};\n"


def _constant_getter(group: str, values: Sequence[float]) -> str:
    """What C++ for the established interface asks of a group that is numbers: those of the robot file."""
    numbers = ", ".join(map(c_double, values))
    value = f"(Eigen::VectorXd({len(values)}) << {numbers}).finished()" if numbers else "{}"
    return f"  /** Numbers of the robot file. */\n  Eigen::VectorXd get_{group}() const {{ return {value}; }}\n"


def _initial(package: Package, name: str) -> str:
    entry = package.arguments[name]
    if not entry.default.any():
        return f"  {name}_.setZero();"
    return f"  {name}_ << {', '.join(c_double(v) for v in entry.default.ravel(order='F'))};"


def _setter(package: Package, name: str) -> str:
    return (
        f"inline void thunder_{package.name}::set_{name}(const Eigen::Ref<const Eigen::VectorXd>& value) {{\n"
        f'  assign({name}_, value, "set_{name}");\n}}\n'
    )


def _call(package: Package, f: GeneratedFunction, arguments: list[str]) -> str:
    arg = ", ".join(f"{a}.data()" for a in arguments) or "nullptr"
    kind = eigen_type(f.rows, f.cols)
    size = f"({f.rows}, {f.cols})" if kind == "Eigen::MatrixXd" else ""
    return (
        f"  {kind} out{size};\n"
        f"  const double* arg[] = {{{arg}}};\n  double* res[] = {{out.data()}};\n"
        f"  {f.symbol}(arg, res, nullptr, work_.data(), 0);\n"
    )


def _getter(package: Package, f: GeneratedFunction) -> str:
    body = _call(package, f, [f"{a}_" for a in f.arguments])
    head = f"inline {eigen_type(f.rows, f.cols)} thunder_{package.name}::get_{f.name}() const"
    return f"{head} {{\n{body}  return out;\n}}\n"


def _conversions(package: Package) -> str:
    table = {f.name: f for f in package.functions}
    there, back = table["par_REG_from_DYN"], table["par_DYN_from_REG"]
    size = eigen_type(there.rows, 1)
    return (
        f"inline {size} thunder_{package.name}::get_par_REG() const {{\n"
        + _call(package, there, [f"{a}_" for a in there.arguments])
        + "  return out;\n}\n\n"
        + f"inline void thunder_{package.name}::set_par_REG(const Eigen::Ref<const Eigen::VectorXd>& value) {{\n"
        + f'  {size} par_REG;\n  assign(par_REG, value, "set_par_REG");\n'
        + _call(package, back, ["par_REG" if a == "par_REG" else f"{a}_" for a in back.arguments])
        + "  if (!out.allFinite())\n"
        + '    throw std::invalid_argument("set_par_REG: a mass is zero; valid: masses that are not zero");\n'
        + "  par_DYN_ = out;\n}\n"
    )
