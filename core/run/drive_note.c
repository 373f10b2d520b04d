#include <stdarg.h>
#include <stdio.h>

#include "core/run/drive.h"

void drive_note(struct drive *drive, const char *format, ...) {
  char text[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (drive->notes == NULL)
    drive->notes = json_array();
  json_push(drive->notes, json_string(text));
}
