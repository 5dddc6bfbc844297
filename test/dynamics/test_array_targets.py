"""`--target jax`, `torch`, `cuda`: the numbers and derivatives of CasADi for many states at once, one file or none."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import casadi as ca
import numpy as np
import pytest
from evaluation import assert_close, load_robot, robot_file, symbolic_values
from every_operation import OPERATIONS
from robots import general_robot, random_robot, random_state

import thunder_dynamics as td
from thunder_dynamics.build import Target, law_entry
from thunder_dynamics.cli import main
from thunder_dynamics.codegen.targets import arrays, cuda
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import build_law
from thunder_dynamics.model import RobotModel

VALUES = 1e-12  # the same operations in the same order, with the library's own sines
GRADIENTS = 1e-10  # another order of operations
BATCH = 3

ROBOTS: dict[str, Callable[[], RobotModel]] = {
    "panda": lambda: load_robot("panda"),
    "tree": lambda: random_robot(5, 6, tree=True),
    "floating base, all joints": lambda: general_robot(2, 5),
    "parameters at run time": lambda: load_robot("planar3r").with_symbolic("par_DYN", True),
}


class Jax:
    name: Target = "jax"

    def __init__(self) -> None:
        self.jax = pytest.importorskip("jax")

    def array(self, value: object) -> Any:
        return self.jax.numpy.asarray(value)

    def jacobian(self, function: Callable[[Any], Any], value: Any) -> np.ndarray:
        return np.asarray(self.jax.jacrev(function)(value))


class Torch:
    name: Target = "torch"

    def __init__(self) -> None:
        self.torch = pytest.importorskip("torch")

    def array(self, value: object) -> Any:
        return self.torch.as_tensor(value)

    def jacobian(self, function: Callable[[Any], Any], value: Any) -> np.ndarray:
        result: np.ndarray = self.torch.autograd.functional.jacobian(function, value).numpy()
        return result


@pytest.fixture(params=[Jax, Torch], ids=["jax", "torch"])
def backend(request: pytest.FixtureRequest) -> Iterator[Jax | Torch]:
    chosen = request.param()
    if chosen.name == "jax":
        chosen.jax.config.update("jax_enable_x64", True)
    yield chosen
    if chosen.name == "jax":
        chosen.jax.config.update("jax_enable_x64", False)


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def states(robot: RobotExpressions, name: str, count: int = BATCH) -> list[np.ndarray]:
    drawn = [random_state(robot.model, seed) for seed in range(count)]
    rows = {a: np.array([state[a] for state in drawn]) for a in drawn[0]}
    return [rows[a] if a in rows else symbolic_values(robot.model, a) for a in robot.signature(name)]


def casadi_rows(function: ca.Function, arguments: list[np.ndarray], count: int = BATCH) -> np.ndarray:
    given = [[ca.DM(a[i] if a.ndim > 1 else a) for a in arguments] for i in range(count)]
    return np.array([np.asarray(function.call(row)[0]) for row in given])


@pytest.mark.slow
@pytest.mark.parametrize("which", ROBOTS)
def test_functions_of_many_states_are_those_of_casadi(which: str, backend: Jax | Torch, tmp_path: Path) -> None:
    model = ROBOTS[which]()
    robot = RobotExpressions(model)
    names = ["inverse_dynamics", "forward_dynamics"] if model.nq == model.nv else []
    module = load(td.save_target(model, backend.name, tmp_path, functions=names))
    for name in (*(one for one in robot.functions if not one.startswith(("reg_", "par_DYN"))), *names):
        arguments = states(robot, name)
        result = np.asarray(getattr(module, name)(*map(backend.array, arguments)))
        function, is_matrix = robot.function(name), robot.spec(name).is_matrix
        rows, cols = function.size_out(0)
        shape = (rows, cols) if is_matrix or cols > 1 else (rows,)
        batch = (BATCH,) if any(a.ndim > 1 for a in arguments) else ()
        assert result.dtype == np.float64 and result.shape == batch + shape, name
        assert_close(result, casadi_rows(function, arguments)[: BATCH if batch else 1], VALUES)


@pytest.mark.slow
def test_batches_of_all_shapes_broadcast(backend: Jax | Torch, tmp_path: Path) -> None:
    model = load_robot("planar3r")
    module = load(td.save_target(model, backend.name, tmp_path))
    q, dq, dq_r, ddq_r = np.random.default_rng(1).uniform(-2, 2, (4, 2, 5, 3))
    full = np.asarray(module.Yr(*map(backend.array, (q, dq, dq_r, ddq_r))))
    assert full.shape == (2, 5, 3, 30)
    mixed = np.asarray(module.Yr(*map(backend.array, (q[:, :1], dq[0], dq_r, ddq_r[0, 0]))))
    assert_close(mixed[0, 0], full[0, 0], VALUES)
    assert np.asarray(module.M(backend.array(q[0, 0]))).shape == (3, 3)
    single = np.asarray(module.M(backend.array(q.astype(np.float32))))
    assert single.dtype == np.float32
    assert_close(single, np.asarray(module.M(backend.array(q))), 1e-6)
    with pytest.raises(ValueError, match=r"dq of shape \(2, 4\); valid: \(\.\.\., 3\)"):
        module.C(backend.array(q[0, 0]), backend.array(np.zeros((2, 4))))


@pytest.mark.slow
@pytest.mark.parametrize("which", ["panda", "tree"])
def test_derivatives_are_those_of_casadi(which: str, backend: Jax | Torch, tmp_path: Path) -> None:
    model = ROBOTS[which]()
    robot = RobotExpressions(model)
    module = load(td.save_target(model, backend.name, tmp_path, functions=["inverse_dynamics"]))
    for name in ("T_0_ee", "G", "inverse_dynamics"):
        arguments = [a[0] for a in states(robot, name)]
        q, *rest = map(backend.array, arguments)
        function = robot.function(name)
        symbols = [ca.SX.sym(a, function.size_in(k)) for k, a in enumerate(function.name_in())]
        by_rows = ca.vec(function(*symbols).T)
        expected = ca.Function("f", symbols, [ca.jacobian(by_rows, symbols[0])])(*arguments).full()
        derivative = backend.jacobian(lambda x, n=name, r=rest: getattr(module, n)(x, *r), q)
        assert_close(derivative.reshape(expected.shape), expected, GRADIENTS)


@pytest.mark.slow
def test_jax_compiles_maps_and_differentiates_forward(tmp_path: Path) -> None:
    jax = Jax().jax
    model = load_robot("planar3r")
    module = load(td.save_target(model, "jax", tmp_path))
    q = np.random.default_rng(3).uniform(-2, 2, (BATCH, 3)).astype(np.float32)
    expected = np.asarray(module.M(q))
    np.testing.assert_allclose(jax.jit(module.M)(q), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(jax.vmap(module.M)(q), expected, rtol=0, atol=1e-6)
    compiled = jax.jit(jax.vmap(jax.jacfwd(module.G)), compiler_options={"xla_disable_hlo_passes": "fusion"})
    np.testing.assert_allclose(compiled(q), jax.vmap(jax.jacrev(module.G))(q), rtol=0, atol=1e-5)


@pytest.mark.slow
def test_every_operation_is_that_of_casadi(backend: Jax | Torch, tmp_path: Path) -> None:
    file, model = tmp_path / "everything.py", load_robot("planar3r")
    file.write_text(OPERATIONS)
    function = _user_function(model, OPERATIONS, "everything")
    module = load(td.save_target(model, backend.name, tmp_path, user_functions=file))
    special = [[0.0, 0.0, 0.0], [1.0, -1.0, 2.0], [-0.5, -0.5, 0.1], [2.0, 2.0, -1.0]]
    q = np.array([*special, *np.random.default_rng(2).uniform(-3.0, 3.0, (200, 3))])
    result = np.asarray(module.everything(backend.array(q)))
    expected = casadi_rows(function, [q], len(q))[..., 0]
    # of the libraries' own tan, asin, erf, …: some units in the last place
    np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-15)


def _user_function(model: RobotModel, text: str, name: str) -> ca.Function:
    robot = RobotExpressions(model)
    scope: dict[str, Any] = {}
    exec(text, scope)
    scope["add_functions"](robot)
    return robot.function(name)


CHOICES = """
import casadi as ca

def add_functions(robot):
    x, y, z = ca.vertsplit(robot.symbol("q"))
    outputs = [ca.if_else(x > 0, ca.sqrt(x), 0), ca.if_else(y > 0, y / x, x * y), ca.if_else(z != 0, ca.sin(z) / z, 1)]
    outputs += [ca.if_else(x > 0, ca.if_else(y > 1, ca.log(x * y), 2), 3), ca.if_else(x > 0, ca.exp(1e6 * x), x)]
    robot.add_function("lambda", ca.vertcat(*outputs), ["q"], "Choices.")
"""


@pytest.mark.slow
def test_what_a_choice_leaves_out_makes_no_derivative_nan(backend: Jax | Torch, tmp_path: Path) -> None:
    (tmp_path / "choices.py").write_text(CHOICES)
    file = td.save_target(load_robot("planar3r"), backend.name, tmp_path, user_functions=tmp_path / "choices.py")
    function = load(file).lambda_
    derivative = backend.jacobian(function, backend.array(np.array([0.0, -1.0, 0.0])))
    expected = np.zeros((5, 3))
    expected[1, :2] = -1.0, 0.0
    expected[4, 0] = 1.0
    np.testing.assert_array_equal(derivative, expected)


@pytest.mark.slow
def test_a_law_steps_many_states_at_once(backend: Jax | Torch, tmp_path: Path) -> None:
    model = load_robot("planar3r")
    module = load(td.save_target(model, backend.name, tmp_path, ["slotine_li"]))
    law = build_law(law_entry("slotine_li"), RobotExpressions(model), {})
    defaults = module.DEFAULTS["law_slotine_li"]
    rng = np.random.default_rng(7)
    q, qd, effort = rng.uniform(-1, 1, (3, BATCH, 3))
    given = [q, qd, effort, np.zeros(0), rng.uniform(-1, 1, (BATCH, 9))]
    given += [np.array(defaults["state"]), np.array(defaults["gains"]), np.array([1e-3])]
    results = module.law_slotine_li(*map(backend.array, given))
    assert "gains: Lambda 0:3 [1/s]" in module.law_slotine_li.__doc__
    for i in range(BATCH):
        expected = law.step.call([ca.DM(one[i] if one.ndim > 1 else one) for one in given])
        for result, value in zip(results, expected, strict=True):
            assert_close(np.asarray(result)[i], value.full(), VALUES)


def test_the_files_of_both_libraries_differ_in_their_imports_alone(tmp_path: Path) -> None:
    """So that what runs in one runs in the other, where only one is installed; both are valid Python."""
    both: tuple[Target, ...] = ("jax", "torch")
    files = [td.save_target(load_robot("planar3r"), one, tmp_path) for one in both]
    texts = [file.read_text() for file in files]
    assert [file.name for file in files] == ["planar3r_jax.py", "planar3r_torch.py"]
    first, second = (text[text.index("\ndef _number(") :] for text in texts)
    assert first == second and "def Yr(q, dq, dq_r, ddq_r):" in first
    for text in texts:
        compile(text, "planar3r", "exec")


HOST = """
#include <math.h>
#include <string.h>
#define __device__
#define __global__
struct Index { int x; };
static Index blockIdx, blockDim, threadIdx;
static inline float __int_as_float(int bits) { float value; memcpy(&value, &bits, 4); return value; }
%s
extern "C" void run(const thunder_real* const* x, thunder_real* r, long long n) {
  blockDim.x = 2;
  for (blockIdx.x = 0; blockIdx.x < (n + 1) / 2; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < 2; ++threadIdx.x) %s;
}
"""


def on_the_host(file: Path, kernel: str, arguments: list[np.ndarray], size: int) -> np.ndarray:
    """What a kernel makes of states (n, …), by a C++ compiler: the rows of its results, column by column."""
    given = [np.ascontiguousarray(a.T) for a in arguments]
    call = f"{kernel}({', '.join(f'x[{k}]' for k in range(len(given)))}, r, n)"
    source, library = file.with_suffix(".cpp"), file.with_name(f"{kernel}.so")
    source.write_text(HOST % (file.read_text(), call))
    command = ["c++", "-std=c++14", "-O0", "-shared", "-fPIC", "-Wall", "-Werror", str(source), "-o", str(library)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    made = np.zeros((size, len(arguments[0])))
    pointers = (ctypes.c_void_p * len(given))(*(a.ctypes.data for a in given))
    run: Any = ctypes.CDLL(str(library)).run
    run(pointers, ctypes.c_void_p(made.ctypes.data), ctypes.c_longlong(len(arguments[0])))
    return made.T


@pytest.mark.slow
def test_a_kernel_gives_the_numbers_of_casadi(tmp_path: Path) -> None:
    """Without a GPU: the text is C++ but for its qualifiers and the number of the thread."""
    file, model = tmp_path / "everything.py", load_robot("planar3r")
    file.write_text(OPERATIONS)
    robot = RobotExpressions(model)
    kernels = td.save_target(model, "cuda", tmp_path, user_functions=file)
    for name in ("Yr", "C"):
        arguments = states(robot, name)
        function = robot.function(name)
        found = on_the_host(kernels, f"planar3r_{name}", arguments, function.numel_out(0))
        assert_close(found, casadi_rows(function, arguments).swapaxes(1, 2).reshape(BATCH, -1), VALUES)
    q = np.random.default_rng(2).uniform(-3.0, 3.0, (51, 3))
    expected = casadi_rows(_user_function(model, OPERATIONS, "everything"), [q], len(q))[..., 0]
    found = on_the_host(kernels, "planar3r_everything", [q], expected.shape[1])
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
def test_nvrtc_compiles_the_kernels_of_a_panda(single: bool, tmp_path: Path) -> None:
    if importlib.util.find_spec("nvidia") is None or importlib.util.find_spec("nvidia.cuda_nvrtc") is None:
        pytest.skip("nvidia-cuda-nvrtc-cu12 is not installed")
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    assert spec is not None and spec.submodule_search_locations is not None
    (folder,) = spec.submodule_search_locations
    nvrtc = ctypes.CDLL(str(Path(folder) / "lib/libnvrtc.so.12"))
    source = td.save_target(load_robot("panda"), "cuda", tmp_path, ["computed_torque"]).read_bytes()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"panda.cu", 0, None, None) == 0
    options = [b"--gpu-architecture=compute_90", *([b"-DTHUNDER_SINGLE"] if single else [])]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    assert status == 0, log.value.decode()
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    assert b".entry panda_M(" in ptx.value and b".entry panda_law_computed_torque(" in ptx.value


def test_an_operation_that_a_target_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (arrays.OPERATIONS, cuda.OPERATIONS):
        monkeypatch.delitem(table, ca.OP_COS)
    languages: dict[Target, str] = {"jax": "JAX", "torch": "PyTorch", "cuda": "CUDA"}
    for target, language in languages.items():
        with pytest.raises(td.ThunderError, match=f"T_0_1: CasADi's operation {ca.OP_COS} has no {language}; valid"):
            td.save_target(load_robot("planar3r"), target, tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_the_command_writes_one_file_and_says_what_it_is_not_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["gen", str(robot_file("planar3r")), "-o", str(tmp_path)]
    main([*arguments, "--target", "cuda", "--function", "inverse_dynamics"])
    assert capsys.readouterr().out == f"{tmp_path / 'planar3r.cu'}\n" and os.listdir(tmp_path) == ["planar3r.cu"]
    assert "planar3r_inverse_dynamics(" in (tmp_path / "planar3r.cu").read_text()
    for option in ("--lanes", "--portable"):
        with pytest.raises(SystemExit):
            main([*arguments, "--target", "jax", option])
        assert f"--target jax: {option} is of the compiled library; valid: --target c" in capsys.readouterr().err
    with pytest.raises(td.ThunderError, match="no target 'cpp'; valid: jax, torch, cuda"):
        td.save_target(load_robot("planar3r"), "cpp", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(td.ThunderError, match=r"planar3r\.cu: the output cannot be written"):
        td.save_target(load_robot("planar3r"), "jax", tmp_path / "planar3r.cu")
