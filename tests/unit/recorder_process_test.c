/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the recorder with signal handlers, fork, kill and dumps. */
#include "recorder_testing.h"

/* ---- signals, fork, kill ---- */

static void record_in_handler(int number)
{
    (void)number;
    for (unsigned i = 0; i < 5; i++)
        SPOOR_RECORD(TCP_REQ_NEW, 1, (uint64_t)i);
}

static void a_signal_handler_may_be_the_first_to_record(void **state)
{
    (void)state;
    open_usual("all");
    signal(SIGUSR1, record_in_handler);
    raise(SIGUSR1);
    SPOOR_RECORD(TCP_REQ_NEW, 2, 0);
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(gather_here()->count, 6);
    spoor_trace_close();
}

static int child_status(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void a_child_has_its_own_recording(void **state)
{
    (void)state;
    open_usual("bdev");
    const uint32_t owner = spoor_owner_register(&spoor_owner_bdev, "of the parent");
    SPOOR_RECORD(BDEV_IO_DONE, owner, 0, NULL);
    int ready[2], go[2];
    assert_int_equal(pipe(ready) | pipe(go), 0);
    const pid_t child = fork();
    if (child == 0) {
        char byte;
        SPOOR_RECORD(BDEV_IO_DONE, owner, (uint64_t)1, NULL);
        SPOOR_RECORD(BDEV_IO_DONE, owner, (uint64_t)2, NULL);
        SPOOR_RECORD(TCP_REQ_NEW, owner, 0);
        const uint32_t own = spoor_owner_register(&spoor_owner_bdev, "of the child");
        int bad = own == owner || spoor_trace_path() == NULL || spoor_trace_lost() != 0;
        if (write(ready[1], "x", 1) != 1 || read(go[0], &byte, 1) != 1)
            bad = 1;
        spoor_trace_close();
        _exit(bad);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    SPOOR_RECORD(BDEV_IO_DONE, owner, (uint64_t)3, NULL);
    char path[128];
    snprintf(path, sizeof path, "%s/unit.%d.spoor", directory, (int)child);
    struct recording_view theirs, ours = look();
    assert_true(view_open(&theirs, path));
    assert_memory_equal(view_header(&theirs)->magic, LAYOUT_MAGIC, 8);
    assert_int_equal(view_header(&theirs)->pid, child);
    assert_int_equal(view_header(&theirs)->parent_pid, getpid());
    assert_int_equal(owner_entries(&theirs, owner), 1);
    assert_int_equal(owner_entries(&theirs, owner + 1), 1);
    assert_int_equal(owner_entries(&ours, owner + 1), 0);
    struct gathered *all = gather_ring(&theirs, 0);
    assert_int_equal(all->count, 2);
    assert_int_equal(all->records[1].record.object, 2);
    all = gather_ring(&ours, 0);
    assert_int_equal(all->count, 2);
    assert_int_equal(all->records[1].record.object, 3);
    const int file = open(path, O_RDONLY);
    assert_int_equal(flock(file, LOCK_SH | LOCK_NB), -1);
    close(file);
    assert_int_equal(write(go[1], "x", 1), 1);
    assert_int_equal(child_status(child), 0);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(go[i]);
    }
    view_close(&theirs);
    view_close(&ours);
    spoor_trace_close();
    spoor_owner_unregister(owner);
    assert_int_equal(files_in_directory(), 0);
}

static void a_child_that_records_nothing_leaves_nothing(void **state)
{
    (void)state;
    open_usual("all");
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(child_status(child), 0);
    assert_int_equal(files_in_directory(), 1);
    const pid_t closing = fork();
    if (closing == 0) {
        spoor_trace_close(); /* does not close the parent's recording */
        SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
        _exit(0);
    }
    assert_int_equal(child_status(closing), 0);
    assert_int_equal(files_in_directory(), 1);
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    assert_int_equal(gather_here()->count, 1);
    spoor_trace_close();
}

static void the_recording_survives_sigkill(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        open_usual("all");
        for (uint64_t i = 0; i < 10; i++)
            SPOOR_RECORD(TCP_REQ_NEW, 0, i);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(child_status(child), 1000 + SIGKILL);
    char path[128];
    snprintf(path, sizeof path, "%s/unit.%d.spoor", directory, (int)child);
    struct recording_view view;
    assert_true(view_open(&view, path));
    assert_int_equal(gather_ring(&view, 0)->count, 10);
    view_close(&view);
    unlink(path);
}

static void count(void *context, uint64_t number, const struct layout_record *record)
{
    (void)number, (void)record;
    ++*(unsigned *)context;
}

/* Records as a handler would that interrupts a record between its reservation and its end. */
static void a_handler_does_not_fill_the_ring_above_a_record(void **state)
{
    (void)state;
    open_usual("all");
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    struct recording_view view = look();
    const uint32_t id = view_tracepoint(&view, "TCP_REQ_NEW");
    struct spoor_place_ place = {0};
    assert_true(spoor_reserve_(&place, SPOOR_RECORD_WORDS_));
    for (unsigned i = 0; i < 1000; i++)
        SPOOR_RECORD(TCP_REQ_NEW, 0, i);
    const uint64_t lost = view_control(&view)->lost[LAYOUT_LOST_NESTED];
    assert_true(lost > 400 && lost < 600);
    unsigned walked = 0;
    ring_walk(&view, 0, count, &walked);
    /* without those that follow the open record in its block */
    assert_int_equal(walked, 1 + 1000 - lost - 122);
    place.record[1] = place.stamp;
    place.record[2] = place.record[3] = 0;
    spoor_commit_(&place, (uint64_t)id << 16 | 32);
    walked = 0;
    ring_walk(&view, 0, count, &walked);
    assert_int_equal(walked, 1 + 1 + 1000 - lost);
    assert_int_equal(view_ring(&view, 0)->committed, view_ring(&view, 0)->reserved);

    /* A record that is never finished: for a tenth of a second, records are lost. */
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    assert_true(spoor_reserve_(&place, SPOOR_RECORD_WORDS_));
    while (view_ring(&view, 0)->committed == place.before)
        SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    assert_true(view_control(&view)->lost[LAYOUT_LOST_NESTED] > lost);
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    assert_int_equal(view_ring(&view, 0)->committed, view_ring(&view, 0)->reserved);
    view_close(&view);
}

/* A ring of four blocks can keep three blocks with unfinished records. */
static void what_is_given_up_keeps_its_block(void **state)
{
    (void)state;
    enum { KEPT = 3, PATTERN = 0x5a5a };
    open_usual("all");
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    struct recording_view view = look();
    const struct layout_ring *ring = view_ring(&view, 0);
    const uint64_t *lost = &view_control(&view)->lost[LAYOUT_LOST_NESTED];
    const uint32_t id = view_tracepoint(&view, "TCP_REQ_NEW");
    struct spoor_place_ places[KEPT + 1] = {0};
    for (unsigned i = 0; i < KEPT; i++) {
        assert_true(spoor_reserve_(&places[i], SPOOR_RECORD_WORDS_));
        for (unsigned word = 0; word < SPOOR_RECORD_WORDS_; word++)
            places[i].record[word] = PATTERN;
        while (ring->committed == places[i].before)
            SPOOR_RECORD(TCP_REQ_NEW, 0, i);
    }
    assert_true(spoor_reserve_(&places[KEPT], SPOOR_RECORD_WORDS_));
    const uint64_t before = spoor_counter_(), lost_before = *lost;
    unsigned fit = 0, asked = 0;
    for (; spoor_counter_() - before < view_header(&view)->counter_hz / 4; asked++) {
        const uint64_t lost_now = *lost;
        SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
        fit += *lost == lost_now;
    }
    /* the ring is full, since this block may not be given up as well */
    assert_true(fit < LAYOUT_BLOCK_WORDS / SPOOR_RECORD_WORDS_);
    assert_int_equal(*lost - lost_before + fit, asked);
    assert_int_equal(ring->committed, places[KEPT].before);
    const uint64_t newest = ring_position(ring) / LAYOUT_BLOCK_WORDS;

    /* The records are finished after all, and their blocks are used again. */
    for (unsigned i = 0; i <= KEPT; i++) {
        for (unsigned word = 0; word < SPOOR_RECORD_WORDS_ && i < KEPT; word++)
            assert_int_equal(places[i].record[word], PATTERN);
        places[i].record[1] = places[i].stamp;
        places[i].record[2] = places[i].record[3] = 0;
        spoor_commit_(&places[i], (uint64_t)id << 16 | 32);
    }
    assert_int_equal(ring->committed, ring->reserved);
    const uint64_t lost_now = *lost;
    for (unsigned i = 0; i < 1000; i++)
        SPOOR_RECORD(TCP_REQ_NEW, 0, i);
    assert_int_equal(*lost, lost_now);
    for (unsigned slot = 0; slot < KEPT + 1; slot++)
        assert_true(view_blocks(&view, 0)[slot].sequence > newest);
    view_close(&view);
}

/* ---- dumps ---- */

static unsigned records_in(const char *path)
{
    struct recording_view view;
    assert_true(view_open(&view, path));
    assert_memory_equal(view_header(&view)->magic, LAYOUT_MAGIC, 8);
    assert_true(view_tracepoint(&view, "TCP_REQ_NEW") != 0);
    unsigned count = 0;
    struct gathered *all = gather_ring(&view, 0);
    for (unsigned i = 0; i < all->count; i++)
        count += all->records[i].record.stamp >= view_control(&view)->from;
    view_close(&view);
    return count;
}

static void a_dump_is_a_recording(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/dump", directory);
    assert_int_equal(spoor_trace_dump(path, 0), -ENOENT);
    open_usual("all");
    for (uint64_t i = 0; i < 10; i++)
        SPOOR_RECORD(TCP_REQ_NEW, 0, i);
    assert_int_equal(spoor_trace_dump(path, 0), 0);
    assert_int_equal(records_in(path), 10);
    assert_int_equal(spoor_trace_dump(path, 0), -EEXIST);
    unlink(path);
    usleep(1100000);
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    assert_int_equal(spoor_trace_dump(path, 1), 0);
    assert_int_equal(records_in(path), 1);
    unlink(path);
    assert_int_equal(spoor_trace_dump("/nonexistent/file", 1), -ENOENT);
    spoor_trace_close();
}

static void a_signal_makes_a_dump(void **state)
{
    (void)state;
    struct spoor_trace_options options = usual("all");
    char prefix[128], path[160];
    snprintf(prefix, sizeof prefix, "%s/dumped", directory);
    options.dump_path = prefix;
    options.dump_signal = SIGUSR2;
    assert_int_equal(spoor_trace_open(&options), 0);
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    raise(SIGUSR2);
    raise(SIGUSR2);
    for (int i = 1; i <= 2; i++) {
        snprintf(path, sizeof path, "%s.%d.%d.spoor", prefix, (int)getpid(), i);
        assert_int_equal(records_in(path), 1);
        unlink(path);
    }
    spoor_trace_close();
    struct sigaction action;
    sigaction(SIGUSR2, NULL, &action);
    assert_ptr_equal(action.sa_handler, SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_signal_handler_may_be_the_first_to_record),
        TEST(a_handler_does_not_fill_the_ring_above_a_record),
        TEST(what_is_given_up_keeps_its_block),
        TEST(a_child_has_its_own_recording),
        TEST(a_child_that_records_nothing_leaves_nothing),
        TEST(the_recording_survives_sigkill),
        TEST(a_dump_is_a_recording),
        TEST(a_signal_makes_a_dump),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
