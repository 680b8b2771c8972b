/* SPDX-License-Identifier: BSD-3-Clause */
/* The BPF programs that one process holds: programs PID [RUNS], only those that ran at least RUNS times. Prints
 * how many there are, their instructions after verification, the bytes of machine code, how many instructions the verifier walked through, and their run
 * time in ns and runs, which count only while the sysctl kernel.bpf_stats_enabled is 1.
 *
 * They are found through the process's descriptors, so other tracers on the machine do not matter. */
#include "program_info.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096 };

/* The program that a descriptor stands for, itself or as a link; 0: none. */
static uint32_t program_of(const char *process, const char *descriptor)
{
    char path[600], line[256];
    snprintf(path, sizeof path, "/proc/%s/fdinfo/%s", process, descriptor);
    FILE *file = fopen(path, "re");
    uint32_t id = 0;
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "prog_id: %u", &id);
    if (file)
        fclose(file);
    return id;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return fprintf(stderr, "usage: programs PID [RUNS]\n"), 2;
    unsigned long long least = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    uint32_t ids[MOST];
    size_t count = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/fdinfo", argv[1]);
    DIR *directory = opendir(path);
    if (!directory)
        return perror(path), 1;
    for (struct dirent *entry; (entry = readdir(directory)) && count < MOST;) {
        uint32_t id = program_of(argv[1], entry->d_name);
        bool known = !id;
        for (size_t i = 0; i < count; i++)
            known |= ids[i] == id;
        if (!known)
            ids[count++] = id;
    }
    closedir(directory);

    unsigned long long instructions = 0, machine = 0, walked = 0, time = 0, runs = 0, number = 0;
    for (size_t i = 0; i < count; i++) {
        struct bpf_prog_info info;
        if (!program_info(ids[i], &info) || info.run_cnt < least)
            continue;
        number++;
        instructions += info.xlated_prog_len / sizeof(struct bpf_insn);
        machine += info.jited_prog_len;
        walked += info.verified_insns;
        time += info.run_time_ns;
        runs += info.run_cnt;
    }
    printf("%llu %llu %llu %llu %llu %llu\n", number, instructions, machine, walked, time, runs);
    return 0;
}
