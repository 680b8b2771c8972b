/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows what the kernel still has of a trace: objects NAME. Prints "MAPS maps, PROGRAMS programs, LINKS links": the
 * maps of that name (that of the script without its @), the programs that use one of them, the links of these
 * programs, all from the kernel's own lists. Other traces on the machine do not count if the name is unique. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 4096 };

static uint32_t maps[MOST], programs[MOST];
static unsigned map_count, program_count, link_count;

static int bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
    return (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

static int contains(const uint32_t *ids, unsigned count, uint32_t id)
{
    for (unsigned i = 0; i < count; i++)
        if (ids[i] == id)
            return 1;
    return 0;
}

static int info(int fd, void *out, uint32_t size)
{
    union bpf_attr attributes = {.info = {.bpf_fd = (uint32_t)fd, .info_len = size, .info = (uintptr_t)out}};
    return bpf(BPF_OBJ_GET_INFO_BY_FD, &attributes);
}

static void look_at_map(uint32_t id, int fd, const char *name)
{
    struct bpf_map_info map = {0};
    if (!info(fd, &map, sizeof map) && !strncmp(map.name, name, sizeof map.name - 1) && map_count < MOST)
        maps[map_count++] = id;
}

static void look_at_program(uint32_t id, int fd, const char *name)
{
    uint32_t used[256];
    struct bpf_prog_info program = {.nr_map_ids = 256, .map_ids = (uintptr_t)used};
    int uses = 0;
    (void)name;
    if (info(fd, &program, sizeof program))
        return;
    for (uint32_t i = 0; i < program.nr_map_ids && i < 256; i++)
        uses |= contains(maps, map_count, used[i]);
    if (uses && program_count < MOST)
        programs[program_count++] = id;
}

static void look_at_link(uint32_t id, int fd, const char *name)
{
    struct bpf_link_info link = {0};
    (void)id, (void)name;
    if (!info(fd, &link, sizeof link))
        link_count += (unsigned)contains(programs, program_count, link.prog_id);
}

static int each(enum bpf_cmd next, enum bpf_cmd open, void (*look)(uint32_t, int, const char *),
                const char *name)
{
    for (uint32_t id = 0;;) {
        union bpf_attr attributes = {.start_id = id};
        if (bpf(next, &attributes))
            return errno == ENOENT ? 0 : -1;
        id = attributes.next_id;
        attributes = (union bpf_attr){.prog_id = id};
        int fd = bpf(open, &attributes);
        if (fd >= 0) {
            look(id, fd, name);
            close(fd);
        } else if (errno != ENOENT) /* ENOENT: it went away meanwhile */
            return -1;
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    if (each(BPF_MAP_GET_NEXT_ID, BPF_MAP_GET_FD_BY_ID, look_at_map, argv[1]) ||
        each(BPF_PROG_GET_NEXT_ID, BPF_PROG_GET_FD_BY_ID, look_at_program, argv[1]) ||
        each(BPF_LINK_GET_NEXT_ID, BPF_LINK_GET_FD_BY_ID, look_at_link, argv[1])) {
        perror("objects");
        return 1;
    }
    printf("%u maps, %u programs, %u links\n", map_count, program_count, link_count);
    return 0;
}
