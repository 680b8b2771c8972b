/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the demangler: the names of C++ functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sym/cpp.h"

static void names_are_found(void **state)
{
    static const struct {
        const char *demangled, *name;
    } cases[] = {
        {"main", "main"},
        {"ns::f(int)", "ns::f"},
        {"ns::f(int (*)(char)) const", "ns::f"},
        {"int ns::twice<int>(int)", "ns::twice<int>"},
        {"std::map<int, void (*)(int)> ns::make<A<B>, 3>(char const*)", "ns::make<A<B>, 3>"},
        {"ns::(anonymous namespace)::hidden(int)", "ns::(anonymous namespace)::hidden"},
        {"(anonymous namespace)::hidden(int)", "(anonymous namespace)::hidden"},
        {"ns::S::operator()(int)", "ns::S::operator()"},
        {"ns::S::operator<(int)", "ns::S::operator<"},
        {"ns::S::operator->*(int)", "ns::S::operator->*"},
        {"operator new(unsigned long)", "operator new"},
        {"ns::S::operator bool() const", "ns::S::operator bool"},
        {"f()::{lambda(int)#1}::operator()(int) const", "f"},
        {"ns::~S()", "ns::~S"},
        {"vtable for x", "x"},
        {"", ""},
        {"f(", "f"},
        {">>(", ">>"},
        {"<(", "<("},
        {"operator", "operator"},
        {"{(", "{("},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length;
        const char *name = cpp_name(cases[i].demangled, &length);
        if (length != strlen(cases[i].name) || strncmp(name, cases[i].name, length) != 0)
            fail_msg("%s: '%.*s'", cases[i].demangled, (int)length, name);
    }
}

static void patterns_match(void **state)
{
    (void)state;
    assert_true(cpp_matches("ns::f", "ns::f(int)"));
    assert_true(cpp_matches("ns::f(int)", "ns::f(int)"));
    assert_true(cpp_matches("ns::f(*)", "ns::f(int)"));
    assert_true(cpp_matches("ns::*", "ns::f(int)"));
    assert_true(cpp_matches("ns::f(char*)", "ns::f(char*)"));
    assert_true(cpp_matches("ns::twice<int>", "int ns::twice<int>(int)"));
    assert_true(cpp_matches("ns::twice<int>(int)", "int ns::twice<int>(int)"));
    assert_true(cpp_matches("ns::S::operator()", "ns::S::operator()(int)"));
    assert_true(cpp_matches("a::operator[]", "a::operator[](int)"));
    assert_false(cpp_matches("ns::f(char)", "ns::f(int)"));
    assert_false(cpp_matches("f", "ns::f(int)"));
    assert_false(cpp_matches("ns::f", "ns::ff(int)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(patterns_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
