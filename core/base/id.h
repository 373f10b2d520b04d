/* Identifiers: made, and checked when they come from outside. */
#ifndef CELLPOST_BASE_ID_H
#define CELLPOST_BASE_ID_H

#include <stdbool.h>

#define ID_UUID_SIZE 37  /* 36 characters and a NUL */
#define ID_TASK_SIZE 129 /* 128 characters and a NUL */

/* A UUIDv7 (RFC 9562, 5.7) in lower case: 48 bits of Unix milliseconds, then a
 * 12-bit counter that makes ids of one process strictly increasing within a
 * millisecond, then random bits. Thread-safe. */
void id_new(char id[ID_UUID_SIZE]);

/* True for 36 characters of a lower-case hyphenated UUID. */
bool id_is_uuid(const char *text);

/* True for ^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$ without "..". */
bool id_is_task(const char *text);

/* 2 * bytes hex digits of randomness and a NUL (bytes <= 64). */
void id_random_hex(char *hex, unsigned bytes);

#endif
