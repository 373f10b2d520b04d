#include "core/pack/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

#define PIECE ((size_t)64 << 10)

/* libarchive takes the bytes of names for the thread's locale's. */
static locale_t utf8_locale;
static pthread_once_t locale_made = PTHREAD_ONCE_INIT;

static void make_locale(void) {
  utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static locale_t speak_utf8(void) {
  pthread_once(&locale_made, make_locale);
  return uselocale(utf8_locale == (locale_t)0 ? LC_GLOBAL_LOCALE : utf8_locale);
}

static void speak_as_before(const locale_t *before) { uselocale(*before); }

#define SPEAK_UTF8                                                             \
  CLEANUP(speak_as_before)                                                     \
  const locale_t before_ __attribute__((unused)) = speak_utf8()

struct pack_writer {
  struct archive *archive;
  pack_sink *sink;
  void *context;
};

static int fail(struct archive *archive, enum err_kind kind, struct err *err) {
  const char *text = archive_error_string(archive);
  return err_set(err, kind, "%s", text == NULL ? "no reason is given" : text);
}

static la_ssize_t pass_on(struct archive *archive, void *context,
                          const void *bytes, size_t length) {
  struct pack_writer *writer = context;
  if (writer->sink(writer->context, bytes, length) >= 0)
    return (la_ssize_t)length;
  archive_set_error(archive, EPIPE, "nobody takes it any more");
  return -1;
}

int pack_writer_open(enum pack_format format, pack_sink *sink, void *context,
                     struct pack_writer **ret, struct err *err) {
  SPEAK_UTF8;
  CLEANUP(pack_writer_done)
  struct pack_writer *writer = mem_new(sizeof *writer);
  writer->sink = sink;
  writer->context = context;
  writer->archive = archive_write_new();
  if ((format == PACK_TAR
           ? archive_write_set_format_pax_restricted(writer->archive)
           : archive_write_set_format_zip(writer->archive)) != ARCHIVE_OK ||
      archive_write_set_bytes_per_block(writer->archive, PIECE) != ARCHIVE_OK ||
      archive_write_set_bytes_in_last_block(writer->archive, 1) != ARCHIVE_OK ||
      archive_write_open(writer->archive, writer, NULL, pass_on, NULL) !=
          ARCHIVE_OK)
    return fail(writer->archive, ERR_INTERNAL, err);
  *ret = MEM_STEAL(writer);
  return 0;
}

static void free_entry(struct archive_entry **entry) {
  archive_entry_free(*entry);
}

static int add(struct pack_writer *writer, const char *path, bool directory,
               const struct stat *status, struct err *err) {
  CLEANUP(free_entry) struct archive_entry *entry = archive_entry_new();
  archive_entry_set_pathname(entry, path);
  archive_entry_set_filetype(entry, directory ? AE_IFDIR : AE_IFREG);
  archive_entry_set_perm(
      entry, directory || (status->st_mode & S_IXUSR) != 0 ? 0755 : 0644);
  archive_entry_set_size(entry, directory ? 0 : status->st_size);
  archive_entry_set_mtime(entry, status->st_mtim.tv_sec,
                          status->st_mtim.tv_nsec);
  if (archive_write_header(writer->archive, entry) < ARCHIVE_WARN)
    return fail(writer->archive, ERR_IO, err);
  return 0;
}

int pack_writer_add_directory(struct pack_writer *writer, const char *path,
                              const struct stat *status, struct err *err) {
  SPEAK_UTF8;
  return add(writer, path, true, status, err);
}

int pack_writer_add_file(struct pack_writer *writer, const char *path, int file,
                         const struct stat *status, struct err *err) {
  SPEAK_UTF8;
  char bytes[PIECE];
  int64_t left = status->st_size;
  if (add(writer, path, false, status, err) < 0)
    return -1;
  while (left > 0) {
    ssize_t got =
        read(file, bytes, left < (int64_t)PIECE ? (size_t)left : PIECE);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    if (archive_write_data(writer->archive, bytes, (size_t)got) < 0)
      return fail(writer->archive, ERR_IO, err);
    left -= got;
  }
  if (archive_write_finish_entry(writer->archive) < ARCHIVE_WARN)
    return fail(writer->archive, ERR_IO, err);
  return 0;
}

int pack_writer_finish(struct pack_writer *writer, struct err *err) {
  SPEAK_UTF8;
  if (archive_write_close(writer->archive) < ARCHIVE_WARN)
    return fail(writer->archive, ERR_IO, err);
  return 0;
}

void pack_writer_done(struct pack_writer **writer) {
  if (*writer == NULL)
    return;
  /* Freed as it stands: closing it would write an end. */
  archive_write_fail((*writer)->archive);
  archive_write_free((*writer)->archive);
  free(*writer);
  *writer = NULL;
}

struct pack_reader {
  struct archive *archive;
};

int pack_reader_open(enum pack_format format, const void *bytes, size_t length,
                     struct pack_reader **ret, struct err *err) {
  SPEAK_UTF8;
  CLEANUP(pack_reader_done)
  struct pack_reader *reader = mem_new(sizeof *reader);
  reader->archive = archive_read_new();
  if (format == PACK_TAR)
    archive_read_support_format_tar(reader->archive);
  else
    archive_read_support_format_zip_seekable(reader->archive);
  if (archive_read_open_memory(reader->archive, bytes, length) < ARCHIVE_WARN)
    return fail(reader->archive, ERR_INVALID, err);
  *ret = MEM_STEAL(reader);
  return 0;
}

static enum pack_kind kind_of(struct archive_entry *entry) {
  if (archive_entry_hardlink(entry) != NULL)
    return PACK_OTHER;
  return archive_entry_filetype(entry) == AE_IFREG   ? PACK_FILE
         : archive_entry_filetype(entry) == AE_IFDIR ? PACK_DIRECTORY
                                                     : PACK_OTHER;
}

int pack_reader_next(struct pack_reader *reader, struct pack_entry *ret,
                     struct err *err) {
  SPEAK_UTF8;
  struct archive_entry *entry;
  int result = archive_read_next_header(reader->archive, &entry);
  if (result == ARCHIVE_EOF)
    return 0;
  if (result < ARCHIVE_WARN)
    return fail(reader->archive, ERR_INVALID, err);
  const char *path = archive_entry_pathname(entry);
  *ret = (struct pack_entry){
      .path = path != NULL && utf8_is_valid(path, strlen(path)) ? path : NULL,
      .kind = kind_of(entry),
      .executable = (archive_entry_perm(entry) & S_IXUSR) != 0,
      .size =
          archive_entry_size_is_set(entry) ? archive_entry_size(entry) : -1};
  return 1;
}

int64_t pack_reader_read(struct pack_reader *reader, void *bytes, size_t size,
                         struct err *err) {
  SPEAK_UTF8;
  la_ssize_t got = archive_read_data(reader->archive, bytes, size);
  return got < 0 ? fail(reader->archive, ERR_INVALID, err) : got;
}

void pack_reader_done(struct pack_reader **reader) {
  if (*reader == NULL)
    return;
  archive_read_free((*reader)->archive);
  free(*reader);
  *reader = NULL;
}
