/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of the streams, in CTF's own language. Names of fields begin with an underscore, which readers of
 * the format remove, so that none is a keyword. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "export/ctf.h"

static const char head[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
    "typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
    "typealias integer { size = 64; align = 8; signed = true; } := s64;\n"
    "typealias integer { size = 64; align = 8; signed = false; base = 16; } := pointer;\n"
    "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := real;\n"
    "\n"
    "trace {\n"
    "\tmajor = 1;\n"
    "\tminor = 8;\n"
    "\tbyte_order = le;\n"
    "\tpacket.header := struct {\n"
    "\t\tu32 magic;\n"
    "\t\tu32 stream_id;\n"
    "\t\tu64 stream_instance_id;\n"
    "\t};\n"
    "};\n";

static const char stream[] = "typealias integer { size = 64; align = 8; signed = false; map = "
                             "clock.boottime.value; } := nanoseconds;\n"
                             "\n"
                             "stream {\n"
                             "\tid = 0;\n"
                             "\tpacket.context := struct {\n"
                             "\t\tnanoseconds timestamp_begin;\n"
                             "\t\tnanoseconds timestamp_end;\n"
                             "\t\tu64 content_size;\n"
                             "\t\tu64 packet_size;\n"
                             "\t\tu64 packet_seq_num;\n"
                             "\t\tu64 events_discarded;\n"
                             "\t};\n"
                             "\tevent.header := struct {\n"
                             "\t\tu16 id;\n"
                             "\t\tnanoseconds timestamp;\n"
                             "\t};\n"
                             "\tevent.context := struct {\n"
                             "\t\tu32 _thread;\n"
                             "\t\tstring _thread_name;\n"
                             "\t\tstring _owner;\n"
                             "\t\tstring _object;\n"
                             "\t\tpointer _object_id;\n"
                             "\t\tstring _related;\n"
                             "\t\tu32 _size;\n"
                             "\t};\n"
                             "};\n";

static void put_escaped(struct text *out, const char *name)
{
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            text_char(out, '\\');
        text_char(out, *name >= ' ' && *name < 127 ? *name : '?');
    }
}

static void put_quoted(struct text *out, const char *name)
{
    text_char(out, '"');
    put_escaped(out, name);
    text_char(out, '"');
}

/* Writes an argument's name as an identifier that is different from those of the arguments before it. */
static void put_field_name(struct text *out, const struct recording_tracepoint *tracepoint, unsigned index)
{
    const char *name = tracepoint->arguments[index].name;
    unsigned same = 0;
    for (unsigned i = 0; i < index; i++) {
        const char *a = name, *b = tracepoint->arguments[i].name;
        while (*a && (*a == *b || (!isalnum((unsigned char)*a) && *b && !isalnum((unsigned char)*b))))
            a++, b++;
        same += !*a && !*b;
    }
    text_char(out, '_');
    for (; *name; name++)
        text_char(out, isalnum((unsigned char)*name) ? *name : '_');
    if (same)
        text_printf(out, "__%u", same + 1);
}

static void put_enumeration(struct text *out, const struct recording_enumeration *enumeration)
{
    text_add(out, "enum : s64 {");
    for (size_t i = 0; i < enumeration->count; i++) {
        text_add(out, i ? ", " : " ");
        put_quoted(out, enumeration->values[i].name[0] ? enumeration->values[i].name : "?");
        text_printf(out, " = %" PRId64, enumeration->values[i].value);
    }
    text_add(out, " }");
}

static void put_event(struct text *out, const struct recording_tracepoint *tracepoint)
{
    static const char *const types[] = {
        [RECORDING_UNSIGNED] = "u64",  [RECORDING_SIGNED] = "s64", [RECORDING_POINTER] = "pointer",
        [RECORDING_STRING] = "string", [RECORDING_REAL] = "real",  [RECORDING_BOOL] = "u8",
    };
    text_add(out, "event {\n\tname = \"");
    put_escaped(out, tracepoint->group->name);
    text_add(out, tracepoint->group->name[0] ? ":" : "");
    put_escaped(out, tracepoint->name);
    text_char(out, '"');
    text_printf(out, ";\n\tid = %" PRIu32 ";\n\tstream_id = 0;\n\tfields := struct {\n", tracepoint->id);
    for (unsigned i = 0; i < tracepoint->argument_count; i++) {
        const struct recording_argument *argument = &tracepoint->arguments[i];
        text_add(out, "\t\t");
        if (argument->enumeration && argument->kind != RECORDING_STRING)
            put_enumeration(out, argument->enumeration);
        else
            text_add(out, types[argument->kind]);
        text_char(out, ' ');
        put_field_name(out, tracepoint, i);
        text_add(out, ";\n");
    }
    text_add(out, "\t};\n};\n");
}

void ctf_metadata(struct text *out, const struct recording *recording)
{
    const struct recording_model *model = recording_model(recording);
    const uint64_t wall = recording_realtime(recording), second = NSEC_PER_SEC;
    text_add(out, head);
    text_add(out, "env {\n\tdomain = \"ust\";\n\ttracer_name = \"spoor\";\n");
    if (model->name && model->name[0]) {
        text_add(out, "\tprocname = ");
        put_quoted(out, model->name);
        text_add(out, ";\n");
    }
    if (model->host[0]) {
        text_add(out, "\thostname = ");
        put_quoted(out, model->host);
        text_add(out, ";\n");
    }
    if (model->pid)
        text_printf(out, "\tvpid = %" PRIu32 ";\n", model->pid);
    text_printf(out,
                "};\nclock {\n\tname = boottime;\n\tdescription = \"%s\";\n\tfreq = 1000000000;\n"
                "\tprecision = %" PRIu64 ";\n\toffset_s = %" PRIu64 ";\n\toffset = %" PRIu64
                ";\n\tabsolute = %s;\n};\n",
                recording_clock_is_known(recording) ? "CLOCK_BOOTTIME" : "since the first event",
                recording_clock_error(recording), wall / second, wall % second, wall ? "true" : "false");
    text_add(out, stream);
    for (size_t i = 0; i < model->tracepoint_room; i++)
        if (model->tracepoints[i])
            put_event(out, model->tracepoints[i]);
}
