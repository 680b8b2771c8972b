/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as a recording (recordings.h), converted to both formats. The result must be a recording
 * with as many events. */
#include "export/convert.h"
#include "recordings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t count_events(int file)
{
    const struct recording_options options = {.only_cpu = -1, .whole = true};
    struct recording *recording;
    struct recording_event event;
    struct text why = {0};
    uint64_t events = 0;
    if (recording_open_file(file, "converted", &options, &recording, &why))
        abort();
    while (recording_next(recording, &event) == 1)
        events++;
    recording_close(recording);
    text_free(&why);
    return events;
}

static void convert(const uint8_t *data, size_t size, convert_function *function)
{
    const struct recording_options options = {.only_cpu = -1, .whole = true};
    const volatile int stop = 0;
    struct convert_result result = {0};
    struct recording *recording;
    struct text why = {0};
    if (!recording_open_file(hostile_recording(data, size), "fuzz", &options, &recording, &why)) {
        const int file = memfd_create("converted", MFD_CLOEXEC);
        const bool may_be = function == convert_to_spdk || recording_is_spdk(recording);
        const struct convert_job job = {recording, recording_model(recording), file, &stop, &result, &why};
        const int error = file < 0 || !may_be ? -1 : function(&job);
        if (!error && count_events(file) != result.events)
            abort();
        if (error && file >= 0)
            close(file);
        recording_close(recording);
    }
    text_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    convert(data, size, convert_to_spdk);
    convert(data, size, convert_to_spoor);
    return 0;
}
