/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a shared library while it runs and calls into it: opens LIBRARY [TIMES [MILLISECONDS BEFORE AND AFTER
 * IT IS OPENED]]. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "warm.h"

int main(int argc, char **argv)
{
    unsigned pause = argc > 3 ? (unsigned)atoi(argv[3]) * 1000 : 0;
    usleep(pause);
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*greet)(const char *, int) =
        library ? (int (*)(const char *, int))dlsym(library, "greeter_greet") : NULL;
    if (!greet) {
        fprintf(stderr, "opens: %s\n", dlerror());
        return 1;
    }
    usleep(pause);
    for (int i = 1; i <= (argc > 2 ? atoi(argv[2]) : 1); i++)
        greet("library", i);
    return 0;
}
