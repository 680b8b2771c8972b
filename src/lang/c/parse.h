/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to c/declare.c, c/attribute.c and c/tagged.c: the parser of declarations. Functions that return bool
 * return false after an error, which they have reported. No token is read before it is needed. */
#ifndef SPOOR_LANG_C_PARSE_H
#define SPOOR_LANG_C_PARSE_H

#include "lang/c/state.h"

/* c/declare.c */
bool c_accept(struct c_definitions *c, const char *mark); /* takes the mark, if it is the next token */
bool c_expect(struct c_definitions *c, const char *mark);
bool c_fail_expected(struct c_definitions *c, const char *wanted);
enum c_word c_word(struct c_definitions *c); /* the meaning of the next token */
void c_skip_brackets(struct c_definitions *c);
/* Recovers from an error: passes over the rest of a declaration, to its ';' or the '}' of its body; of a member
 * also to before the '}' of the struct. */
void c_recover(struct c_definitions *c, bool is_member);
bool c_specifiers(struct c_definitions *c, struct c_typed *typed, struct c_attributes *attributes,
                  bool *is_typedef, bool *is_tagged);
/* Reads a declarator. *typed is the type of the specifiers, and then that of the name. */
bool c_declarator(struct c_definitions *c, struct c_typed *typed, const char **name,
                  struct c_attributes *attributes);

/* c/attribute.c */
bool c_evaluate_next(struct c_definitions *c, struct c_value *value);
bool c_attribute(struct c_definitions *c, struct c_attributes *attributes); /* true: there was one */
void c_attributes(struct c_definitions *c, struct c_attributes *attributes);

/* c/tagged.c */
bool c_tagged(struct c_definitions *c, struct c_typed *typed, bool *has_tag);
bool c_is_complete(const struct type *type); /* whether its size is known */

#endif
