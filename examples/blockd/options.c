/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

static const char help[] =
    "usage: blockd [options]\n"
    "       blockd --control PATH COMMAND     to a server that runs\n"
    "A block server that speaks NBD, with probes and a flight recorder.\n"
    "  --port N             listen on TCP port N of --address; 0: any\n"
    "  --address ADDRESS    numeric; 127.0.0.1 if not given\n"
    "  --socket PATH        listen on a unix socket\n"
    "  --memory NAME:SIZE   export a device in memory (SIZE: bytes, or 64M, 2G, …)\n"
    "  --null NAME:SIZE     export a device that forgets what is written\n"
    "  --file NAME:SIZE     export the file NAME, made if need be; writes wait for the disk\n"
    "  --control PATH       a socket that takes commands: add KIND NAME SIZE, remove NAME,\n"
    "                       pause NAME, resume NAME, list\n"
    "  --threads N          that serve; one per core if not given\n"
    "  --trace WHAT         record: group, group:NAME, all, comma separated; help lists them\n";

int options_parse_size(const char *text, uint64_t *size)
{
    static const char units[] = "KMGT";
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (errno || (*end && (!unit || end[1])) || number == 0 || number > (uint64_t)INT64_MAX >> shift)
        return -EINVAL;
    *size = number << shift;
    return 0;
}

static int parse_export(struct options *options, const char *kind, const char *text)
{
    struct export_option *export = &options->exports[options->export_count];
    const char *colon = strchr(text, ':');
    if (options->export_count == EXPORTS_MAX) {
        fprintf(stderr, "blockd: at most %d exports\n", EXPORTS_MAX);
        return -EINVAL;
    }
    if (colon && (size_t)(colon - text) < sizeof export->name) {
        memcpy(export->name, text, (size_t)(colon - text));
        export->name[colon - text] = '\0';
    }
    export->kind = kind;
    if (!colon || !export_name_good(export->name) || options_parse_size(colon + 1, &export->size) < 0) {
        fprintf(stderr, "blockd: --%s %s: what is needed is NAME:SIZE, such as disk:64M\n", kind, text);
        return -EINVAL;
    }
    options->export_count++;
    return 0;
}

static int parse_number(const char *option, const char *text, unsigned least, unsigned most, unsigned *number)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || value < least || value > most) {
        fprintf(stderr, "blockd: --%s %s: a number from %u to %u is needed\n", option, text, least, most);
        return -EINVAL;
    }
    *number = (unsigned)value;
    return 0;
}

int options_parse(struct options *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"port", required_argument, NULL, 'p'},
        {"address", required_argument, NULL, 'a'},
        {"socket", required_argument, NULL, 's'},
        {"memory", required_argument, NULL, 'm'},
        {"null", required_argument, NULL, 'n'},
        {"control", required_argument, NULL, 'c'},
        {"file", required_argument, NULL, 'f'},
        {"threads", required_argument, NULL, 't'},
        {"trace", required_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option, error = 0;
    options->address = "127.0.0.1";
    while (!error && (option = getopt_long(argc, argv, "+he:", names, NULL)) >= 0) {
        switch (option) {
        case 'p':
            options->tcp = true;
            error = parse_number("port", optarg, 0, 65535, &options->port);
            break;
        case 'a': options->address = optarg; break;
        case 's': options->socket = optarg; break;
        case 'm': error = parse_export(options, "memory", optarg); break;
        case 'n': error = parse_export(options, "null", optarg); break;
        case 'f': error = parse_export(options, "file", optarg); break;
        case 'c': options->control = optarg; break;
        case 't': error = parse_number("threads", optarg, 1, THREAD_MAX - 1, &options->threads); break;
        case 'e': options->trace = optarg; break;
        case 'h': fputs(help, stdout); return 1;
        default: return -EINVAL; /* getopt has printed the message */
        }
    }
    if (!error && optind < argc && options->control) {
        options->command = argv + optind;
        return 0;
    }
    if (!error && optind < argc) {
        fprintf(stderr, "blockd: %s: not an option; see blockd --help\n", argv[optind]);
        error = -EINVAL;
    }
    if (!error && !options->tcp && !options->socket &&
        !(options->trace && strcmp(options->trace, "help") == 0)) {
        fprintf(stderr, "blockd: say where to listen: --port N, --socket PATH, or both\n");
        error = -EINVAL;
    }
    return error;
}
