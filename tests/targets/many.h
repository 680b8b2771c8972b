/* SPDX-License-Identifier: BSD-3-Clause */
/* Does something for each of the numbers 000 to 999. */
#ifndef SPOOR_TARGETS_MANY_H
#define SPOOR_TARGETS_MANY_H

#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define HUNDRED(X, n)                                                                                        \
    TEN(X, n##0)                                                                                             \
    TEN(X, n##1)                                                                                             \
    TEN(X, n##2) TEN(X, n##3) TEN(X, n##4) TEN(X, n##5) TEN(X, n##6) TEN(X, n##7) TEN(X, n##8) TEN(X, n##9)
#define THOUSAND(X)                                                                                          \
    HUNDRED(X, 0)                                                                                            \
    HUNDRED(X, 1)                                                                                            \
    HUNDRED(X, 2)                                                                                            \
    HUNDRED(X, 3) HUNDRED(X, 4) HUNDRED(X, 5) HUNDRED(X, 6) HUNDRED(X, 7) HUNDRED(X, 8) HUNDRED(X, 9)

#endif
