#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --otlp of a script: its maps are metrics, its lines and problems log records, and what a receiver does harms nobody.
#   tests/programs/otlp_trace.sh BUILD [PART]
set -u
. "$(dirname "$0")/otlp.bash" otlp_trace "$@"
