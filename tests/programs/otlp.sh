#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report --otlp and record --otlp: what a receiver of OpenTelemetry gets is what was recorded, and what a receiver does harms
# nobody.
#   tests/programs/otlp.sh BUILD [PART]
set -u
. "$(dirname "$0")/otlp.bash" otlp "$@"
