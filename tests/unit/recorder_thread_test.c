/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the recorder's owners and of the rings of threads. */
#include "recorder_testing.h"

/* ---- owners ---- */

static void owners_have_descriptions_that_change(void **state)
{
    (void)state;
    const uint32_t early = spoor_owner_register(&spoor_owner_bdev, "null0");
    open_usual("all");
    const uint32_t later = spoor_owner_register(&spoor_owner_connection, NULL);
    assert_true(early != SPOOR_NO_OWNER && later != SPOOR_NO_OWNER && early != later);
    spoor_owner_describe(early, "null0, busy");
    spoor_owner_describe(later, "10.0.0.1:4420");
    spoor_owner_unregister(later);
    spoor_owner_describe(later, "too late");
    spoor_owner_unregister(4711);
    struct recording_view view = look();
    const struct layout_owner *first = view_owner(&view, 0);
    assert_int_equal(first->id, early);
    assert_int_equal(first->type, 1);
    assert_int_equal(first->since, 0);
    assert_true(first->until != UINT64_MAX && first->version % 2 == 0);
    assert_memory_equal(first->description, "null0", first->description_bytes);
    assert_int_equal(owner_entries(&view, early), 2);
    assert_int_equal(owner_entries(&view, later), 2);
    const struct layout_owner *second = view_owner(&view, 2);
    assert_int_equal(second->id, early);
    assert_int_equal(second->since, first->until);
    assert_int_equal(second->until, UINT64_MAX);
    assert_memory_equal(second->description, "null0, busy", second->description_bytes);
    assert_int_equal(view_owner(&view, 1)->description_bytes, 0);
    view_close(&view);
    spoor_trace_close();

    open_usual("all"); /* the living owners are in the next recording, too */
    view = look();
    assert_int_equal(owner_entries(&view, early), 1);
    assert_int_equal(owner_entries(&view, later), 0);
    assert_memory_equal(view_owner(&view, 0)->description, "null0, busy", 11);
    view_close(&view);
    spoor_trace_close();
    spoor_owner_unregister(early);
}

static void a_full_table_of_owners_keeps_the_living(void **state)
{
    (void)state;
    struct spoor_trace_options options = usual("all");
    options.owners = 4;
    assert_int_equal(spoor_trace_open(&options), 0);
    uint32_t ids[6];
    for (unsigned i = 0; i < 3; i++)
        ids[i] = spoor_owner_register(&spoor_owner_bdev, "one");
    for (unsigned i = 0; i < 20; i++)
        spoor_owner_describe(ids[2],
                             i % 2 != 0 ? "odd" : "even"); /* takes the entry that was unused for longest */
    struct recording_view view = look();
    assert_int_equal(owner_entries(&view, ids[0]), 1);
    assert_int_equal(owner_entries(&view, ids[2]), 2);
    assert_int_equal(view_control(&view)->owners_lost, 0);
    for (unsigned i = 3; i < 6; i++)
        ids[i] = spoor_owner_register(&spoor_owner_bdev, "more");
    assert_true(ids[5] != SPOOR_NO_OWNER);
    assert_int_equal(view_control(&view)->owners_lost, 2);
    view_close(&view);
    spoor_trace_close();
    for (unsigned i = 0; i < 6; i++)
        spoor_owner_unregister(ids[i]);
}

/* ---- threads ---- */

static void *record_once(void *name)
{
    if (name != NULL)
        prctl(PR_SET_NAME, name);
    SPOOR_RECORD(TCP_REQ_NEW, 0, (uintptr_t)name);
    return NULL;
}

struct run {
    void *(*function)(void *);
    void *argument;
    pid_t tid;
};

static void *run(void *argument)
{
    struct run *here = argument;
    here->tid = gettid();
    return here->function(here->argument);
}

/* Runs a thread and waits until the kernel has forgotten it, too, which is a moment after it was joined. */
static void run_thread(void *(*function)(void *), void *argument)
{
    struct run here = {function, argument, 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, &here), 0);
    pthread_join(thread, NULL);
    while (tgkill(getpid(), here.tid, 0) == 0)
        sched_yield();
}

static void rings_are_kept_after_their_threads_and_then_reused(void **state)
{
    (void)state;
    struct spoor_trace_options options = usual("all");
    options.kept = 2;
    assert_int_equal(spoor_trace_open(&options), 0);
    static char names[][8] = {"first", "second", "third", "fourth", "fifth"};
    for (unsigned i = 0; i < 5; i++)
        run_thread(record_once, names[i]);
    struct recording_view view = look();
    assert_true(view_has_ring(&view, 2));
    assert_false(view_has_ring(&view, 3));
    /* two rings are kept: the fourth thread took the ring of the first, the fifth that of the second; their old
     * records are still there */
    assert_string_equal(view_ring(&view, 0)->thread, "fourth");
    assert_int_equal(view_ring(&view, 0)->tenants, 2);
    assert_string_equal(view_ring(&view, 1)->thread, "fifth");
    assert_string_equal(view_ring(&view, 2)->thread, "third");
    assert_string_equal(view_blocks(&view, 0)[1].thread, "first");
    assert_string_equal(view_blocks(&view, 0)[2].thread, "fourth");
    struct gathered *all = gather_ring(&view, 0);
    assert_int_equal(all->count, 2);
    assert_int_equal(all->records[1].number, 1);
    view_close(&view);
    spoor_trace_close();
}

static pthread_barrier_t barrier;

static void *record_and_wait(void *argument)
{
    (void)argument;
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void threads_without_a_ring_count_their_records(void **state)
{
    (void)state;
    struct spoor_trace_options options = usual("all");
    options.threads = 2;
    assert_int_equal(spoor_trace_open(&options), 0);
    pthread_barrier_init(&barrier, NULL, 3);
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, record_and_wait, NULL);
    struct recording_view view = look();
    while (!view_has_ring(&view, 1))
        sched_yield();
    for (unsigned i = 0; i < 100; i++)
        SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    assert_int_equal(spoor_trace_lost(), 100);
    assert_int_equal(view_control(&view)->lost[LAYOUT_LOST_LIMIT], 100);
    assert_int_equal(spoor_trace_thread("main"), -EAGAIN);
    pthread_barrier_wait(&barrier);
    const pid_t tid = (pid_t)view_ring(&view, 0)->tid;
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    while (tgkill(getpid(), tid, 0) == 0)
        sched_yield();
    assert_int_equal(spoor_trace_thread("main"), 0); /* now a ring is free */
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    assert_int_equal(spoor_trace_lost(), 100);
    pthread_barrier_destroy(&barrier);
    view_close(&view);
    spoor_trace_close();
}

static void a_program_that_closes_everything_is_not_harmed(void **state)
{
    (void)state;
    open_usual("all");
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    struct recording_view view = look();
    char other[128];
    snprintf(other, sizeof other, "%s/other", directory);
    /* the number of the recorder's descriptor now belongs to another file */
    for (int file = 3; file < 64; file++) {
        char link[64], target[PATH_MAX] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        if (readlink(link, target, sizeof target - 1) > 0 && strcmp(target, spoor_trace_path()) == 0) {
            const int theirs = open(other, O_RDWR | O_CREAT, 0600);
            dup2(theirs, file);
            close(theirs);
        }
    }
    run_thread(record_once, NULL);
    assert_int_equal(view_control(&view)->lost[LAYOUT_LOST_SPACE], 1);
    struct stat status;
    assert_int_equal(stat(other, &status), 0);
    assert_int_equal(status.st_size, 0);
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0); /* a ring that exists already stays usable */
    assert_int_equal(gather_ring(&view, 0)->count, 2);
    view_close(&view);
    spoor_trace_close();
    unlink(other);
}

static void no_space_is_an_error_at_open_and_lost_records_later(void **state)
{
    (void)state;
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct spoor_trace_options options = usual("all");
    assert_int_equal(spoor_trace_open(&options), -EFBIG); /* and no SIGXFSZ */
    assert_int_equal(files_in_directory(), 0);
    setrlimit(RLIMIT_FSIZE, &before);
    open_usual("all");
    setrlimit(RLIMIT_FSIZE, &limit);
    run_thread(record_once, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(spoor_trace_lost(), 1);
    spoor_trace_close();
}

static int stage;

static void *record_in_two_recordings(void *argument)
{
    (void)argument;
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    __atomic_store_n(&stage, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != 2)
        sched_yield();
    SPOOR_RECORD(TCP_REQ_NEW, 0, 0);
    return NULL;
}

static void a_second_recording_gets_its_own_rings(void **state)
{
    (void)state;
    open_usual("all");
    pthread_t thread;
    stage = 0;
    pthread_create(&thread, NULL, record_in_two_recordings, NULL);
    while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != 1)
        sched_yield();
    spoor_trace_close();
    open_usual("all");
    __atomic_store_n(&stage, 2, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    assert_int_equal(gather_here()->count, 1);
    assert_int_equal(spoor_trace_lost(), 0);
    spoor_trace_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(owners_have_descriptions_that_change),
        TEST(a_full_table_of_owners_keeps_the_living),
        TEST(rings_are_kept_after_their_threads_and_then_reused),
        TEST(threads_without_a_ring_count_their_records),
        TEST(a_program_that_closes_everything_is_not_harmed),
        TEST(no_space_is_an_error_at_open_and_lost_records_later),
        TEST(a_second_recording_gets_its_own_rings),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
