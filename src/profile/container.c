/* SPDX-License-Identifier: BSD-3-Clause */
/* Containers, as those who run them name their control groups. */
#include <ctype.h>
#include <string.h>

#include "profile/profile.h"

enum { ID_DIGITS = 64, ID_SHOWN = 12 };

/* Whether an id of 64 hexadecimal digits is at a place. */
static bool is_id(const char *at)
{
    return strspn(at, "0123456789abcdef") == ID_DIGITS;
}

/* Names behind which a container's own name stands, up to one of `ends`. */
static const struct {
    const char *before, *ends, *shown;
} named[] = {
    {"/lxc.payload.", "/", "lxc"},
    {"/lxc/", "/", "lxc"},
    {"/machine-", "./", "machine"},
    {"/machine.slice/systemd-nspawn@", ".", "nspawn"},
};

/* Names before an id. */
static const struct {
    const char *before, *shown;
} numbered[] = {
    {"docker-", "docker"},        {"docker/", "docker"}, {"cri-containerd-", "containerd"},
    {"crio-", "cri-o"},           {"libpod-", "podman"}, {"libpod_parent/libpod-", "podman"},
    {"containerd", "containerd"},
};

bool profile_container(struct text *out, const char *cgroup)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        const char *at = strstr(cgroup, named[i].before);
        if (!at)
            continue;
        at += strlen(named[i].before);
        text_printf(out, "%s %.*s", named[i].shown, (int)strcspn(at, named[i].ends), at);
        return true;
    }
    for (const char *at = cgroup; *at; at++) {
        if ((at > cgroup && isxdigit((unsigned char)at[-1])) || !is_id(at))
            continue;
        const char *shown = strstr(cgroup, "kubepods") ? "pod" : "container";
        for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++) {
            const size_t length = strlen(numbered[i].before);
            if ((size_t)(at - cgroup) >= length && !memcmp(at - length, numbered[i].before, length))
                shown = numbered[i].shown;
        }
        text_printf(out, "%s %.*s", shown, ID_SHOWN, at);
        return true;
    }
    return false;
}
