#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recipe for containers: Dockerfile and DaemonSet are right, and the DaemonSet's rights and volumes are enough for its scripts, with
# the static program alone in a root directory as the image has it.
#   tests/programs/container.sh BUILD
set -u
build=$(cd "${1:?usage: container.sh BUILD}" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/programs/recording.bash"
begin_test container
modules=
for place in /usr/lib/node_modules /usr/local/lib/node_modules; do
    [ ! -e $place/kubernetes-models ] || [ ! -e $place/dockerfile-utils ] || [ ! -e $place/yaml ] || modules=$place
done
[ -n "$modules" ] || { echo "skip everything: npm did not bring what reads it" && exit 0; }
node "$root/tests/programs/container_lint.mjs" "$root/packaging/container" "$modules" >wrong 2>&1
if [ -s wrong ]; then
    echo "not ok the recipe has mistakes:"
    cat wrong
else
    echo "ok the recipe has no mistake"
fi
sed 's/appArmorProfile/appArmorProfil/; s/hostPID: true/hostPID: "yes"/' "$root/packaging/container/kubernetes.yaml" >kubernetes.yaml
sed 's/^FROM scratch/FORM scratch/' "$root/packaging/container/Dockerfile" >Dockerfile
mkdir other
(cd other && node "$root/tests/programs/container_lint.mjs" .. "$modules") | cut -d : -f 1 | sort -u | tr '\n' ' ' >wrong
if [ "$(cat wrong)" = "DaemonSet DaemonSet/spec/template/spec/hostPID Dockerfile " ]; then echo "ok mistakes would be seen"; else
    echo "not ok mistakes would be seen: $(cat wrong)"
fi
rm -rf other kubernetes.yaml Dockerfile

[ "$(id -u)" = 0 ] || { echo "skip running it: needs root" && exit 0; }
! nm "$build/spoor" 2>/dev/null | grep -q __asan_init || { echo "skip running it: sanitizers are shared libraries" && exit 0; }
make -s -C "$root" BUILD="$build" static || exit 1
nm "$build/gen/microhttpd.o" | grep -q MHD_start_daemon || { echo "skip running it: there is no archive of libmicrohttpd" && exit 0; }
unshare --mount --net --cgroup --ipc --uts python3 "$root/tests/programs/container.py" "$build"
