/* SPDX-License-Identifier: BSD-3-Clause */
/* skboutput: packets of the kernel to a file in the pcap format.
 *
 * bpf_skb_output() exists for a few kinds of programs, and only for packets that are arguments of theirs. So
 * we read the packet ourselves, anywhere: that is its linear part, up to SNAP_BYTES; the file says how much
 * was asked for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/create.h"
#include "base/whole.h"
#include "bpf/lower/lower.h"
#include "builtin/event_handler.h"
#include "builtin/all.h"
#include "builtin/kernel_field.h"

enum { SNAP_BYTES = 2048, PCAP_LINK_RAW = 101 };

enum { SKB_DATA, SKB_LENGTH, SKB_PAGED, SKB_FIELDS };
static const struct kernel_field skb_fields[] = {
    [SKB_DATA] = {"struct sk_buff", "data"},
    [SKB_LENGTH] = {"struct sk_buff", "len"},
    [SKB_PAGED] = {"struct sk_buff", "data_len"},
};

static const struct type *check_skboutput(struct checker *checker, struct node *node)
{
    struct node *skb = check_argument(node, 1);
    const struct type *target = skb->type->kind == TYPE_POINTER ? skb->type->target : NULL;
    if (!target || target->kind != TYPE_STRUCT || !target->name || strcmp(target->name, "sk_buff")) {
        check_error(checker, skb->span, "skboutput() needs a pointer to struct sk_buff, found '%s'",
                    type_text(checker->arena, skb->type));
        check_hint(checker, "cast it: (struct sk_buff *)args.skbaddr");
        return NULL;
    }
    if (!node->call.data)
        node->call.data = (void *)kernel_field_offsets(checker, node, "skboutput()", skb_fields, SKB_FIELDS);
    return node->call.data ? &type_i64 : NULL;
}

static struct ir *smaller(struct lowering *l, struct ir *x, struct ir *y)
{
    return ir_choose(&l->b, ir_binary(&l->b, IR_ULE, x, y), x, y);
}

static struct ir *lower_skboutput(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    const uint32_t *at = node->call.data;
    const struct type *type = type_buffer(l->arena, SNAP_BYTES);
    uint32_t result = ir_variable(b);
    struct ir_block *end = ir_label(b);
    (void)into;
    struct ir *skb = lower_scalar(l, check_argument(node, 1));
    struct ir *wanted = lower_scalar(l, check_argument(node, 2));
    struct ir *offset = lower_scalar(l, check_argument(node, 3));
    ir_write(b, result, ir_constant(b, -EINVAL));
    ir_jump_unless(b, skb, end);
    struct ir *length = kernel_field_word(l, skb, at[SKB_LENGTH], &type_u32, node->span);
    struct ir *paged = kernel_field_word(l, skb, at[SKB_PAGED], &type_u32, node->span);
    struct ir *linear = ir_binary(b, IR_SUB, length, paged);
    ir_jump_unless(b, ir_binary(b, IR_ULT, offset, linear), end);
    struct ir *data = kernel_field_word(l, skb, at[SKB_DATA], &type_u64, node->span);
    struct memory packet = lower_scratch(l, type_storage(type), false);
    ir_zero(b, packet.base, packet.offset, type_storage(type));
    struct ir *taken = smaller(l, wanted, ir_binary(b, IR_SUB, linear, offset));
    taken = smaller(l, taken, ir_constant(b, SNAP_BYTES));
    ir_store(b, packet.base, packet.offset, 8, taken);
    lower_read_bounded(l, (struct memory){packet.base, packet.offset + 8}, taken,
                       ir_binary(b, IR_ADD, data, offset), SPACE_KERNEL, node->span);
    struct event_field fields[] = {
        {.value = smaller(l, wanted, ir_binary(b, IR_SUB, length, offset)), .type = &type_u64},
        {.value = lower_time(l), .type = &type_u64},
        {.memory = packet, .type = type},
    };
    lower_event(l, node, node->call.builtin, fields, 3);
    ir_write(b, result, ir_constant(b, 0));
    ir_place(b, end);
    return ir_read(b, result);
}

/* ---- the reader: files by name, open until the end of the trace ---- */

struct event_file {
    struct event_file *next;
    FILE *stream; /* NULL: it could not be opened or written, which was reported */
    int descriptor;
    char path[];
};

/* Writes a part of the file. A pipe whose reader does not read delays the trace once, for a moment; then the file is
 * closed. */
static ssize_t write_part(void *cookie, const char *bytes, size_t size)
{
    enum { PATIENCE_MS = 500 };
    const struct event_file *file = cookie;
    const int error = whole_write(file->descriptor, bytes, size, PATIENCE_MS);
    errno = -error;
    return error ? 0 : (ssize_t)size;
}

static int close_descriptor(void *cookie)
{
    const struct event_file *file = cookie;
    return close(file->descriptor);
}

static FILE *open_stream(struct event_file *file, int descriptor)
{
    file->descriptor = descriptor;
    return fopencookie(file, "w", (cookie_io_functions_t){.write = write_part, .close = close_descriptor});
}

void event_handler_close_files(struct event_handler *handler)
{
    for (struct event_file *file = handler->files, *next; file; file = next) {
        next = file->next;
        if (file->stream && fclose(file->stream))
            handler->warn(handler, (struct span){0}, "failed to write file '%s' (%s)", file->path,
                          create_error(-errno));
        free(file);
    }
    handler->files = NULL;
}

static struct event_file *open_capture(struct event_handler *handler, const struct action *action,
                                       const char *path)
{
    struct event_file *file = handler->files;
    while (file && strcmp(file->path, path))
        file = file->next;
    if (file)
        return file;
    if (!(file = calloc(1, sizeof *file + strlen(path) + 1)))
        return NULL;
    strcpy(file->path, path);
    file->next = handler->files;
    handler->files = file;
    int descriptor = create_file(path);
    if (descriptor < 0 || !(file->stream = open_stream(file, descriptor))) {
        handler->warn(handler, action->call->span, "failed to open file '%s' (%s)", path,
                      create_error(descriptor < 0 ? descriptor : -errno));
        if (descriptor >= 0)
            close(descriptor);
        return file;
    }
    const struct {
        uint32_t magic;
        uint16_t major, minor;
        uint32_t zone, accuracy, snap, link;
    } header = {0xa1b2c3d4, 2, 4, 0, 0, SNAP_BYTES, PCAP_LINK_RAW};
    fwrite(&header, sizeof header, 1, file->stream);
    return file;
}

static void handle_skboutput(struct event_handler *handler, const struct action *action,
                             const uint8_t *record)
{
    uint64_t wanted, taken;
    int64_t time;
    const uint8_t *packet = event_handler_field(handler, action, 2, record);
    struct event_file *file = open_capture(handler, action, check_literal(check_argument(action->call, 0)));
    FILE *stream = file ? file->stream : NULL;
    memcpy(&wanted, event_handler_field(handler, action, 0, record), 8);
    memcpy(&time, event_handler_field(handler, action, 1, record), 8);
    memcpy(&taken, packet, 8);
    if (!stream || taken > SNAP_BYTES)
        return;
    if (handler->printer->names && handler->printer->names->boot_to_wall)
        time += handler->printer->names->boot_to_wall(handler->printer->names->owner);
    const uint32_t header[] = {(uint32_t)(time / NSEC_PER_SEC),
                               (uint32_t)(time % NSEC_PER_SEC / NSEC_PER_USEC), (uint32_t)taken,
                               (uint32_t)wanted};
    fwrite(header, sizeof header, 1, stream);
    fwrite(packet + 8, taken, 1, stream);
    if (!ferror(stream))
        return;
    handler->warn(handler, action->call->span, "failed to write file '%s' (%s)", file->path,
                  create_error(-errno));
    fclose(stream);
    file->stream = NULL;
}

const struct builtin builtins_skb[] = {
    {"skboutput",
     "skboutput(\"file\", skb, length, offset)",
     BUILTIN_CALL | BUILTIN_READS_KERNEL | BUILTIN_VALUE_UNUSED_OK | BUILTIN_MAKES_FILES,
     4,
     4,
     {PARAMETER_LITERAL_STRING, PARAMETER_POINTER, PARAMETER_INTEGER, PARAMETER_INTEGER},
     .check = check_skboutput,
     .lower = lower_skboutput,
     .handle = handle_skboutput},
    {0},
};
