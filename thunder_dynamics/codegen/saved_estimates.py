"""The part of load_conf that reads a controller's saved estimates; robots without symbolic par_DYN have none."""

from __future__ import annotations

from thunder_dynamics.codegen.package import Package
from thunder_dynamics.codegen.text import template

_DECLARED = "  Estimates estimates;\n"
_READ = "    if (!group && has_law && read_estimates(estimates, key, value, file, line)) continue;\n"
_SET = """\
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


def saved_estimates_parts(package: Package) -> dict[str, str]:
    """Pieces of the template class.cpp: what is defined, declared, read and set.

    The symbolic entries of par_DYN are set so that the parameters in REG form at these places are the estimates;
    numeric entries keep their values.
    """
    if "par_DYN" not in package.groups:
        return dict.fromkeys(("estimates_parts", "estimates_declared", "estimates_read", "estimates_set"), "")
    return {
        "estimates_parts": template("saved_estimates.cpp").substitute(),
        "estimates_declared": _DECLARED,
        "estimates_read": _READ,
        "estimates_set": _SET,
    }
