/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads a program that was written by hand, and attaches it until it is interrupted: by_hand OBJECT [FILE].
 * What is at a uprobe or uretprobe goes to load_call in FILE. Reads the ring `events`, if there is one, and
 * writes its records as they are. At the end it says what was lost, which must be nothing where it is
 * measured. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { POLL_US = 5000 };

static volatile sig_atomic_t is_over;

static void interrupted(int number)
{
    (void)number;
    is_over = 1;
}

static int write_record(void *context, void *data, size_t length)
{
    return fwrite(data, 1, length, context) == length ? 0 : -EIO;
}

static struct bpf_link *attach(struct bpf_program *program, const char *file)
{
    bool is_return = !strcmp(bpf_program__section_name(program), "uretprobe");
    if (!is_return && strcmp(bpf_program__section_name(program), "uprobe") != 0)
        return bpf_program__attach(program);
    LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = is_return, .func_name = "load_call");
    return bpf_program__attach_uprobe_opts(program, -1, file ? file : "", 0, &options);
}

/* The first word of the global variables: common.h has it first. */
static unsigned long long lost(const struct bpf_object *object)
{
    const struct bpf_map *map = bpf_object__find_map_by_name(object, ".bss");
    int key = 0;
    unsigned long long words[8] = {0};
    if (map &&
        (bpf_map__value_size(map) > sizeof words || bpf_map_lookup_elem(bpf_map__fd(map), &key, words)))
        perror("by_hand: .bss");
    return words[0];
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return fprintf(stderr, "usage: by_hand OBJECT [FILE]\n"), 2;
    struct bpf_object *object = bpf_object__open(argv[1]);
    if (!object || bpf_object__load(object))
        return fprintf(stderr, "by_hand: %s cannot be loaded\n", argv[1]), 1;
    struct bpf_program *program;
    bpf_object__for_each_program(program, object)
    {
        if (!attach(program, argc > 2 ? argv[2] : NULL))
            return fprintf(stderr, "by_hand: %s cannot be attached\n", bpf_program__name(program)), 1;
    }
    struct bpf_map *events = bpf_object__find_map_by_name(object, "events");
    struct ring_buffer *ring =
        events ? ring_buffer__new(bpf_map__fd(events), write_record, stdout, NULL) : NULL;
    signal(SIGINT, interrupted);
    fprintf(stderr, "Attached\n");
    while (!is_over) {
        usleep(POLL_US);
        if (ring && ring_buffer__consume(ring) < 0)
            return 1;
    }
    unsigned long long count = lost(object);
    if (count)
        fprintf(stderr, "by_hand: %llu were lost\n", count);
    bpf_object__close(object); /* the kernel takes back what is attached when this process ends */
    return count ? 1 : 0;
}
