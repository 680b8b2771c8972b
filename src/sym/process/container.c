/* SPDX-License-Identifier: BSD-3-Clause */
#include "sym/process/container.h"

#include <ctype.h>
#include <string.h>

enum { ID_DIGITS = 64, UID_LENGTH = 36, UID_DIGITS = 32 };

static bool is_digit(char c)
{
    return c && strchr("0123456789abcdef", c);
}

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

bool container_find(const char *cgroup, struct container *out)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        const char *at = strstr(cgroup, named[i].before);
        if (!at)
            continue;
        at += strlen(named[i].before);
        *out = (struct container){named[i].shown, at, strcspn(at, named[i].ends), false};
        return true;
    }
    for (const char *at = cgroup; *at; at++) {
        if ((at > cgroup && isxdigit((unsigned char)at[-1])) || !is_id(at))
            continue;
        *out = (struct container){strstr(cgroup, "kubepods") ? "pod" : "container", at, ID_DIGITS, true};
        for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++) {
            const size_t length = strlen(numbered[i].before);
            if ((size_t)(at - cgroup) >= length && !memcmp(at - length, numbered[i].before, length))
                out->runtime = numbered[i].shown;
        }
        return true;
    }
    return false;
}

/* The length of a uid at a place: 8-4-4-4-12 digits, for which systemd has underscores in the place of hyphens; or, of pods that
 * a node starts by itself, 32 digits. 0: there is none. */
static size_t uid_length(const char *at)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    size_t length = 0;
    while (length < UID_LENGTH &&
           (form[length] == 'x' ? is_digit(at[length]) : at[length] == '-' || at[length] == '_'))
        length++;
    if (length == UID_LENGTH)
        return length;
    return strspn(at, "0123456789abcdef") == UID_DIGITS ? UID_DIGITS : 0;
}

bool container_pod(const char *cgroup, struct text *out)
{
    static const char before[] = "pod";
    for (const char *at = strstr(cgroup, "kubepods"); at && (at = strstr(at, before)); at++) {
        const char *uid = at + sizeof before - 1;
        const size_t length = at[-1] == '/' || at[-1] == '-' ? uid_length(uid) : 0;
        for (size_t i = 0; i < length; i++)
            text_char(out, uid[i] == '_' ? '-' : uid[i]);
        if (length)
            return true;
    }
    return false;
}
