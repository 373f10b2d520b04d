/* Tar and zip: the door to libarchive.
 *
 * Everything goes through in pieces: memory does not grow with an archive.
 * Names are UTF-8. What comes out of an archive is not to be trusted: a name
 * may lead anywhere, an entry may be larger than it says. */
#ifndef CELLPOST_PACK_PACK_H
#define CELLPOST_PACK_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/base/err.h"

enum pack_format { PACK_TAR, PACK_ZIP };

/* Takes what was written. -1: nobody wants more. */
typedef int pack_sink(void *context, const void *bytes, size_t length);

struct pack_writer;
int pack_writer_open(enum pack_format format, pack_sink *sink, void *context,
                     struct pack_writer **ret, struct err *err);
int pack_writer_add_directory(struct pack_writer *writer, const char *path,
                              const struct stat *status, struct err *err);
/* As many bytes as `status` says; of a file that has shrunk since, zeros stand
 * for the rest. */
int pack_writer_add_file(struct pack_writer *writer, const char *path, int file,
                         const struct stat *status, struct err *err);
/* Writes the end, without which an archive is not whole. */
int pack_writer_finish(struct pack_writer *writer, struct err *err);
void pack_writer_done(struct pack_writer **writer);

enum pack_kind { PACK_FILE, PACK_DIRECTORY, PACK_OTHER };

struct pack_entry {
  const char *path; /* valid until the next one; NULL: not UTF-8 */
  enum pack_kind kind;
  bool executable;
  int64_t size; /* as the archive says; -1: it does not */
};

/* Reads an archive of that format out of memory, which is borrowed. Faults of
 * the archive are ERR_INVALID. */
struct pack_reader;
int pack_reader_open(enum pack_format format, const void *bytes, size_t length,
                     struct pack_reader **ret, struct err *err);
/* 1: *ret is the next entry; 0: there is none. */
int pack_reader_next(struct pack_reader *reader, struct pack_entry *ret,
                     struct err *err);
/* The next bytes of the entry, at most `size`; 0: its end. */
int64_t pack_reader_read(struct pack_reader *reader, void *bytes, size_t size,
                         struct err *err);
void pack_reader_done(struct pack_reader **reader);

#endif
