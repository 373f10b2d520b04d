/* Escape sequences in the text of a terminal (ECMA-48, 5.4; xterm's OSC).
 * Pure. */
#ifndef CELLPOST_NOTEBOOK_TERMINAL_TERMINAL_ESCAPE_H
#define CELLPOST_NOTEBOOK_TERMINAL_TERMINAL_ESCAPE_H

#include <stddef.h>

struct terminal_escape {
  size_t length; /* with the ESC */
  /* The final byte of a control sequence (CSI); 0 for any other sequence, and
   * for those with private parameters or intermediate bytes: all without an
   * effect on the text. */
  char final;
  const char *parameters; /* into the text */
  size_t parameters_length;
  size_t number; /* the first parameter; 0 when left out */
};

enum terminal_escape_kind {
  TERMINAL_ESCAPE_NONE,       /* the ESC stands for itself */
  TERMINAL_ESCAPE_INCOMPLETE, /* more bytes are needed */
  TERMINAL_ESCAPE_COMPLETE,   /* *ret is filled in */
};

/* Reads the sequence at the start of the text, whose first byte is ESC. Never
 * INCOMPLETE for a text of 2048 bytes or more. */
enum terminal_escape_kind terminal_escape_read(const char *text, size_t length,
                                               struct terminal_escape *ret);

/* How many bytes at the start are none of \n, \r, \b and ESC. */
size_t terminal_plain_run(const char *text, size_t length);

#endif
