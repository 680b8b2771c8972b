/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles options and answers them. One option is handled at a time, and only when the earlier answers were sent: a
 * client that does not read gets nothing more. */
#include "handshake.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include <spoor/trace.h>

#include "nbd.h"

enum { OPTION_MAX = 8192 };

void handshake_greet(struct connection *connection)
{
    const struct {
        uint64_t magic, option_magic;
        uint16_t flags;
    } __attribute__((packed)) greeting = {htobe64(NBD_MAGIC), htobe64(NBD_OPTION_MAGIC),
                                          htobe16(NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES)};
    connection_answer(connection, &greeting, sizeof greeting);
}

static void option_reply(struct connection *connection, uint32_t option, uint32_t type, const void *data,
                         uint32_t length)
{
    const struct nbd_option_reply reply = {htobe64(NBD_REPLY_MAGIC), htobe32(option), htobe32(type),
                                           htobe32(length)};
    connection_answer(connection, &reply, sizeof reply);
    if (length > 0)
        connection_answer(connection, data, length);
}

static void option_error(struct connection *connection, uint32_t option, uint32_t type, const char *text)
{
    option_reply(connection, option, type, text, (uint32_t)strlen(text));
}

static void refuse(struct connection *connection, uint32_t option, uint32_t type, const char *why)
{
    option_error(connection, option, type, why);
    connection_refuse(connection, why);
}

static uint16_t read16(const uint8_t *bytes)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return be16toh(value);
}

static uint32_t read32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return be32toh(value);
}

/* ---- options ---- */

static uint16_t export_flags(void)
{
    return NBD_EXPORT_HAS_FLAGS | NBD_EXPORT_FLUSH | NBD_EXPORT_FUA | NBD_EXPORT_TRIM |
           NBD_EXPORT_WRITE_ZEROES | NBD_EXPORT_MULTI_CONN;
}

static void begin_transmission(struct connection *connection, struct group_export *export)
{
    char description[sizeof connection->peer + sizeof export->export->name + 1];
    connection->export = export;
    connection->phase = PHASE_TRANSMISSION;
    connection_set_deadline(connection, 0);
    snprintf(description, sizeof description, "%s %s", connection->peer, export->export->name);
    spoor_owner_describe(connection->owner, description);
}

/* Handles the old option that chooses an export. The protocol has no answer for an unknown name but to end the
 * connection. */
static void option_export_name(struct connection *connection, uint32_t option, const uint8_t *data,
                               uint32_t length)
{
    struct group_export *export = group_export_find(connection->group, (const char *)data, length);
    struct {
        uint64_t size;
        uint16_t flags;
        uint8_t zeroes[124];
    } __attribute__((packed)) answer = {.flags = htobe16(export_flags())};
    (void)option;
    if (!export) {
        connection_refuse(connection, "it asked for an export that is not there");
        return;
    }
    answer.size = htobe64(export->export->bdev->size);
    connection_answer(connection, &answer,
                      connection->no_zeroes ? sizeof answer - sizeof answer.zeroes : sizeof answer);
    begin_transmission(connection, export);
}

static void option_abort(struct connection *connection, uint32_t option, const uint8_t *data, uint32_t length)
{
    (void)data, (void)length;
    option_reply(connection, option, NBD_REP_ACK, NULL, 0);
    connection_finish(connection);
}

static void option_list(struct connection *connection, uint32_t option, const uint8_t *data, uint32_t length)
{
    struct group_export *export;
    (void)data;
    if (length > 0) {
        refuse(connection, option, NBD_REP_ERR_INVALID, "a request for the list has no data");
        return;
    }
    TAILQ_FOREACH(export, &connection->group->exports, link)
    {
        if (export->state == EXPORT_INACTIVE) /* the export is being removed */
            continue;
        uint8_t entry[4 + EXPORT_NAME_MAX];
        const uint32_t name_length = (uint32_t)strlen(export->export->name), wire = htobe32(name_length);
        memcpy(entry, &wire, 4);
        memcpy(entry + 4, export->export->name, name_length);
        option_reply(connection, option, NBD_REP_SERVER, entry, 4 + name_length);
    }
    option_reply(connection, option, NBD_REP_ACK, NULL, 0);
}

static void info_text(struct connection *connection, uint32_t option, uint16_t type, const char *text)
{
    uint8_t info[2 + EXPORT_NAME_MAX];
    const size_t length = strlen(text);
    const uint16_t wire = htobe16(type);
    memcpy(info, &wire, 2);
    memcpy(info + 2, text, length);
    option_reply(connection, option, NBD_REP_INFO, info, (uint32_t)(2 + length));
}

static void info_answer(struct connection *connection, uint32_t option, const struct group_export *export,
                        const uint8_t *wanted, unsigned count)
{
    const struct {
        uint16_t type;
        uint64_t size;
        uint16_t flags;
    } __attribute__((packed))
    general = {htobe16(NBD_INFO_EXPORT), htobe64(export->export->bdev->size), htobe16(export_flags())};
    const struct {
        uint16_t type;
        uint32_t least, preferred, most;
    } __attribute__((packed))
    block = {htobe16(NBD_INFO_BLOCK_SIZE), htobe32(1), htobe32(4096), htobe32(NBD_LENGTH_MAX)};
    bool name = false, description = false;

    option_reply(connection, option, NBD_REP_INFO, &general, sizeof general);
    option_reply(connection, option, NBD_REP_INFO, &block, sizeof block);
    for (unsigned i = 0; i < count; i++) { /* each is answered at most once, however often it is asked for */
        name |= read16(wanted + 2 * i) == NBD_INFO_NAME;
        description |= read16(wanted + 2 * i) == NBD_INFO_DESCRIPTION;
    }
    if (name)
        info_text(connection, option, NBD_INFO_NAME, export->export->name);
    if (description)
        info_text(connection, option, NBD_INFO_DESCRIPTION, export->export->bdev->kind->name);
    option_reply(connection, option, NBD_REP_ACK, NULL, 0);
}

/* NBD_OPT_INFO and NBD_OPT_GO: u32 length of the name, the name, u16 count, u16 wanted[count]. */
static void option_info(struct connection *connection, uint32_t option, const uint8_t *data, uint32_t length)
{
    const uint32_t name_length = length >= 4 ? read32(data) : 0;
    if (length < 6 || name_length > length - 6 ||
        length - 6 - name_length != 2u * read16(data + 4 + name_length)) {
        refuse(connection, option, NBD_REP_ERR_INVALID,
               "the lengths in a choice of export contradict each other");
        return;
    }
    struct group_export *export = group_export_find(connection->group, (const char *)data + 4, name_length);
    if (!export) {
        option_error(connection, option, NBD_REP_ERR_UNKNOWN, "there is no such export");
        return;
    }
    info_answer(connection, option, export, data + 4 + name_length + 2, read16(data + 4 + name_length));
    if (option == NBD_OPT_GO)
        begin_transmission(connection, export);
}

static const struct {
    uint32_t option;
    void (*handle)(struct connection *connection, uint32_t option, const uint8_t *data, uint32_t length);
} options[] = {
    {NBD_OPT_EXPORT_NAME, option_export_name},
    {NBD_OPT_ABORT, option_abort},
    {NBD_OPT_LIST, option_list},
    {NBD_OPT_INFO, option_info},
    {NBD_OPT_GO, option_info},
};

static void option_handle(struct connection *connection, uint32_t option, const uint8_t *data,
                          uint32_t length)
{
    for (unsigned i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (options[i].option == option) {
            options[i].handle(connection, option, data, length);
            return;
        }
    }
    if (connection->fixed)
        option_error(connection, option, NBD_REP_ERR_UNSUP, "this option is not supported");
    else /* the client would take the answer for something else */
        connection_refuse(connection, "it sent an unknown option without speaking the fixed newstyle");
}

/* ---- steps ---- */

static enum step flags_step(struct connection *connection)
{
    if (connection_available(connection) < 4)
        return STEP_NEEDS_INPUT;
    const uint32_t flags = read32(connection_peek(connection));
    connection_take(connection, 4);
    connection->fixed = flags & NBD_FLAG_FIXED_NEWSTYLE;
    connection->no_zeroes = flags & NBD_FLAG_NO_ZEROES;
    connection->phase = PHASE_OPTIONS;
    if (flags & ~(uint32_t)(NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES))
        refuse(connection, 0, NBD_REP_ERR_INVALID, "it sent flags that were not offered");
    return STEP_AGAIN;
}

static enum step option_step(struct connection *connection)
{
    struct nbd_option_header header;
    const unsigned available = connection_available(connection);
    if (available < sizeof header)
        return STEP_NEEDS_INPUT;
    const uint8_t *bytes = connection_peek(connection);
    memcpy(&header, bytes, sizeof header);
    const uint32_t option = be32toh(header.option), length = be32toh(header.length);
    if (header.magic != htobe64(NBD_OPTION_MAGIC)) {
        refuse(connection, option, NBD_REP_ERR_INVALID, "what it sent is not an option of the protocol");
        return STEP_AGAIN;
    }
    if (length > OPTION_MAX) {
        refuse(connection, option, NBD_REP_ERR_TOO_BIG, "it sent an option that is too large");
        return STEP_AGAIN;
    }
    if (available - sizeof header < length)
        return STEP_NEEDS_INPUT;
    /* The bytes stay where they are until more is read. */
    connection_take(connection, (unsigned)sizeof header + length);
    option_handle(connection, option, bytes + sizeof header, length);
    return STEP_AGAIN;
}

enum step handshake_step(struct connection *connection)
{
    if (connection_answering(connection))
        return STEP_BLOCKED;
    return connection->phase == PHASE_FLAGS ? flags_step(connection) : option_step(connection);
}
