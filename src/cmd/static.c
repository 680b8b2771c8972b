/* SPDX-License-Identifier: BSD-3-Clause */
/* Only in the program that `make static` makes: what a program without shared libraries has in the place of the C
 * library's functions that load some. Users and groups are those of /etc/passwd and /etc/group; of the libraries that
 * are opened by name, those are there that were linked. The linker takes these definitions before the C library's. */
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <lzma.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- libraries ---- */

/* Of libmicrohttpd the addresses alone are needed. They are NULL where there is no archive of it to link. */
#define MHD(name) extern char name[] __attribute__((weak))
MHD(MHD_start_daemon);
MHD(MHD_stop_daemon);
MHD(MHD_run);
MHD(MHD_get_timeout);
MHD(MHD_get_daemon_info);
MHD(MHD_lookup_connection_value);
MHD(MHD_create_response_from_buffer);
MHD(MHD_add_response_header);
MHD(MHD_queue_response);
MHD(MHD_destroy_response);

/* Stands for every function of GnuTLS in libmicrohttpd, which calls them for encryption that spoor never asks for. */
int no_tls(void);
int no_tls(void)
{
    return -1;
}

static const char lzma[] = "liblzma.so.5", microhttpd[] = "libmicrohttpd.so.12";
#define FUNCTION(library, name)                                                                              \
    {                                                                                                        \
        library, #name, (void *)(name)                                                                       \
    }
static const struct function {
    const char *file, *name;
    void *address;
} functions[] = {
    FUNCTION(lzma, lzma_stream_buffer_decode),
    FUNCTION(microhttpd, MHD_start_daemon),
    FUNCTION(microhttpd, MHD_stop_daemon),
    FUNCTION(microhttpd, MHD_run),
    FUNCTION(microhttpd, MHD_get_timeout),
    FUNCTION(microhttpd, MHD_get_daemon_info),
    FUNCTION(microhttpd, MHD_lookup_connection_value),
    FUNCTION(microhttpd, MHD_create_response_from_buffer),
    FUNCTION(microhttpd, MHD_add_response_header),
    FUNCTION(microhttpd, MHD_queue_response),
    FUNCTION(microhttpd, MHD_destroy_response),
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Returns the library's name as its handle. */
void *dlopen(const char *file, int mode)
{
    (void)mode;
    for (int i = 0; file && i < FUNCTIONS; i++)
        if (!strcmp(file, functions[i].file) && functions[i].address)
            return (void *)functions[i].file;
    return NULL;
}

void *dlsym(void *library, const char *name)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (library == functions[i].file && !strcmp(name, functions[i].name))
            return functions[i].address;
    return NULL;
}

int dlclose(void *library)
{
    (void)library;
    return 0;
}

char *dlerror(void)
{
    return "this program is linked statically";
}

/* ---- users ---- */

/* Finds an entry by its name or, if there is none, by its number. Returns 0 or an error number. */
static int find_user(const char *name, uid_t uid, struct passwd *entry, char *bytes, size_t size,
                     struct passwd **found)
{
    FILE *file = fopen("/etc/passwd", "re");
    int error = file ? 0 : errno;
    bool is_it = false;
    while (!error && !is_it && !(error = fgetpwent_r(file, entry, bytes, size, found)))
        is_it = name ? !strcmp(name, entry->pw_name) : uid == entry->pw_uid;
    if (!is_it)
        *found = NULL;
    if (file)
        fclose(file);
    return error == ENOENT ? 0 : error; /* also the end of the file */
}

int getpwuid_r(uid_t uid, struct passwd *entry, char *bytes, size_t size, struct passwd **found)
{
    return find_user(NULL, uid, entry, bytes, size, found);
}

static struct passwd *find_user_and_keep(const char *name, uid_t uid)
{
    static struct passwd entry;
    static char bytes[4096];
    struct passwd *found;
    errno = find_user(name, uid, &entry, bytes, sizeof bytes, &found);
    return found;
}

struct passwd *getpwuid(uid_t uid)
{
    return find_user_and_keep(NULL, uid);
}

struct passwd *getpwnam(const char *name)
{
    return find_user_and_keep(name, 0);
}

/* ---- groups ---- */

int getgrgid_r(gid_t gid, struct group *entry, char *bytes, size_t size, struct group **found)
{
    FILE *file = fopen("/etc/group", "re");
    int error = file ? 0 : errno;
    bool is_it = false;
    while (!error && !is_it && !(error = fgetgrent_r(file, entry, bytes, size, found)))
        is_it = gid == entry->gr_gid;
    if (!is_it)
        *found = NULL;
    if (file)
        fclose(file);
    return error == ENOENT ? 0 : error;
}

static bool has_member(const struct group *entry, const char *user)
{
    for (char **member = entry->gr_mem; *member; member++)
        if (!strcmp(*member, user))
            return true;
    return false;
}

int initgroups(const char *user, gid_t group)
{
    enum { GROUPS = 65536 /* as many as the kernel lets a process have */, LINE = 1 << 20 };
    FILE *file = fopen("/etc/group", "re");
    struct group entry, *found;
    gid_t *groups = calloc(GROUPS, sizeof *groups);
    char *line = malloc(LINE);
    size_t count = 0;
    int error = groups && line ? 0 : ENOMEM;
    if (!error)
        groups[count++] = group;
    while (!error && file && count < GROUPS && !(error = fgetgrent_r(file, &entry, line, LINE, &found)))
        if (entry.gr_gid != group && has_member(&entry, user))
            groups[count++] = entry.gr_gid;
    if (!error || error == ENOENT)
        error = setgroups(count, groups) ? errno : 0;
    free(groups);
    free(line);
    if (file)
        fclose(file);
    errno = error;
    return error ? -1 : 0;
}
