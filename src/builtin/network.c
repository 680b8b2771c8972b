/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of networks and of network cards, byte order, sockets. ntop is in symbol.c, with what else is
 * named by the reader. */
#include <arpa/inet.h>
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/all.h"
#include "builtin/kernel_field.h"

/* ---- pton: an address in the script's text is an array of bytes ---- */

enum { INET4_BYTES = 4, INET6_BYTES = 16, MAC_BYTES = 6 };

static const struct type *check_pton(struct checker *checker, struct node *node)
{
    struct node *text = check_argument(node, 0);
    uint8_t *bytes = node->call.data ? node->call.data : arena_array(checker->arena, INET6_BYTES, 1);
    bool is_6 = strchr(check_literal(text), ':') != NULL;
    if (inet_pton(is_6 ? AF_INET6 : AF_INET, check_literal(text), bytes) != 1) {
        check_error(checker, text->span, "pton: '%s' is not an IPv%d address", check_literal(text),
                    is_6 ? 6 : 4);
        check_hint(checker, "addresses are like 192.0.2.1 and 2001:db8::1");
        return NULL;
    }
    node->call.data = bytes;
    return type_array(checker->arena, &type_i8, is_6 ? INET6_BYTES : INET4_BYTES);
}

static struct ir *lower_pton(struct lowering *l, struct node *node, struct destination *into)
{
    for (uint32_t i = 0; destination_is_memory(into) && i < node->type->size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, (const uint8_t *)node->call.data + i, node->type->size < 8 ? node->type->size : 8);
        ir_store_constant(&l->b, into->memory.base, into->memory.offset + (int32_t)i, 8, (int64_t)word);
    }
    return NULL;
}

/* ---- macaddr ---- */

static const struct type *check_macaddr(struct checker *checker, struct node *node)
{
    struct node *from = check_argument(node, 0);
    const struct type *type = from->type;
    bool is_array = type->kind == TYPE_ARRAY && type->size == MAC_BYTES;
    if (is_array || type->kind == TYPE_POINTER || type->kind == TYPE_INTEGER)
        return type_simple(checker->arena, TYPE_MACADDR);
    check_error(checker, from->span,
                "macaddr() needs an array of 6 bytes or a pointer to them, found a value of type '%s'",
                type_text(checker->arena, type));
    return NULL;
}

static struct ir *lower_macaddr(struct lowering *l, struct node *node, struct destination *into)
{
    enum address_space space;
    struct ir *address = lower_pointer(l, check_argument(node, 0), &space);
    if (destination_is_memory(into))
        lower_read(l, into->memory, MAC_BYTES, address, space, node->span);
    return NULL;
}

/* ---- bswap ---- */

static const struct type *check_bswap(struct checker *checker, struct node *node)
{
    (void)checker;
    return type_integer(check_argument(node, 0)->type->size, false);
}

static struct ir *lower_bswap(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    (void)into;
    return node->type->size == 1 ? ir_extend(&l->b, value, 1, false)
                                 : ir_bswap(&l->b, value, node->type->size);
}

/* ---- socket_cookie ---- */

static const struct kernel_field cookie_field[] = {{"struct sock", "__sk_common.skc_cookie"}};

static const struct type *check_cookie(struct checker *checker, struct node *node)
{
    struct node *socket = check_argument(node, 0);
    if (socket->type->kind != TYPE_POINTER) {
        check_error(checker, socket->span, "socket_cookie() needs a pointer to struct sock, found '%s'",
                    type_text(checker->arena, socket->type));
        check_hint(checker, "cast it: socket_cookie((struct sock *)arg0)");
        return NULL;
    }
    if (!node->call.data)
        node->call.data = (void *)kernel_field_offsets(checker, node, "socket_cookie()", cookie_field, 1);
    return node->call.data ? &type_u64 : NULL;
}

static struct ir *lower_cookie(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    const uint32_t *offset = node->call.data;
    uint32_t cookie = ir_variable(b);
    struct ir *socket = lower_scalar(l, check_argument(node, 0));
    (void)into;
    ir_write(b, cookie, ir_constant(b, 0));
    struct ir_if some = ir_if(b, socket);
    ir_write(b, cookie, kernel_field_word(l, socket, *offset, &type_u64, node->span));
    ir_end_if(b, &some);
    return ir_read(b, cookie);
}

const struct builtin builtins_network[] = {
    {"pton",
     "pton(\"address\")",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_LITERAL_STRING},
     .check = check_pton,
     .lower = lower_pton},
    {"macaddr",
     "macaddr(bytes)",
     BUILTIN_CALL | BUILTIN_READS_MEMORY,
     1,
     1,
     {PARAMETER_BYTES},
     .check = check_macaddr,
     .lower = lower_macaddr},
    {"bswap",
     "bswap(n)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_bswap,
     .lower = lower_bswap},
    {"socket_cookie",
     "socket_cookie(sock)",
     BUILTIN_CALL | BUILTIN_READS_KERNEL,
     1,
     1,
     {PARAMETER_POINTER},
     .check = check_cookie,
     .lower = lower_cookie},
    {0},
};
