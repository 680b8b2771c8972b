/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/json_read.h"

#include <string.h>

#include "base/number.h"

enum { DEPTH_MAX = 64 };

struct scan {
    const char *at, *end;
    unsigned depth;
    struct json_wanted *wanted; /* of the outermost object */
    size_t count;
};

static void skip_space(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r' || *scan->at == '\n'))
        scan->at++;
}

static bool take(struct scan *scan, char c)
{
    if (scan->at >= scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

/* Reads four hexadecimal digits; -1: they are none. */
static int code_unit(const char *at, const char *end)
{
    uint64_t code;
    const char *behind = at;
    if (end - at < 4 || !number_take(&behind, at + 4, 16, &code) || behind != at + 4)
        return -1;
    return (int)code;
}

/* string = '"' { byte that is no control character | '\' escape } '"' */
static bool scan_string(struct scan *scan)
{
    if (!take(scan, '"'))
        return false;
    while (scan->at < scan->end) {
        const char c = *scan->at++;
        if (c == '"')
            return true;
        if ((unsigned char)c < ' ')
            return false;
        if (c != '\\')
            continue;
        if (scan->at >= scan->end || !strchr("\"\\/bfnrtu", *scan->at) || !*scan->at)
            return false;
        if (*scan->at++ == 'u' && code_unit(scan->at, scan->end) < 0)
            return false;
    }
    return false;
}

static bool scan_digits(struct scan *scan)
{
    const char *first = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return scan->at > first;
}

/* number = ['-'] digits ['.' digits] [('e' | 'E') ['+' | '-'] digits] */
static bool scan_number(struct scan *scan)
{
    take(scan, '-');
    if (!take(scan, '0') && !scan_digits(scan))
        return false;
    if (take(scan, '.') && !scan_digits(scan))
        return false;
    if (take(scan, 'e') || take(scan, 'E')) {
        if (!take(scan, '+'))
            take(scan, '-');
        return scan_digits(scan);
    }
    return true;
}

static bool scan_word(struct scan *scan, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length))
        return false;
    scan->at += length;
    return true;
}

static bool scan_value(struct scan *scan);

static void keep(struct scan *scan, const char *name, size_t name_length, const char *value)
{
    for (size_t i = 0; i < scan->count; i++) {
        struct json_wanted *wanted = &scan->wanted[i];
        if (!wanted->value.bytes && strlen(wanted->name) == name_length &&
            !memcmp(wanted->name, name, name_length))
            wanted->value = (struct json_value){value, (size_t)(scan->at - value)};
    }
}

/* object = '{' [ string ':' value { ',' string ':' value } ] '}' */
static bool scan_object(struct scan *scan)
{
    const bool is_outermost = scan->depth == 1;
    if (!take(scan, '{'))
        return false;
    skip_space(scan);
    if (take(scan, '}'))
        return true;
    do {
        skip_space(scan);
        const char *name = scan->at;
        if (!scan_string(scan))
            return false;
        const size_t name_length = (size_t)(scan->at - name);
        skip_space(scan);
        if (!take(scan, ':'))
            return false;
        skip_space(scan);
        const char *value = scan->at;
        if (!scan_value(scan))
            return false;
        if (is_outermost)
            keep(scan, name + 1, name_length - 2, value);
        skip_space(scan);
    } while (take(scan, ','));
    return take(scan, '}');
}

/* array = '[' [ value { ',' value } ] ']' */
static bool scan_array(struct scan *scan)
{
    if (!take(scan, '['))
        return false;
    skip_space(scan);
    if (take(scan, ']'))
        return true;
    do {
        skip_space(scan);
        if (!scan_value(scan))
            return false;
        skip_space(scan);
    } while (take(scan, ','));
    return take(scan, ']');
}

static bool scan_value(struct scan *scan)
{
    bool is_right;
    if (scan->at >= scan->end || scan->depth == DEPTH_MAX)
        return false;
    scan->depth++;
    switch (*scan->at) {
    case '{': is_right = scan_object(scan); break;
    case '[': is_right = scan_array(scan); break;
    case '"': is_right = scan_string(scan); break;
    case 't': is_right = scan_word(scan, "true"); break;
    case 'f': is_right = scan_word(scan, "false"); break;
    case 'n': is_right = scan_word(scan, "null"); break;
    default: is_right = scan_number(scan);
    }
    scan->depth--;
    return is_right;
}

bool json_read_object(const char *text, size_t length, struct json_wanted *wanted, size_t count)
{
    struct scan scan = {.at = text, .end = text + length, .wanted = wanted, .count = count};
    for (size_t i = 0; i < count; i++)
        wanted[i].value = (struct json_value){0};
    skip_space(&scan);
    if (scan.at >= scan.end || *scan.at != '{' || !scan_value(&scan))
        return false;
    skip_space(&scan);
    return scan.at == scan.end;
}

struct json_value json_find(struct json_value object, const char *path)
{
    char name[64];
    for (; *path && object.bytes; path += *path == '.') {
        const size_t length = strcspn(path, ".");
        struct json_wanted wanted = {.name = name};
        if (length >= sizeof name)
            return (struct json_value){0};
        memcpy(name, path, length);
        name[length] = 0;
        json_read_object(object.bytes, object.length, &wanted, 1);
        object = wanted.value;
        path += length;
    }
    return object;
}

bool json_next_item(struct json_value array, size_t *at, struct json_value *item)
{
    if (!array.bytes || *array.bytes != '[')
        return false;
    struct scan scan = {.at = array.bytes + (*at ? *at : 1), .end = array.bytes + array.length};
    skip_space(&scan);
    if (*at && !take(&scan, ','))
        return false;
    skip_space(&scan);
    item->bytes = scan.at;
    if (!scan_value(&scan))
        return false;
    item->length = (size_t)(scan.at - item->bytes);
    *at = (size_t)(scan.at - array.bytes);
    return true;
}

static void put_code(struct text *out, uint32_t code)
{
    if (code < 0x80) {
        text_char(out, (char)code);
        return;
    }
    const unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    text_char(out, (char)(0xff00u >> (more + 1) | code >> 6 * more)); /* 110…, 1110…, 11110… */
    for (unsigned i = more; i-- > 0;)
        text_char(out, (char)(0x80 | (code >> 6 * i & 0x3f)));
}

bool json_read_string(const struct json_value *value, struct text *out)
{
    if (!value->bytes || value->bytes[0] != '"')
        return false;
    const char *end = value->bytes + value->length - 1;
    for (const char *at = value->bytes + 1; at < end; at++) {
        if (*at != '\\') {
            text_char(out, *at);
            continue;
        }
        static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
        const char *letter = strchr(letters, *++at);
        if (*at != 'u') {
            text_char(out, letter ? meant[letter - letters] : *at);
            continue;
        }
        uint32_t code = (uint32_t)code_unit(at + 1, end);
        at += 4;
        if (code >= 0xd800 && code < 0xdc00 && end - at > 6 && at[1] == '\\' && at[2] == 'u') {
            const int low = code_unit(at + 3, end);
            if (low >= 0xdc00 && low < 0xe000) {
                code = 0x10000 + ((code - 0xd800) << 10 | (uint32_t)(low - 0xdc00));
                at += 6;
            }
        }
        put_code(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
    }
    return true;
}

bool json_read_unsigned(const struct json_value *value, uint64_t *number)
{
    const char *at = value->bytes, *end = at ? at + value->length : NULL;
    if (at && *at == '"') {
        at++;
        end--;
    }
    return at && number_take(&at, end, 10, number) && at == end;
}

bool json_is_string(struct json_value value, const char *text)
{
    struct text said = {0};
    const bool is_same = json_read_string(&value, &said) && !said.failed && said.length == strlen(text) &&
                         !memcmp(text_string(&said), text, said.length);
    text_free(&said);
    return is_same;
}
