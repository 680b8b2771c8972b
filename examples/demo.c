/* SPDX-License-Identifier: BSD-3-Clause */
/* A small shop that never closes, to be watched with demo.bt: three clerks (threads) take orders, look up prices,
 * and write receipts into a file. It has two USDT probes:
 *   shop:order     an order came in; declared with the names of its arguments
 *   shop:receipt   a receipt was written: item, bytes; in one line where it happens
 *
 * Usage: demo [SECONDS]; without SECONDS it runs until it is stopped. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spoor/probe.h>

SPOOR_PROBE_DECLARE(shop, order, (const char *, customer), (const char *, item), (int, amount));

enum { CLERKS = 3, PAUSE_US = 2000 };

static const char *const customers[] = {"ada", "brian", "dennis", "grace", "ken", "margaret"};
static const struct item {
    const char *name;
    int price;   /* price in cents */
    int shelves; /* shelves to walk past before the item is found */
} items[] = {{"nails", 5, 1}, {"rope", 900, 4}, {"lamp", 2500, 16}, {"anvil", 12900, 64}};

struct clerk {
    unsigned number, seed;
    int book; /* descriptor of the receipts */
};

/* Slow for items that lie far back: this is what the script times. */
__attribute__((noinline)) int shop_find_price(const struct item *item)
{
    volatile unsigned walked = 0;
    for (int shelf = 0; shelf < item->shelves * 1000; shelf++)
        walked = walked + (unsigned)shelf;
    return item->price;
}

static void serve(struct clerk *clerk)
{
    char receipt[128];
    const char *customer = customers[rand_r(&clerk->seed) % (sizeof customers / sizeof customers[0])];
    const struct item *item = &items[rand_r(&clerk->seed) % (sizeof items / sizeof items[0])];
    int amount = 1 + rand_r(&clerk->seed) % 9;

    SPOOR_FIRE(shop, order, customer, item->name, amount);
    int price = shop_find_price(item);
    int length =
        snprintf(receipt, sizeof receipt, "%s: %d x %s = %d\n", customer, amount, item->name, amount * price);
    ssize_t written = pwrite(clerk->book, receipt, (size_t)length, 0);
    SPOOR_PROBE(shop, receipt, item->name, written);
}

static void *work(void *argument)
{
    struct clerk *clerk = argument;
    char name[16];
    snprintf(name, sizeof name, "clerk-%u", clerk->number);
    pthread_setname_np(pthread_self(), name);
    for (;;) {
        serve(clerk);
        usleep(PAUSE_US);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/demo-receipts-XXXXXX";
    pthread_t threads[CLERKS];
    struct clerk clerks[CLERKS];
    int book = mkstemp(path);
    if (book < 0) {
        perror(path);
        return 1;
    }
    unlink(path);
    for (unsigned i = 0; i < CLERKS; i++) {
        clerks[i] = (struct clerk){.number = i, .seed = i + 1, .book = book};
        if (pthread_create(&threads[i], NULL, work, &clerks[i]))
            return 1;
    }
    if (argc > 1) {
        sleep((unsigned)atoi(argv[1]));
        return 0;
    }
    for (;;)
        pause();
}
