/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of recordings that another process reads (ask.c, service.c): the same comes as where this one reads, and when the
 * other dies or lies there are fewer events, and no harm. */
#include <errno.h>

#include "recorder_testing.h"
#include "reader_testing.h"

#include "reader/ask.h"
#include "reader/replay.h"
#include "sym/apart.h"

enum { BURSTS = 60, BURST_MAX = 5000, PATIENCE = 2000 /* number of attempts, a millisecond apart */ };

static struct recording *follow(bool apart)
{
    const struct recording_options options = {.follow = true, .only_cpu = -1, .apart = apart};
    struct recording *recording;
    struct text why = {0};
    if (recording_open(spoor_trace_path(), &options, &recording, &why))
        fail_msg("%s", text_string(&why));
    return recording;
}

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* ---- the same comes ---- */

static void record_some(uint64_t turn)
{
    char many[6000];
    memset(many, 'x', sizeof many - 1);
    many[sizeof many - 1] = 0;
    const uint32_t owner = spoor_owner_register(&spoor_owner_bdev, turn % 2 ? "disk" : "an owner\nof lines");
    SPOOR_RECORD(BDEV_IO_START, owner, 7, turn % 3 ? IO_READ : IO_WRONG, NULL, turn << 40, 77);
    SPOOR_RECORD(TCP_REQ_NEW, 0, turn);
    SPOOR_RECORD(TCP_TEXT, 0, 0, turn % 2 ? "a text" : NULL, 200, turn % 5 ? "" : many);
    SPOOR_RECORD(TCP_ALL, 0, 0, 'a', -2, 3, -4, 5 - (int64_t)turn, true, 1.5f, -2.5, NULL, NULL, turn,
                 IO_FLUSH);
    SPOOR_RECORD(BDEV_IO_DONE, owner, 7, NULL);
    spoor_owner_unregister(owner);
}

/* Appends all that is known of an event but its time, for which each reader has read the clocks itself. */
static void describe(struct text *out, const struct recording *recording, const struct recording_event *event,
                     const struct object_step *step)
{
    const struct recording_tracepoint *tracepoint = event->tracepoint;
    struct recording_owner owner = {.description = ""};
    recording_owner(recording, event, &owner);
    text_printf(out, "%llu %s %llx %u=%c%s %u %u %s %u %llu %llu %d:", (unsigned long long)event->stamp,
                tracepoint->name, (unsigned long long)event->object, event->owner, owner.letter + ' ',
                owner.description, event->size, event->thread, event->thread_name, event->source,
                (unsigned long long)event->gap_end, (unsigned long long)event->lost, event->is_outside);
    for (unsigned i = 0; i < tracepoint->argument_count; i++)
        if (tracepoint->strings >> i & 1) {
            const struct recording_text text = recording_string(event, i);
            text_printf(out, " %u%d%d", text.length, text.is_null, text.is_cut);
            text_append(out, text.bytes, text.length);
        } else {
            text_printf(out, " %llx", (unsigned long long)event->words[i]);
        }
    text_printf(out, " object %llu %d %d\n", step->own->type < 0 ? 0 : (unsigned long long)step->own->number,
                step->begins, step->is_first);
}

/* Reads events until so many came. */
static void read_until(struct recording *recording, struct objects *objects, struct text *out, size_t count)
{
    for (int i = 0; count && i < PATIENCE; i++) {
        struct recording_event event;
        struct object_step step;
        for (; count && recording_next(recording, &event) == 1; count--) {
            assert_int_equal(objects_follow(objects, &event, &step), 0);
            describe(out, recording, &event, &step);
        }
        if (count)
            wait_a_little();
        if (count)
            assert_int_equal(recording_refresh(recording), 1);
    }
    assert_int_equal(count, 0);
}

static void the_same_comes(void **state)
{
    enum { TURNS = 12, EACH = 5 };
    (void)state;
    open_usual("all");
    struct recording *here = follow(false), *apart = follow(true);
    struct objects *objects = objects_make(here), *of_apart = objects_make(apart);
    struct text expected = {0}, got = {0};
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        record_some(turn);
        read_until(here, objects, &expected, EACH);
        read_until(apart, of_apart, &got, EACH);
    }
    assert_string_equal(text_string(&expected), text_string(&got));
    assert_true(strstr(text_string(&got), "an owner?of lines"));
    const struct recording_model *a = recording_model(here), *b = recording_model(apart);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->command, b->command);
    assert_string_equal(a->host, b->host);
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->tracepoint_room, b->tracepoint_room);
    assert_int_equal(a->object_count, b->object_count);
    assert_int_equal(a->owner_count, b->owner_count);
    assert_int_equal(a->group_count, b->group_count);
    for (size_t id = 0; id < a->tracepoint_room; id++) {
        const struct recording_tracepoint *x = a->tracepoints[id], *y = b->tracepoints[id];
        assert_int_equal(!x, !y);
        if (!x)
            continue;
        assert_string_equal(x->name, y->name);
        assert_string_equal(x->group->name, y->group->name);
        assert_string_equal(x->group->text, y->group->text);
        assert_int_equal(x->argument_count, y->argument_count);
        assert_int_equal(x->strings, y->strings);
        assert_int_equal(x->relation_count, y->relation_count);
        for (unsigned i = 0; i < x->argument_count; i++) {
            assert_string_equal(x->arguments[i].name, y->arguments[i].name);
            assert_string_equal(x->arguments[i].type, y->arguments[i].type);
            assert_int_equal(x->arguments[i].kind, y->arguments[i].kind);
            assert_int_equal(x->arguments[i].size, y->arguments[i].size);
        }
    }
    struct recording_counts one = recording_counts(here), other = recording_counts(apart);
    assert_int_equal(one.overwritten, other.overwritten);
    assert_int_equal(one.damaged, other.damaged);
    assert_int_equal(one.sources, other.sources);
    assert_false(recording_is_lost(apart));
    objects_free(objects);
    objects_free(of_apart);
    text_free(&expected);
    text_free(&got);
    recording_close(here);
    recording_close(apart);
}

/* A file that nobody writes any more, of SPDK's format. */
static void the_same_of_spdk(void **state)
{
    enum { COUNT = 3000 }; /* more than come at once */
    struct text listed[2];
    (void)state;
    struct spdk_file *file = spdk_file_make(1000000000);
    spdk_add_types(file);
    struct spdk_tracepoint *tracepoint = spdk_add_tracepoint(file, "BEGIN", 65, 1, 1, 1);
    spdk_add_argument(tracepoint, "text", 2, 40);
    spdk_add_argument(tracepoint, "n", 0, 8);
    spdk_add_tracepoint(file, "NEXT", 66, 1, 1, 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        char arguments[48];
        snprintf(arguments, 40, "the %lluth text, which is long", (unsigned long long)i);
        memcpy(arguments + 40, &i, sizeof i);
        spdk_record(file, i % 2, 1000 + 10 * i, i % 3 ? 66 : 65, 1, 5, i % 7, arguments, i % 3 ? 0 : 48);
    }
    for (int apart = 0; apart < 2; apart++) {
        const struct recording_options options = {.follow = true, .only_cpu = -1, .apart = apart};
        const int copy = memfd_create("recording", MFD_CLOEXEC);
        struct recording *recording;
        struct text why = {0};
        assert_int_equal(write(copy, file, sizeof *file), sizeof *file);
        if (recording_open_file(copy, "a copy", &options, &recording, &why))
            fail_msg("%s", text_string(&why));
        assert_true(recording_is_spdk(recording));
        assert_false(recording_is_live(recording));
        listed[apart] = reader_list(recording, 80);
        recording_close(recording);
    }
    assert_true(listed[0].length > COUNT * 20);
    assert_string_equal(text_string(&listed[0]), text_string(&listed[1]));
    text_free(&listed[0]);
    text_free(&listed[1]);
    free(file);
}

/* Records in bursts that wrap around a ring many times: the last record always comes, and what does not come is counted. */
static void bursts(bool keeps_up)
{
    uint64_t number = 0, next = 0, lost = 0, random = 88172645463325252u;
    open_usual("all");
    struct recording *recording = follow(true);
    if (keeps_up)
        assert_int_equal(recording_keep_up(recording), 0);
    for (int i = 0; i < BURSTS; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        for (uint64_t end = number + 1 + random % (i % 2 ? 10 : BURST_MAX); number < end; number++)
            SPOOR_RECORD(TCP_REQ_NEW, 0, number);
        for (int attempt = 0; next < number && attempt < PATIENCE; attempt++) {
            struct recording_event event;
            while (recording_next(recording, &event) == 1) {
                assert_int_equal(event.object, next + event.lost);
                lost += event.lost;
                next = event.object + 1;
            }
            if (next < number)
                wait_a_little();
            if (next < number)
                assert_int_equal(recording_refresh(recording), 1);
        }
        assert_int_equal(next, number);
    }
    assert_int_equal(recording_counts(recording).overwritten, lost);
    assert_int_equal(recording_counts(recording).damaged, 0);
    recording_close(recording);
}

static void bursts_kept_up_with(void **state)
{
    (void)state;
    bursts(true);
}

static void bursts_at_times(void **state)
{
    (void)state;
    bursts(false);
}

/* ---- it dies ---- */

/* Returns the only child of this process. */
static pid_t child(void)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    return (pid_t)atoi(text);
}

static void it_dies(void **state)
{
    struct recording_event event;
    unsigned count = 0;
    (void)state;
    open_usual("all");
    for (uint64_t i = 0; i < 10; i++)
        SPOOR_RECORD(TCP_REQ_NEW, 0, i);
    struct recording *recording = follow(true);
    for (int i = 0; !count && i < PATIENCE; i++) {
        wait_a_little();
        assert_int_equal(recording_refresh(recording), 1);
        count += recording_next(recording, &event) == 1;
    }
    assert_int_equal(kill(child(), SIGKILL), 0);
    while (recording_next(recording, &event) == 1) /* what had come */
        count++;
    assert_int_equal(count, 10);
    assert_false(recording_is_lost(recording)); /* it was not asked since */
    assert_true(recording_is_live(recording));
    assert_int_equal(recording_refresh(recording), 0);
    assert_true(recording_is_lost(recording));
    assert_false(recording_is_live(recording));
    assert_int_equal(recording_next(recording, &event), 0);
    assert_int_equal(recording_refresh(recording), 0);
    assert_int_equal(recording_keep_up(recording), 0);
    recording_close(recording);
}

/* ---- it lies ---- */

static uint64_t seed = 1;

static uint64_t chance(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return below ? (seed >> 33) % below : 0;
}

static void lie(struct text *answer)
{
    static const uint64_t borders[] = {
        0,         1,          2,         7,          64,         255, 4096,
        INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT16_MAX, 12,  0xffffffff00480010};
    if (chance(3))
        return; /* so that some come to the events */
    for (uint64_t i = chance(6); i && answer->length >= 8; i--) {
        const size_t at = chance(chance(2) || answer->length < 512 ? answer->length - 7 : 505);
        const uint64_t value = borders[chance(sizeof borders / sizeof *borders)];
        if (chance(3))
            memcpy(answer->bytes + (at & ~(size_t)7), &value, sizeof value);
        else
            answer->bytes[at] ^= (char)(1 << chance(8));
    }
    if (!chance(40))
        text_truncate(answer, chance(answer->length));
}

/* Uses what is there in every way. */
static size_t use(struct recording *recording)
{
    struct event_printer printer;
    struct recording_event event;
    struct object_step step;
    struct recording_owner owner;
    struct text out = {0};
    struct objects *objects = objects_make(recording);
    size_t count = 0;
    event_printer_init(&printer, recording);
    event_json_head(&out, recording);
    for (size_t i = 0; recording_owner_at(recording, i, &owner); i++)
        text_append(&out, owner.description, owner.description_length);
    for (int turn = 0; turn < 6; turn++) {
        while (count < 100000 && recording_next(recording, &event) == 1) {
            assert_int_equal(objects_follow(objects, &event, &step), 0);
            text_clear(&out);
            event_print(&printer, &out, &event, &step);
            event_json(&out, recording, &event, &step, false);
            count++;
        }
        record_some((uint64_t)turn);
        recording_refresh(recording);
        recording_describe_older(recording, &out);
        recording_clock_error(recording);
        recording_behind(recording);
    }
    text_free(&out);
    objects_free(objects);
    return count;
}

static void it_lies(void **state)
{
    enum { ROUNDS = 400 };
    const char *wanted = getenv("DAMAGED_ROUNDS"); /* set by `make check-deep` to run more rounds */
    const unsigned rounds = wanted ? (unsigned)atoi(wanted) : ROUNDS;
    unsigned opened = 0, lost = 0;
    size_t count = 0;
    (void)state;
    open_usual("all");
    for (uint64_t i = 0; i < 20; i++)
        record_some(i);
    apart_answers_change(lie);
    for (unsigned round = 0; round < rounds; round++) {
        const struct recording_options options = {.follow = true, .only_cpu = -1, .apart = true};
        struct recording *recording;
        struct text why = {0};
        seed = round; /* which the process begins with */
        if (!recording_open(spoor_trace_path(), &options, &recording, &why)) {
            opened++;
            count += use(recording);
            lost += recording_is_lost(recording);
            recording_close(recording);
        } else {
            assert_true(why.length > 0);
        }
        text_free(&why);
    }
    apart_answers_change(NULL);
    assert_in_range(opened, rounds / 20, rounds - 1);
    assert_in_range(lost, 1, opened - 1);
    assert_int_not_equal(count, 0);
}

/* ---- replay ---- */

/* A tracepoint that is declared after the recording was opened has an id beyond those for which there was room. */
static void declared_later(void **state)
{
    enum { ID = 60000 };
    struct {
        struct layout_section section;
        struct layout_tracepoint tracepoint;
    } more = {{.type = LAYOUT_SECTION_TRACEPOINTS,
               .item_bytes = sizeof(struct layout_tracepoint),
               .count = 1,
               .bytes = sizeof more},
              {.id = ID, .life = LAYOUT_LIFE_USES}};
    (void)state;
    for (int with_kernel = 0; with_kernel < 2; with_kernel++) {
        open_usual("all");
        const char *const paths[] = {spoor_trace_path(), NULL};
        struct replay *replay;
        struct text why = {0};
        if (replay_open(paths, NULL, 0, with_kernel, &replay, &why))
            fail_msg("%s", text_string(&why));
        const struct recording_model *model = recording_model(replay_recording(replay, 0));
        uint32_t listened = 1;
        while (strcmp(model->tracepoints[listened]->name, "TCP_REQ_NEW"))
            listened++;
        assert_int_equal(replay_listen(replay, 0, listened, (struct replay_listener){0}), 0);
        struct recording_view view = look();
        const int file = open(spoor_trace_path(), O_RDWR | O_CLOEXEC);
        const struct layout_header *header = view_header(&view);
        const uint64_t used = view_control(&view)->sections_used, now = used + sizeof more;
        assert_int_equal(pwrite(file, &more, sizeof more, (off_t)(header->sections_offset + used)),
                         sizeof more);
        assert_int_equal(
            pwrite(file, &now, sizeof now,
                   (off_t)(header->control_offset + offsetof(struct layout_control, sections_used))),
            sizeof now);
        SPOOR_RECORD(TCP_REQ_NEW, 0, 1);
        SPOOR_RECORD(TCP_REQ_NEW, 0, 2);
        /* The first of both becomes one of the new tracepoint. */
        const uint8_t *ring = view.memory + view_place(&view, 0)->offset + LAYOUT_PAGE;
        const struct layout_block *block = NULL;
        for (unsigned i = 0; !block && i < view_place(&view, 0)->bytes / LAYOUT_BLOCK_BYTES; i++)
            if (((const struct layout_block *)(ring + i * LAYOUT_BLOCK_BYTES))->sequence)
                block = (const struct layout_block *)(ring + i * LAYOUT_BLOCK_BYTES);
        assert_non_null(block);
        const uint64_t *start = (const uint64_t *)((const uint8_t *)block + block->first);
        const uint64_t changed = (*start & ~UINT64_C(0xffff0000)) | (uint64_t)ID << 16;
        assert_int_equal(layout_record_id(*start), listened);
        assert_int_equal(
            pwrite(file, &changed, sizeof changed, (off_t)((const uint8_t *)start - view.memory)),
            sizeof changed);
        struct replay_event event;
        int got = 0;
        for (int i = 0; !got && i < PATIENCE; i++) {
            wait_a_little();
            assert_int_equal(replay_refresh(replay), 1);
            got = replay_next(replay, &event);
        }
        assert_int_equal(got, 1);
        assert_int_equal(event.event->object, 2);
        assert_int_equal(recording_counts(replay_recording(replay, 0)).unknown, 0);
        assert_int_equal(recording_model(replay_recording(replay, 0))->tracepoint_room, ID + 1);
        replay_free(replay);
        close(file);
        view_close(&view);
        spoor_trace_close();
    }
}

static struct recording_format failing;

static int fail_once(struct recording *recording, struct recording_event *events, int most)
{
    failing.events = recording_format_apart.events;
    (void)recording, (void)events, (void)most;
    return -ENOMEM;
}

/* Who only asks how far the recording is does not take an error away: the next event is still the error. */
static void error_is_kept(void **state)
{
    (void)state;
    open_usual("all");
    const char *const paths[] = {spoor_trace_path(), NULL};
    struct replay *replay;
    struct text why = {0};
    if (replay_open(paths, NULL, 0, true, &replay, &why))
        fail_msg("%s", text_string(&why));
    failing = recording_format_apart;
    failing.events = fail_once;
    replay_recording(replay, 0)->format = &failing;
    SPOOR_RECORD(TCP_REQ_NEW, 0, 1);
    replay_horizon(replay);
    struct replay_event event;
    assert_int_equal(replay_next(replay, &event), -ENOMEM);
    assert_int_equal(replay_next(replay, &event), -ENOMEM);
    replay_free(replay);
    spoor_trace_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_same_comes), TEST(the_same_of_spdk), TEST(bursts_kept_up_with), TEST(bursts_at_times),
        TEST(it_dies),        TEST(it_lies),          TEST(declared_later),      TEST(error_is_kept),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
