/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends datagrams to itself over the loopback device, and receives each: datagrams COUNT BYTES. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "warm.h"

int main(int argc, char **argv)
{
    static char bytes[60000];
    const int count = argc > 1 ? atoi(argv[1]) : 1, size = argc > 2 ? atoi(argv[2]) : 1000;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
    if (size < 0 || size > (int)sizeof bytes || bind(receiver, (struct sockaddr *)&address, length) ||
        getsockname(receiver, (struct sockaddr *)&address, &length) ||
        connect(sender, (struct sockaddr *)&address, length)) {
        perror("datagrams");
        return 1;
    }
    for (int i = 0; i < count; i++)
        if (send(sender, bytes, (size_t)size, 0) != size || recv(receiver, bytes, sizeof bytes, 0) != size) {
            perror("datagrams");
            return 1;
        }
    close(sender);
    close(receiver);
    return 0;
}
