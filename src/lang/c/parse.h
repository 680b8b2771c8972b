/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to c/declare.c, c/attribute.c and c/tagged.c: the parser of declarations. All that return bool give
 * false after an error that was told. No token is looked at before it is needed. */
#ifndef SPOOR_LANG_C_PARSE_H
#define SPOOR_LANG_C_PARSE_H

#include "lang/c/state.h"

/* c/declare.c */
bool c_accept(struct c_definitions *c, const char *mark); /* over the mark, if it is next */
bool c_expect(struct c_definitions *c, const char *mark);
bool c_fail_expected(struct c_definitions *c, const char *wanted);
enum c_word c_word(struct c_definitions *c); /* what the next token means */
void c_skip_brackets(struct c_definitions *c);
/* To the end of a declaration: a ';', or a '}' of a body; for members also before the '}' of their struct. */
void c_recover(struct c_definitions *c, bool is_member);
bool c_specifiers(struct c_definitions *c, struct c_typed *typed, struct c_attributes *attributes,
                  bool *is_typedef, bool *is_tagged);
/* typed: what the specifiers said, then what the name is. */
bool c_declarator(struct c_definitions *c, struct c_typed *typed, const char **name,
                  struct c_attributes *attributes);

/* c/attribute.c */
bool c_evaluate_next(struct c_definitions *c, struct c_value *value);
bool c_attribute(struct c_definitions *c, struct c_attributes *attributes); /* true: there was one */
void c_attributes(struct c_definitions *c, struct c_attributes *attributes);

/* c/tagged.c */
bool c_tagged(struct c_definitions *c, struct c_typed *typed, bool *has_tag);
bool c_is_complete(const struct type *type); /* its size is known */

#endif
