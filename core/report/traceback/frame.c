#include "core/report/traceback/frame.h"

#include <stdlib.h>

#include "core/base/mem.h"

#define MOST_LINES 64

void frame_clear(struct frame *frame) {
  frame_drop_lines(frame);
  free(frame->file);
  free(frame->function);
  free(frame->text);
  *frame = (struct frame){.kind = FRAME_FILE};
}

void frame_add_line(struct frame *frame, int64_t number, const char *text,
                    size_t length) {
  if (frame->line_count == MOST_LINES)
    return;
  frame->lines =
      mem_grow(frame->lines, frame->line_count + 1, sizeof *frame->lines);
  frame->lines[frame->line_count++] =
      (struct frame_line){number, mem_copy_bytes(text, length)};
}

void frame_drop_lines(struct frame *frame) {
  for (size_t i = 0; i < frame->line_count; i++)
    free(frame->lines[i].text);
  free(frame->lines);
  frame->lines = NULL;
  frame->line_count = 0;
}
