/* SPDX-License-Identifier: BSD-3-Clause */
/* What `spoor doctor` looks at in a program or library: whether probes can be put there by name, whether arguments
 * and types are known, whether stacks lead through it, and which processes have it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "cmd/command.h"
#include "cmd/doctor.h"
#include "sym/dwarf/cfi.h"
#include "sym/dwarf/dwarf.h"
#include "sym/elf/debug_file.h"
#include "sym/elf/elf.h"
#include "sym/elf/usdt.h"
#include "sym/process/mapped_file.h"
#include "sym/process/proc.h"

struct binary {
    const char *path, *seen; /* as spoor opens it, and as its process sees it */
    pid_t pid;               /* of -p; 0: none */
    struct elf_file *file;
    size_t functions;           /* that have names in the file itself */
    enum dwarf_place described; /* where its debug information is */
};

static int count_function(void *context, const struct elf_symbol *symbol)
{
    size_t *count = context;
    (void)symbol;
    ++*count;
    return 0;
}

static bool has_section(const struct elf_file *file, const char *name)
{
    struct elf_section section;
    return elf_file_section_named(file, name, &section);
}

/* ---- the file ---- */

static void check_file(struct doctor *doctor, void *thing)
{
    const struct binary *binary = thing;
    if (elf_file_machine(binary->file) == machine_here())
        doctor_find(doctor, DOCTOR_OK, "an ELF file for this machine");
    else
        doctor_find(doctor, DOCTOR_PROBLEM,
                    "an ELF file for another kind of machine: no process here runs it");
}

static void check_build_id(struct doctor *doctor, void *thing)
{
    const struct binary *binary = thing;
    struct text text = {0};
    size_t size = 0;
    const uint8_t *id = elf_file_build_id(binary->file, &size);
    for (size_t i = 0; id && i < size; i++)
        text_printf(&text, "%02x", id[i]);
    if (id) {
        doctor_find(doctor, DOCTOR_OK, "%s", text_string(&text));
    } else {
        doctor_find(doctor, DOCTOR_WARNING,
                    "none: a separate file with debug information is found by its name and checksum only");
        doctor_advise(doctor, "link it with -Wl,--build-id");
    }
    text_free(&text);
}

/* ---- names ---- */

static void check_symbols(struct doctor *doctor, void *thing)
{
    struct binary *binary = thing;
    struct elf_file *data = NULL;
    void *bytes = NULL;
    const bool is_whole = has_section(binary->file, ".symtab");
    const int error = elf_file_each_function(binary->file, NULL, count_function, &binary->functions);
    if (error) {
        doctor_find(doctor, DOCTOR_PROBLEM, "they cannot be read: %s", strerror(-error));
    } else if (is_whole) {
        doctor_find(doctor, DOCTOR_OK, "%zu functions have names", binary->functions);
    } else if (!debug_data_open(binary->file, &bytes, &data)) {
        size_t more = 0;
        elf_file_each_function(data, NULL, count_function, &more);
        doctor_find(doctor, DOCTOR_OK,
                    "stripped; %zu functions have names, and %zu more in .gnu_debugdata, for stacks",
                    binary->functions, more);
    } else if (binary->described != DWARF_PLACE_NONE) {
        doctor_find(doctor, DOCTOR_OK, "stripped; the functions have their names in its debug information");
    } else {
        if (binary->functions)
            doctor_find(doctor, DOCTOR_WARNING,
                        "stripped: only the %zu functions that it exports or calls have names, for uprobe "
                        "and in stacks",
                        binary->functions);
        else
            doctor_find(doctor, DOCTOR_WARNING, "stripped: no function has a name, for uprobe or in stacks");
        doctor_advise(doctor, "install its debug information, as above; or take the file before `strip`");
        doctor_advise(doctor, "by address: uprobe:%s:0x…", binary->seen);
    }
    elf_file_close(data);
    free(bytes);
}

/* Finds the value of a key of /etc/os-release; "" if there is none. */
static const char *os_release(struct doctor *doctor, const char *key)
{
    struct text text = {0};
    const char *value = "";
    const size_t length = strlen(key);
    if (!command_read_text("/etc/os-release", &text))
        for (const char *line = text_string(&text); line;
             line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
            if (!strncmp(line, key, length) && line[length] == '=') {
                line += length + 1;
                line += *line == '"';
                value = arena_copy(&doctor->arena, line, strcspn(line, "\"\n"));
                break;
            }
    text_free(&text);
    return value;
}

/* Says where a distribution has the debug information of its programs. */
static void advise_package(struct doctor *doctor, const struct binary *binary)
{
    static const struct distribution {
        const char *name, *servers, *package;
        bool knows_old_paths; /* /usr/bin/x may be a file /bin/x to its packages */
    } distributions[] = {
        {"debian", "https://debuginfod.debian.net",
         "apt install $(dpkg -S '*%s' | cut -d: -f1)-dbgsym, from debian-debug", true},
        {"ubuntu", "https://debuginfod.ubuntu.com",
         "apt install $(dpkg -S '*%s' | cut -d: -f1)-dbgsym, from ddebs.ubuntu.com", true},
        {"fedora", "https://debuginfod.fedoraproject.org", "dnf debuginfo-install $(rpm -qf %s)", false},
        {"arch", "https://debuginfod.archlinux.org", NULL, false},
        {"", "https://debuginfod.elfutils.org", NULL, false},
    };
    const char *name = os_release(doctor, "ID"), *like = os_release(doctor, "ID_LIKE");
    const struct distribution *here = distributions;
    while (*here->name && strcmp(here->name, name) != 0 && !strstr(like, here->name))
        here++;
    size_t size;
    if (elf_file_build_id(binary->file, &size) && dwarf_servers() == DWARF_SERVERS_NONE)
        doctor_advise(doctor, "export DEBUGINFOD_URLS=%s: it is fetched when it is needed", here->servers);
    if (here->package) {
        char *real = binary->pid ? NULL : realpath(binary->path, NULL);
        const char *path = arena_strdup(&doctor->arena, real ? real : binary->seen);
        free(real);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        doctor_advise(doctor, here->package,
                      here->knows_old_paths && !strncmp(path, "/usr/", 5) ? path + 4 : path);
#pragma GCC diagnostic pop
    }
}

static bool is_of_distribution(const char *path)
{
    static const char *const places[] = {"/usr/local/", "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!strncmp(path, places[i], strlen(places[i])))
            return i > 0;
    return false;
}

static void check_debug_information(struct doctor *doctor, void *thing)
{
    struct binary *binary = thing;
    struct text found = {0};
    size_t size;
    binary->described = dwarf_find_place(binary->file, binary->path, &found);
    if (binary->described == DWARF_PLACE_PROGRAM) {
        doctor_find(doctor, DOCTOR_OK, "in the file itself");
    } else if (binary->described == DWARF_PLACE_FILE) {
        doctor_find(doctor, DOCTOR_OK, "%s", text_string(&found));
    } else if (elf_file_build_id(binary->file, &size) && dwarf_servers() == DWARF_SERVERS_ASKED) {
        doctor_find(doctor, DOCTOR_OK, "not here; debuginfod is asked for it when it is needed");
    } else {
        doctor_find(
            doctor, DOCTOR_WARNING,
            "none: arguments have no names and types, and stacks no lines; BINARY@FILE:LINE is no place");
        if (is_of_distribution(binary->seen))
            advise_package(doctor, binary);
        else
            doctor_advise(doctor, "compile it with -g");
        doctor_advise(doctor, "--debuginfo DIRECTORY, if it is on this machine somewhere else");
    }
    text_free(&found);
}

/* ---- stacks ---- */

/* Returns how much of the code that call frame information describes keeps frame pointers, in percent. */
static unsigned with_frame_pointer(const struct cfi_rows *rows)
{
    uint64_t all = 0, with = 0;
    for (size_t i = 0; i + 1 < rows->count; i++) {
        const unsigned kind = rows->items[i].rule & ((1U << CFI_KIND_BITS) - 1);
        const uint64_t bytes = rows->items[i + 1].place - rows->items[i].place;
        const bool is_known = kind != CFI_UNKNOWN && kind != CFI_END && kind != CFI_PLT;
        all += is_known ? bytes : 0;
        with += kind == CFI_BP ? bytes : 0;
    }
    return all ? (unsigned)(100 * with / all) : 0;
}

static void check_stacks(struct doctor *doctor, void *thing)
{
    enum {
        MOST = 50
    }; /* percent: without frame pointers only functions with arrays of variable size keep one */
    struct binary *binary = thing;
    struct cfi_rows rows = {0};
    const int error = cfi_read(binary->file, &rows);
    const unsigned percent = error ? 0 : with_frame_pointer(&rows);
    if (error == -ENOTSUP) {
        doctor_find(doctor, DOCTOR_OK,
                    "ustack follows frame pointers, which compilers for this machine keep");
    } else if (error || !rows.count) {
        doctor_find(doctor, DOCTOR_WARNING,
                    "no .eh_frame: dw_ustack ends here; ustack goes on if the code keeps frame pointers");
        doctor_advise(doctor,
                      "compile it with -fasynchronous-unwind-tables, or with -fno-omit-frame-pointer");
    } else if (percent >= MOST) {
        doctor_find(doctor, DOCTOR_OK, "%u %% of the code keeps frame pointers: ustack and dw_ustack go on",
                    percent);
    } else {
        doctor_find(doctor, DOCTOR_WARNING,
                    "%u %% of the code keeps frame pointers: ustack ends here, or passes over callers; "
                    "dw_ustack goes "
                    "on by .eh_frame",
                    percent);
        doctor_advise(doctor, "dw_ustack, or ustack(dwarf), in the place of ustack");
        doctor_advise(doctor, "compile it with -fno-omit-frame-pointer");
    }
    if (!error)
        cfi_free(&rows);
}

/* ---- USDT probes ---- */

static void check_usdt(struct doctor *doctor, void *thing)
{
    const struct binary *binary = thing;
    struct usdt_probes probes;
    const int error = usdt_read(binary->file, &probes);
    if (error) {
        doctor_find(doctor, DOCTOR_WARNING, "the notes about them cannot be read: %s", strerror(-error));
        return;
    }
    size_t names = 0;
    for (size_t i = 0; i < probes.count; i++)
        names += !i || strcmp(probes.sites[i].name, probes.sites[i - 1].name) != 0 ||
                 strcmp(probes.sites[i].provider, probes.sites[i - 1].provider) != 0;
    if (probes.damaged)
        doctor_find(doctor, DOCTOR_WARNING, "%zu; %zu notes make no sense and are left out", names,
                    probes.damaged);
    else if (names)
        doctor_find(doctor, DOCTOR_OK, "%zu, in %zu places: spoor list -l %s", names, probes.count,
                    binary->seen);
    else
        doctor_find(doctor, DOCTOR_OK, "none");
    usdt_free(&probes);
}

/* ---- processes ---- */

enum { SHOWN = 8 };
struct users {
    const struct binary *binary;
    struct stat status;
    char *real;
    size_t same, others,
        hidden; /* how many have it, have another file of its name, or may not be looked at */
    struct text pids;
    pid_t other;
    bool other_is_deleted;
};

static uint64_t maps_device(dev_t device)
{
    return (uint64_t)major(device) << 32 | minor(device);
}

/* Whether a mapping is of the file; *is_named: it is, or it is of another file with the same name. */
static bool is_mapping_of(const struct users *users, const struct proc_mapping *mapping, bool *is_named)
{
    const int descriptor = elf_file_descriptor(users->binary->file);
    const bool has_numbers =
        mapping->inode == users->status.st_ino && mapping->device == maps_device(users->status.st_dev);
    *is_named = !strcmp(mapping->path, users->real);
    return has_numbers || (*is_named && mapped_file_is(descriptor, mapping->device, mapping->inode));
}

static int see_process(void *context, pid_t pid)
{
    struct users *users = context;
    struct proc_maps maps;
    bool is_same = false, is_named = false, is_other = false, is_deleted = false;
    const int error = proc_maps_read(pid, &maps);
    users->hidden += error == -EACCES || error == -EPERM;
    if (error)
        return 0;
    for (size_t i = 0; i < maps.count && !is_same; i++)
        if (maps.items[i].executable) {
            is_same = is_mapping_of(users, &maps.items[i], &is_named);
            is_other |= is_named;
            is_deleted |= is_named && maps.items[i].is_deleted;
        }
    proc_maps_free(&maps);
    if (is_same && users->same++ < SHOWN)
        text_printf(&users->pids, "%s%d", users->same > 1 ? ", " : "", (int)pid);
    if (!is_same && is_other && !users->others++) {
        users->other = pid;
        users->other_is_deleted = is_deleted;
    }
    return 0;
}

static void find_others(struct doctor *doctor, const struct users *users)
{
    const int other = (int)users->other;
    doctor_find(doctor, DOCTOR_WARNING, "%zu process%s, such as %d, %s another file of this name%s",
                users->others, users->others == 1 ? "" : "es", other, users->others == 1 ? "has" : "have",
                users->other_is_deleted
                    ? ", which has been replaced since: probes in this one do not fire there"
                    : " in a root of its own, as in a container: probes in this one do not fire there");
    if (users->other_is_deleted)
        doctor_advise(doctor, "restart it");
    doctor_advise(doctor, "spoor -p %d …, which takes files as that process sees them", other);
}

static void check_processes(struct doctor *doctor, void *thing)
{
    const struct binary *binary = thing;
    struct users users = {.binary = binary};
    if (binary->pid || fstat(elf_file_descriptor(binary->file), &users.status) ||
        !(users.real = realpath(binary->path, NULL)))
        return;
    proc_each(see_process, &users);
    if (users.same)
        doctor_find(doctor, DOCTOR_OK, "%zu %s it: %s%s", users.same,
                    users.same == 1 ? "process has" : "processes have", text_string(&users.pids),
                    users.same > SHOWN ? " …" : "");
    else
        doctor_find(doctor, DOCTOR_OK, "none has it now%s",
                    users.hidden ? ", of those that you may look at" : "");
    if (users.others)
        find_others(doctor, &users);
    text_free(&users.pids);
    free(users.real);
}

/* Debug information comes before symbols, which may be in it. */
static const struct doctor_check binary_checks[] = {
    {"file", check_file},
    {"build id", check_build_id},
    {"debug information", check_debug_information},
    {"symbols", check_symbols},
    {"stacks", check_stacks},
    {"USDT probes", check_usdt},
    {"processes", check_processes},
    {NULL, NULL},
};

struct unreadable {
    const char *path;
    int error;
};

static void cannot_open(struct doctor *doctor, void *thing)
{
    const struct unreadable *file = thing;
    char head[DOCTOR_HEAD];
    switch (file->error) {
    case -ENOEXEC:
        doctor_find(doctor, DOCTOR_PROBLEM, "no ELF file of 64 bits: no probe can be in it");
        if (!doctor_read_head(file->path, head) && !strncmp(head, "#!", 2))
            doctor_advise(doctor, "its interpreter runs it, and can be probed: spoor doctor %s",
                          arena_copy(&doctor->arena, head + 2, strcspn(head + 2, " \n")));
        else
            doctor_advise(
                doctor, "if it is a script for spoor: its name ends in .bt, or it begins with #! and spoor");
        break;
    case -EBADMSG:
    case -EFBIG: doctor_find(doctor, DOCTOR_PROBLEM, "a damaged ELF file: %s", strerror(-file->error)); break;
    default:
        doctor_find(doctor, DOCTOR_PROBLEM, "it cannot be read: %s", strerror(-file->error));
        if (file->error == -EACCES || file->error == -EPERM)
            doctor_advise(doctor, "sudo %s doctor …", doctor->program);
    }
}

int doctor_read_head(const char *path, char head[DOCTOR_HEAD])
{
    const int file = foreign_open(path);
    if (file < 0)
        return file;
    const ssize_t length = pread(file, head, DOCTOR_HEAD - 1, 0);
    const int error = length < 0 ? -errno : 0;
    head[length > 0 ? length : 0] = 0;
    close(file);
    return error;
}

void doctor_binary(struct doctor *doctor, const char *path, const char *seen, pid_t pid)
{
    static const struct doctor_check unreadable[] = {{"file", cannot_open}, {NULL, NULL}};
    struct binary binary = {.path = path, .seen = seen, .pid = pid};
    struct unreadable file = {path, elf_file_open(path, &binary.file)};
    if (file.error) {
        doctor_examine(doctor, seen, unreadable, &file);
        return;
    }
    doctor_examine(doctor, seen, binary_checks, &binary);
    elf_file_close(binary.file);
}
