/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills the tables for unwinding by call frame information (bpf/unwind.h).
 *
 * Before anything is attached, rows are made for the files that are known to matter: those that the processes of -p have
 * mapped, those that the command of -c is linked with, programs that have probes, and files that processes of these
 * programs have mapped. Files that are mapped meanwhile follow (unwind_follow.c). A BPF program that meets another file
 * requests it, and its rows are there from the next iteration of the loop on. The rows of a file stay, for every process that
 * maps it. When the tables are full, further files get no rows, and a warning says so once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "bpf/unwind.h"
#include "session/unwind.h"
#include "sym/dwarf/cfi.h"
#include "sym/process/library.h"
#include "sym/process/mapped_file.h"
#include "sym/process/needed.h"
#include "sym/process/proc.h"

enum { DEVICE_MINOR_BITS = 20 };

static int update(struct session *session, uint32_t map, const void *key, const void *value)
{
    return session->host->operations->map_update(session->host, map, key, value);
}

/* ---- files ---- */

static int add_block(struct session *session, struct unwind_key *key, const struct cfi_row *rows,
                     uint32_t count)
{
    struct unwind *unwind = session->unwind;
    if (!unwind->chunk_count || unwind->filled + count > UNWIND_CHUNK_ROWS) {
        if (unwind->chunk_count == UNWIND_CHUNKS)
            return -ENOSPC;
        int error = kernel_add_array(session->kernel, &session->image, session->image.unwind_rows,
                                     unwind->chunk_count, &unwind->chunks[unwind->chunk_count]);
        if (error)
            return error;
        unwind->chunk_count++;
        unwind->filled = 0;
    }
    struct unwind_block block = {.chunk = unwind->chunk_count - 1, .first = unwind->filled, .count = count};
    memcpy((struct cfi_row *)unwind->chunks[block.chunk] + block.first, rows, count * sizeof *rows);
    unwind->filled += count;
    return update(session, session->image.unwind_blocks, key, &block);
}

/* Adds the rows of a file, in blocks that each begin with the row that holds at its first address. Rows beyond what a search
 * in a block can tell apart are left out. Returns 0 or -errno. */
static int add_rows(struct session *session, struct unwind_key key, const struct cfi_rows *rows)
{
    int error = 0;
    for (size_t i = 0; i < rows->count && !error;) {
        key.block = rows->items[i].place >> UNWIND_BLOCK_SHIFT;
        uint32_t begin = key.block << UNWIND_BLOCK_SHIFT;
        size_t first = i && rows->items[i].place != begin ? i - 1 : i;
        while (i < rows->count && rows->items[i].place >> UNWIND_BLOCK_SHIFT == key.block)
            i++;
        size_t count = i - first;
        error = add_block(session, &key, &rows->items[first],
                          count < UNWIND_BLOCK_ROWS ? (uint32_t)count : UNWIND_BLOCK_ROWS);
        /* A long function may have no row of its own in the blocks that follow. */
        uint32_t next = i < rows->count ? rows->items[i].place >> UNWIND_BLOCK_SHIFT : key.block + 1;
        while (!error && ++key.block < next && rows->items[i - 1].rule != CFI_UNKNOWN)
            error = add_block(session, &key, &rows->items[i - 1], 1);
    }
    return error;
}

/* Adds a file. fd: its descriptor, which is closed, or the error of opening it. */
static void add_file(struct session *session, struct unwind_key key, int fd, const char *path)
{
    struct unwind *unwind = session->unwind;
    struct elf_file *file;
    struct cfi_rows rows;
    key.block = 0;
    if (table_get(&unwind->files, &key, sizeof key) || table_set(&unwind->files, &key, sizeof key, unwind))
        return;
    if (fd < 0 || elf_file_open_fd(fd, &file))
        return;
    int error = cfi_read(file, &rows);
    elf_file_close(file);
    if (error)
        return;
    error = add_rows(session, key, &rows);
    cfi_free(&rows);
    if (error && !unwind->is_full) {
        unwind->is_full = true;
        session_report(session,
                       "WARNING: dw_ustack: no room for the unwind information of '%s' and what follows: %s. "
                       "There, frame pointers are followed\n",
                       path, strerror(-error));
    }
}

struct unwind_key unwind_key_of(uint64_t device, uint64_t inode)
{
    return (struct unwind_key){
        .inode = inode, .device = (uint32_t)((device >> 32) << DEVICE_MINOR_BITS | (device & 0xfffff))};
}

static int add_path(void *state, const char *path)
{
    struct stat found;
    const int fd = foreign_open(path);
    if (fd < 0)
        return 0;
    if (!fstat(fd, &found))
        add_file(state,
                 unwind_key_of((uint64_t)major(found.st_dev) << 32 | minor(found.st_dev), found.st_ino), fd,
                 path);
    close(fd);
    return 0;
}

static void add_program(struct session *session, const char *path)
{
    add_path(session, path);
    needed_each(path, add_path, session);
}

/* ---- processes ---- */

/* Adds the file of a mapping. It is opened through /proc/PID/map_files, where it is found even without a name; where that is
 * not permitted, by its name. */
void unwind_add_mapping(struct session *session, pid_t pid, const struct proc_mapping *mapping,
                        struct unwind_key key)
{
    char mapped[96];
    struct text path = {0};
    key.block = 0;
    if (table_get(&session->unwind->files, &key, sizeof key))
        return;
    snprintf(mapped, sizeof mapped, "/proc/%d/map_files/%llx-%llx", (int)pid,
             (unsigned long long)mapping->start, (unsigned long long)mapping->end);
    int fd = foreign_open(mapped);
    if (fd < 0 && !mapping->is_deleted && !proc_path(pid, mapping->path, &path))
        fd = foreign_open(text_string(&path));
    /* Another file may have the name by now, and its rows would be wrong. */
    if (fd >= 0 && mapped_file_is(fd, mapping->device, mapping->inode))
        add_file(session, key, fd, path.length ? text_string(&path) : mapped);
    if (fd >= 0)
        close(fd);
    text_free(&path);
}

static bool is_code(const struct proc_mapping *mapping)
{
    return mapping->executable && mapping->inode;
}

/* Adds the files that a process has mapped. */
static void add_process(struct session *session, pid_t pid, const struct proc_maps *maps)
{
    for (size_t i = 0; i < maps->count; i++) {
        const struct proc_mapping *mapping = &maps->items[i];
        if (is_code(mapping))
            unwind_add_mapping(session, pid, mapping, unwind_key_of(mapping->device, mapping->inode));
    }
}

static void look_at(struct session *session, pid_t pid)
{
    struct proc_maps maps;
    if (proc_maps_read(pid, &maps))
        return;
    add_process(session, pid, &maps);
    proc_maps_free(&maps);
}

/* ---- the beginning ---- */

static bool is_probed(const struct session *session, const struct proc_mapping *mapping)
{
    struct unwind_key key = unwind_key_of(mapping->device, mapping->inode);
    return is_code(mapping) && table_get(&session->unwind->files, &key, sizeof key);
}

/* Adds the files of a process if it runs a program that has probes. Called for each process, while none is chosen. */
static int look_if_probed(void *state, pid_t pid)
{
    struct proc_maps maps;
    bool probed = false;
    if (proc_maps_read(pid, &maps))
        return 0;
    for (size_t i = 0; i < maps.count && !probed; i++)
        probed = is_probed(state, &maps.items[i]);
    if (probed)
        add_process(state, pid, &maps);
    proc_maps_free(&maps);
    return 0;
}

static void add_command(struct session *session)
{
    struct text path = {0};
    const char *word = child_program(session);
    if (word && !executable_find(word, &path))
        add_program(session, text_string(&path));
    text_free(&path);
}

int unwind_begin(struct session *session)
{
    const struct session_options *options = &session->options;
    if (!session->kernel || !session->image.unwinds)
        return 0;
    session->unwind = calloc(1, sizeof *session->unwind);
    if (!session->unwind)
        return -ENOMEM;
    bool any = false;
    for (size_t i = 0; i < options->pid_count; i++)
        look_at(session, options->pids[i]);
    for (size_t i = 0; i < session->units.count && !options->pid_count; i++)
        if (session->units.items[i].variant->context.program_path) {
            add_path(session, session->units.items[i].variant->context.program_path);
            any = true;
        }
    if (any && !options->command)
        proc_each(look_if_probed, session);
    for (size_t i = 0; i < session->units.count && any; i++)
        if (session->units.items[i].variant->context.program_path)
            needed_each(session->units.items[i].variant->context.program_path, add_path, session);
    if (options->command)
        add_command(session);
    unwind_follow(session);
    return 0;
}

/* ---- requests ---- */

struct requests {
    struct session *session;
    size_t count;
};

static void forget(struct session *session, const struct unwind_key *key)
{
    session->host->operations->map_delete(session->host, session->image.unwind_requests, key);
}

/* Whether a mapping is of the requested file. For a file on an overlay the kernel has the inode of the file below, which
 * /proc does not show: then any mapping of a file system without a device may be it. */
static bool is_requested(const struct proc_mapping *mapping, const struct unwind_key *key)
{
    return is_code(mapping) && (mapping->inode == key->inode || mapping->device >> 32 == 0);
}

static void grant_file(struct session *session, const struct unwind_key *key,
                       const struct unwind_request *request)
{
    struct proc_maps maps;
    const struct proc_mapping *mapping = NULL;
    if (!proc_maps_read((pid_t)request->pid, &maps)) {
        mapping = proc_maps_find(&maps, request->address);
        if (mapping && is_requested(mapping, key))
            unwind_add_mapping(session, (pid_t)request->pid, mapping, *key);
        proc_maps_free(&maps);
    }
    if (!mapping)
        forget(session, key); /* the process has ended; another one may ask again */
}

static int grant(void *state, const uint8_t *bytes, const uint8_t *value)
{
    struct requests *requests = state;
    struct session *session = requests->session;
    struct unwind_key key;
    struct unwind_request request;
    memcpy(&key, bytes, sizeof key);
    memcpy(&request, value, sizeof request);
    requests->count++;
    if (!table_get(&session->unwind->files, &key, sizeof key))
        grant_file(session, &key, &request);
    return 0;
}

void unwind_look(struct session *session)
{
    unwind_follow_look(session);
    if (!session->unwind && session->image.unwinds) /* the first program that needs it came meanwhile */
        unwind_begin(session);
    const struct image_control *control =
        session->unwind ? session->host->operations->control(session->host) : NULL;
    if (!control)
        return;
    struct requests requests = {.session = session};
    uint64_t seen = __atomic_load_n(&control->unwind_requests, __ATOMIC_ACQUIRE);
    if (seen == session->unwind->requests)
        return;
    session->unwind->requests = seen;
    const struct host_operations *host = session->host->operations;
    host->map_each(session->host, session->image.unwind_requests, grant, &requests);
    if (requests.count > UNWIND_WISHES / 2)
        host->map_clear(session->host, session->image.unwind_requests);
}

void unwind_close(struct session *session)
{
    struct unwind *unwind = session->unwind;
    if (!unwind)
        return;
    for (uint32_t i = 0; i < unwind->chunk_count; i++)
        munmap(unwind->chunks[i], UNWIND_CHUNK_BYTES);
    mappings_close(unwind->mappings);
    table_free(&unwind->files);
    free(unwind);
    session->unwind = NULL;
}

/* ---- where the kernel has it ---- */

static uint32_t bytes_up_to(const uint32_t *offsets, size_t count)
{
    uint32_t last = 0;
    for (size_t i = 0; i < count; i++)
        last = offsets[i] > last ? offsets[i] : last;
    return last + 8;
}

/* NULL also where the kernel keeps mappings in another way, as before Linux 6.1. */
const struct unwind_offsets *unwind_find_offsets(struct session *session)
{
    struct unwind_offsets *at = arena_new(&session->arena, struct unwind_offsets);
    uint32_t tree, root, inner_pivots;
    const struct session_member members[] = {
        {"struct task_struct", "mm", &at->task_mm},
        {"struct mm_struct", "mm_mt", &tree},
        {"struct maple_tree", "ma_root", &root},
        {"struct maple_range_64", "pivot", &at->pivots},
        {"struct maple_range_64", "slot", &at->range_slots},
        {"struct maple_arange_64", "pivot", &inner_pivots},
        {"struct maple_arange_64", "slot", &at->inner_slots},
        {"struct vm_area_struct", "vm_start", &at->vm_start},
        {"struct vm_area_struct", "vm_end", &at->vm_end},
        {"struct vm_area_struct", "vm_mm", &at->vm_mm},
        {"struct vm_area_struct", "vm_pgoff", &at->vm_pgoff},
        {"struct vm_area_struct", "vm_file", &at->vm_file},
        {"struct file", "f_inode", &at->file_inode},
        {"struct inode", "i_ino", &at->inode_number},
        {"struct inode", "i_sb", &at->inode_super},
        {"struct super_block", "s_dev", &at->super_device},
    };
    if (!session_member_offsets(session, members, sizeof members / sizeof *members))
        return NULL;
    const uint32_t of_vma[] = {at->vm_start, at->vm_end, at->vm_mm, at->vm_pgoff, at->vm_file};
    const uint32_t of_inode[] = {at->inode_number, at->inode_super};
    at->tree_root = tree + root;
    at->vma_bytes = bytes_up_to(of_vma, sizeof of_vma / sizeof *of_vma);
    at->inode_bytes = bytes_up_to(of_inode, sizeof of_inode / sizeof *of_inode);
    return inner_pivots == at->pivots && at->vma_bytes <= UNWIND_STRUCT_BYTES &&
                   at->inode_bytes <= UNWIND_STRUCT_BYTES
               ? at
               : NULL;
}
