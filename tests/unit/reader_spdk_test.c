/* SPDX-License-Identifier: BSD-3-Clause */
/* SPDK's trace files, made by hand: the listing that its users know, and everything that may be wrong with a file. */
#include "reader_testing.h"

enum { IO_START = 65, IO_DONE, REQ_NEW = 129, REQ_NEED, REQ_TX, REQ_READY, REQ_EXECUTED, REQ_TO_COMPLETE, REQ_C2H, REQ_COMPLETED };

#define IO 0x7ffb7d48b110u
#define REQUEST 0x7ffb7d48b110u /* SPDK's ctx is the request: types differ, so the id may be the same */
#define QPAIR 0x618000004080u

static struct spdk_file *make_seed_file(void)
{
    static const struct {
        const char *name;
        uint16_t id;
    } requests[] = {
        {"TCP_REQ_NEW", REQ_NEW},           {"TCP_REQ_NEED_BUFFER", REQ_NEED},
        {"TCP_REQ_TX_H_TO_C", REQ_TX},      {"TCP_REQ_RDY_TO_EXECUTE", REQ_READY},
        {"TCP_REQ_EXECUTED", REQ_EXECUTED}, {"TCP_REQ_RDY_TO_COMPLETE", REQ_TO_COMPLETE},
        {"TCP_REQ_TRANSFER_C2H", REQ_C2H},  {"TCP_REQ_COMPLETED", REQ_COMPLETED},
    };
    struct spdk_file *file = spdk_file_make(1000000000);
    spdk_add_types(file);
    struct spdk_tracepoint *start = spdk_add_tracepoint(file, "BDEV_IO_START", IO_START, 1, 1, 1);
    spdk_add_argument(start, "type", 0, 8);
    spdk_add_argument(start, "ctx", 1, 8);
    spdk_add_argument(start, "offset", 0, 8);
    spdk_add_argument(start, "len", 0, 8);
    start->relations[0].object_type = 2;
    start->relations[0].argument = 1;
    struct spdk_tracepoint *done = spdk_add_tracepoint(file, "BDEV_IO_DONE", IO_DONE, 1, 1, 0);
    spdk_add_argument(done, "ctx", 1, 8);
    done->relations[0].object_type = 2;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        spdk_add_argument(spdk_add_tracepoint(file, requests[i].name, requests[i].id, 2, 2, i == 0), "qpair", 1, 8);
    return file;
}

/* The seed's listing. Its times were computed in single precision: the seed prints 0.810 for 0.812. */
static void test_listing_of_the_seed(void **state)
{
    (void)state;
    static const char expected[] =
        " 0: 141184.297 t02 TCP_REQ_NEW                           id:    r520             qpair: 0x618000004080\n"
        " 0: 141185.109 t02 TCP_REQ_NEED_BUFFER                   id:    r520             time:  0.812            qpair: 0x618000004080\n"
        " 0: 141186.500 t02 TCP_REQ_TX_H_TO_C                     id:    r520             time:  2.203            qpair: 0x618000004080\n"
        " 0: 141189.609 t02 TCP_REQ_RDY_TO_EXECUTE                id:    r520             time:  5.312            qpair: 0x618000004080\n"
        " 0: 141193.578 b00 BDEV_IO_START                         id:    i429 (r520)      type:  2                ctx:   0x7ffb7d48b110   offset:12048            len:   2\n"
        " 0: 143030.609 b00 BDEV_IO_DONE                          id:    i429 (r520)      time:  1837.031         ctx:   0x7ffb7d48b110\n"
        " 0: 143032.734 t02 TCP_REQ_EXECUTED                      id:    r520             time:  1848.437         qpair: 0x618000004080\n"
        " 0: 143033.031 t02 TCP_REQ_RDY_TO_COMPLETE               id:    r520             time:  1848.734         qpair: 0x618000004080\n"
        " 0: 143034.344 t02 TCP_REQ_TRANSFER_C2H                  id:    r520             time:  1850.047         qpair: 0x618000004080\n"
        " 0: 143606.969 t02 TCP_REQ_COMPLETED                     id:    r520             time:  2422.672         qpair: 0x618000004080\n";
    enum { BASE = 1000000 };
    const uint64_t qpair = QPAIR, context = REQUEST;
    const uint64_t start[] = {2, context, 12048, 2};
    struct spdk_file *file = make_seed_file();
    struct recording *recording;
    struct text why = {0};
    static const struct {
        uint64_t time;
        uint16_t id;
    } after[] = {{143032734, REQ_EXECUTED}, {143033031, REQ_TO_COMPLETE}, {143034344, REQ_C2H}, {143606969, REQ_COMPLETED}};
    for (unsigned i = 0; i < 520; i++) /* what came before, on the other lcore */
        spdk_record(file, 1, BASE + i, REQ_NEW, 2, 0, 16 + i % 8, &qpair, 8);
    for (unsigned i = 0; i < 429; i++)
        spdk_record(file, 1, BASE + 600 + i, IO_START, 0, 0, 4096, (uint64_t[]){1, 0, 0, 0}, 32);
    spdk_record(file, 0, BASE + 141184297, REQ_NEW, 2, 0, REQUEST, &qpair, 8);
    spdk_record(file, 0, BASE + 141185109, REQ_NEED, 2, 0, REQUEST, &qpair, 8);
    spdk_record(file, 0, BASE + 141186500, REQ_TX, 2, 0, REQUEST, &qpair, 8);
    spdk_record(file, 0, BASE + 141189609, REQ_READY, 2, 0, REQUEST, &qpair, 8);
    spdk_record(file, 0, BASE + 141193578, IO_START, 0, 0, IO, start, sizeof start);
    spdk_record(file, 0, BASE + 143030609, IO_DONE, 0, 0, IO, &context, 8);
    for (unsigned i = 0; i < 4; i++)
        spdk_record(file, 0, BASE + after[i].time, after[i].id, 2, 0, REQUEST, &qpair, 8);
    assert_int_equal(reader_open_bytes(file, sizeof *file, "seed", &recording, &why), 0);
    struct text out = reader_list(recording, 0);
    const char *tail = strstr(text_string(&out), " 0: 141184.297");
    if (!tail)
        fail_msg("%.2000s", text_string(&out));
    assert_string_equal(tail, expected);
    text_free(&out);
    recording_close(recording);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listing_of_the_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
