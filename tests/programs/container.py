# SPDX-License-Identifier: BSD-3-Clause
# Runs the static program as the DaemonSet says: container.py BUILD, in name spaces of its own, in a directory that has DaemonSet.json
# and ConfigMap.json.
import ctypes
import http.client
import json
import os
import re
import subprocess
import sys
import time

from waiting import until

build, here = sys.argv[1], os.getcwd()
with open("DaemonSet.json") as file:
    pod = json.load(file)["spec"]["template"]["spec"]
with open("ConfigMap.json") as file:
    scripts = json.load(file)["data"]
container = pod["containers"][0]
security = container["securityContext"]
image = os.path.join(here, "image")
# Numbers of Linux' capabilities.
CAPABILITIES = {"DAC_READ_SEARCH": 2, "SYS_PTRACE": 19, "SYSLOG": 34, "PERFMON": 38, "BPF": 39}
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, CAP_SETPCAP, LAST = 24, 38, 8, 63
libc = ctypes.CDLL(None)


def result(name, problem):
    print(f"not ok {name}: {problem}" if problem else "ok " + name, flush=True)


def run(*command):
    subprocess.run(command, check=True)


def mount_image():
    run("ip", "link", "set", "lo", "up")
    run("mount", "--make-rprivate", "/")
    os.path.ismount("/sys/kernel/tracing") or run("mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing")
    os.mkdir(image)
    run("mount", "-t", "tmpfs", "tmpfs", image)
    for name in "proc", "sys", "dev", "scripts", "volume":
        os.mkdir(os.path.join(image, name))
    run("cp", os.path.join(build, "spoor-static"), os.path.join(image, "spoor"))
    run("mount", "-t", "proc", "-o", "ro", "proc", image + "/proc")
    run("mount", "-t", "sysfs", "-o", "ro", "sysfs", image + "/sys")
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in pod["volumes"] if "hostPath" in volume}
    for mount in container["volumeMounts"]:
        if mount["name"] in paths:
            run("mount", "--bind", paths[mount["name"]], image + mount["mountPath"])
            run("mount", "-o", "remount,ro,bind", image + mount["mountPath"])


def mount_groups():
    """Where groups of version 2 are not the only ones, they are mounted for the image. Returns where a group can be made."""
    with open("/proc/mounts") as file:
        mounts = [line.split() for line in file]
    if ["/sys/fs/cgroup", "cgroup2"] in [mount[1:3] for mount in mounts]:
        return "/sys/fs/cgroup"
    groups = here + "/groups"
    os.mkdir(groups)
    if subprocess.run(["mount", "-t", "cgroup2", "none", groups], stderr=subprocess.DEVNULL).returncode:
        return None
    run("mount", "--bind", groups, image + "/sys/fs/cgroup")
    return groups


def write_scripts(volume, generation, texts):
    """As the kubelet writes a ConfigMap: a directory for each generation, and a link that is exchanged."""
    directory = os.path.join(volume, "..generation" + str(generation))
    os.mkdir(directory, 0o755)
    for name, text in texts.items():
        with open(os.path.join(directory, name), "w") as file:
            file.write(text)
        link = os.path.join(volume, name)
        os.path.lexists(link) or os.symlink("..data/" + name, link)
    os.symlink(os.path.basename(directory), volume + "/..data_tmp")
    os.rename(volume + "/..data_tmp", volume + "/..data")


def mount_scripts():
    volume = here + "/volume"
    os.mkdir(volume)
    run("mount", "-t", "tmpfs", "-o", "mode=0777", "tmpfs", volume)
    write_scripts(volume, 1, scripts)
    run("mount", "--bind", volume, image + "/scripts")
    run("mount", "-o", "remount,ro,bind", image + "/scripts")
    return volume


def enter():
    os.chroot(image)
    os.chdir("/")
    keep = {CAPABILITIES[name] for name in security["capabilities"]["add"]}
    for capability in [number for number in range(LAST + 1) if number not in keep | {CAP_SETPCAP}] + [CAP_SETPCAP]:
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def start(*arguments):
    return subprocess.Popen(["/spoor", *arguments], preexec_fn=enter, env={}, stdin=subprocess.DEVNULL,
                            stdout=open("out", "w"), stderr=open("err", "w"))


def said():
    with open("err") as file:
        return file.read()


def page():
    probe = container["readinessProbe"]["httpGet"]
    port = {port["name"]: port["containerPort"] for port in container["ports"]}[probe["port"]]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", probe["path"])
        answer = connection.getresponse()
        return answer.read().decode() if answer.status == 200 else ""
    except OSError:
        return ""
    finally:
        connection.close()


mount_image()
groups = mount_groups()
volume = mount_scripts()
run("mount", "-o", "remount,ro", image)
served = start(*container["args"])
names = [name.removesuffix(".bt") for name in scripts]
all_up = lambda: all(f'spoor_serve_script_up{{script="{name}"}} 1' in page() for name in names)
result("its rights and volumes are enough for all scripts", None if until(all_up) else said() + page())


def counted():
    run("true")
    return re.search(r'^spoor_programs_started_total\{script="programs",container="[^"]*",pod="[^"]*"\} [1-9]', page(), re.M)


result("programs that start are counted", None if until(counted) else page())
group = "kubepods/besteffort/pod1b2c3d4e-0000-1111-2222-333344445555/" + "0123456789abcdef" * 4
if groups:
    os.makedirs(os.path.join(groups, group))
    join = lambda: open(os.path.join(groups, group, "cgroup.procs"), "w").write("0")
    subprocess.run(["true"], preexec_fn=join, check=True)
    series = 'container="%s",pod="%s"} 1' % (os.path.basename(group), group.split("pod")[2][:36])
    result("with the names of container and pod", None if until(lambda: series in page()) else page())
    while group:
        os.rmdir(os.path.join(groups, group))
        group = os.path.dirname(group)
else:
    print("skip names of containers: groups of version 2 cannot be mounted")
write_scripts(volume, 2, {**scripts, "network.bt": "interval:ms:100 { @again = count(); }"})
result("a ConfigMap that changes is read again", None if until(lambda: "spoor_network_again_total" in page()) else said() + page())
served.terminate()
result("it ends when the pod does", None if served.wait(30) == 0 else said())

arguments = [argument for argument in container["args"] if argument != "--trust-read-only"]
served = start(*arguments)
told = until(lambda: "may be written by everybody (mode 777)" in said())
result("without --trust-read-only the volume's mode is told", None if told and "--trust-read-only" in said() else said())
served.terminate()
served.wait(30)
run("mount", "-o", "remount,rw,bind", image + "/scripts")
served = start(*container["args"])
result("and with it, where it is mounted for writing", None if until(lambda: "may be written by everybody" in said()) else said())
served.terminate()
served.wait(30)
