# SPDX-License-Identifier: BSD-3-Clause
# For the tests of --otlp, which source it with the name of the test and its arguments: runs the parts in NAME.py.
name=$1
shift
build=$(cd "${1:?usage: $name.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "skip everything: there is no python3" && exit 0; }
. "$root/tests/programs/recording.bash"
begin_test "$name"
if [ ! -e "$build/libspoor.a" ]; then
    echo "skip everything: $build/libspoor.a is not built"
    exit 0
fi
cp "$build"/targets/{recording,otlp_writer} . || exit 1
export SPOOR_TRACE_DIR=$dir LC_ALL=C.UTF-8
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY
# Of OpenTelemetry's packages for JavaScript this version is one that decodes requests, by the definitions of the protocol.
for decoder in /usr/lib/node_modules /usr/local/lib/node_modules; do
    decoder=$decoder/@opentelemetry/otlp-transformer/build/src/generated/root.js
    [ ! -e "$decoder" ] || export OTEL_DECODER=$decoder
done
python3 "$root/tests/programs/$name.py" "$root" "$build" "${@:2}"
