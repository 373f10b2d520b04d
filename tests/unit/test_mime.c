/* Media types from content and name; sizes of pictures from their headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/mime/mime.h"
#include "scratch.h"

/* Headers of pictures 7 wide and 5 high. */
#define PNG                                                                    \
  "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x07\0\0\0\x05\x08\x02\0\0\0\x06"      \
  "\xf8\x61\x8f"
#define GIF "GIF89a\x07\0\x05\0\x81\0\0\xff\0\0"
#define JPEG                                                                   \
  "\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xff\xdb\0\3\7"           \
  "\xff\xc0\0\x11\x08\0\x05\0\x07\3\1\x22\0\2\x11\1\3\x11\1"
#define BMP                                                                    \
  "BM\xae\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\7\0\0\0\5\0\0\0\1\0\x18\0\0\0\0"   \
  "\0\x78\0\0\0\xc4\x0e\0\0\xc4\x0e\0\0\0\0\0\0\0\0\0\0"
#define BMP_TOP_DOWN                                                           \
  "BM\xae\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\7\0\0\0\xfb\xff\xff\xff\1\0"
#define BMP_CORE "BM\xae\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0\7\0\5\0\1\0\x18\0"
#define WEBP_LOSSY "RIFF\x3c\0\0\0WEBPVP8 \x30\0\0\0\xd0\1\0\x9d\1\x2a\7\0\5\0"
#define WEBP_LOSSLESS                                                          \
  "RIFF\x1c\0\0\0WEBPVP8L\x0f\0\0\0\x2f\6\0\1\0\7\x10\xfd\x8f\xfe"
#define WEBP_EXTENDED "RIFF\x76\0\0\0WEBPVP8X\x0a\0\0\0\x18\0\0\0\6\0\0\4\0\0"
#define SVG "<svg xmlns='http://www.w3.org/2000/svg' width='7' height='5'/>"
#define ZIP                                                                    \
  "PK\3\4\x14\0\0\0\0\0\0\0!\0\0\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0"                \
  "abPK\1\2\x14\3\x14\0\0\0\0\0\0\0!\0\0\0\0\0\1\0\0\0\1\0\0\0"
#define OLE "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0\0\0\0\0\0\0"
#define JSON "{\"cells\": [], \"metadata\": {}}\n"
#define TARGA "\0\1\2\0\1\2\0\1\2\0\1\2\0\1\2\0\1\2\0\1\2\0\1\2\0\1\2\0\1\2\0\1"
#define MPEG "\xff\xfb\x90\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define OFFICE "application/vnd.openxmlformats-officedocument."
#define UNKNOWN "application/octet-stream"

struct sample {
  const char *name;
  const char *bytes;
  size_t size;
  const char *type;
};

#define SAMPLE(name, bytes, type)                                              \
  { name, bytes, sizeof bytes - 1, type }

static const struct sample samples[] = {
    SAMPLE("a.png", PNG, "image/png"),
    SAMPLE("a", PNG, "image/png"),
    SAMPLE("a.py", PNG, "image/png"),
    SAMPLE("a.jpg", PNG, "image/png"),
    SAMPLE("a.gif", GIF, "image/gif"),
    SAMPLE("a.jpg", JPEG, "image/jpeg"),
    SAMPLE("a.bmp", BMP, "image/bmp"),
    SAMPLE("a.webp", WEBP_LOSSLESS, "image/webp"),
    SAMPLE("a.svg", SVG, "image/svg+xml"),
    SAMPLE("a.pdf", "%PDF-1.4\n", "application/pdf"),

    SAMPLE("a.png", "words", "text/plain"),
    SAMPLE("a.svg", "words", "text/plain"),
    SAMPLE("a.pdf", "words", "text/plain"),
    SAMPLE("a.png", TARGA, UNKNOWN),
    SAMPLE("a", TARGA, UNKNOWN),
    SAMPLE("a.tga", TARGA, "image/x-tga"),
    SAMPLE("a.mp3", MPEG, "audio/mpeg"),
    SAMPLE("a.pkl", MPEG, "application/x-pickle"),
    SAMPLE("a.npy", MPEG, UNKNOWN),

    SAMPLE("a.txt", "words\n", "text/plain"),
    SAMPLE("a", "words\n", "text/plain"),
    SAMPLE("a.whatever", "words\n", "text/plain"),
    SAMPLE("a.py", "import os\n", "text/x-python"),
    SAMPLE("DIR.PY/A.CSV", "a\n1\n", "text/csv"),
    SAMPLE("a.csv", "a,b\n1,2\n", "text/csv"),
    SAMPLE("a", "a,b\n1,2\n3,4\n", "text/csv"),
    SAMPLE("a.txt", "a,b\n1,2\n3,4\n", "text/plain"),
    SAMPLE("a.tsv", "a\tb\n1\t2\n", "text/tab-separated-values"),
    SAMPLE("a.md", "# Title\n", "text/markdown"),
    SAMPLE("a.html", "<p>part</p>", "text/html"),
    SAMPLE("a", "<!DOCTYPE html><html></html>", "text/html"),
    SAMPLE("a.json", JSON, "application/json"),
    SAMPLE("a", JSON, "application/json"),
    SAMPLE("a.ipynb", JSON, "application/x-ipynb+json"),
    SAMPLE("a.jsonl", "{\"a\": 1}\n{\"a\": 2}\n", "application/x-ndjson"),
    SAMPLE("a", "#!/bin/sh\nexit\n", "text/x-shellscript"),
    SAMPLE("a.csv",
           "\xff\xfe"
           "a\0,\0b\0\n\0",
           "text/csv"),
    SAMPLE("a.txt", "caf\xe9\n", "text/plain"),

    SAMPLE("a.zip", ZIP, "application/zip"),
    SAMPLE("a.docx", ZIP, OFFICE "wordprocessingml.document"),
    SAMPLE("a.npz", ZIP, "application/x-npz"),
    SAMPLE("a.py", ZIP, "application/zip"),
    SAMPLE("a.docx", "words", "text/plain"),
    SAMPLE("a.xls", OLE, "application/vnd.ms-excel"),
    SAMPLE("a.gz", "\x1f\x8b\x08\0\0\0\0\0\0\3", "application/gzip"),
    SAMPLE("a.h5", "\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0",
           "application/x-hdf5"),
    SAMPLE("a.npy", "\x93NUMPY\1\0v\0{'descr'", "application/x-npy"),
    SAMPLE("a.bin", "\x93NUMPY\1\0v\0{'descr'", "application/x-npy"),
    SAMPLE("a.parquet", "PAR1\x15\4\x15\x10", "application/vnd.apache.parquet"),
    SAMPLE("a.feather", "ARROW1\0\0\xff\xff",
           "application/vnd.apache.arrow.file"),
    SAMPLE("a.db", "SQLite format 3\0\x10\0", "application/vnd.sqlite3"),
    SAMPLE("a.parquet", "\1\2\3\0\xff\xfe\xfd", UNKNOWN),
    SAMPLE("a.pkl", "\x80\4\x95\x11\0\0\0\0\0\0\0}\x94",
           "application/x-pickle"),
    SAMPLE("a.py", "\1\2\3\0\xff\xfe\xfd", UNKNOWN),

    SAMPLE("a", "", "text/plain"),
    SAMPLE("a.py", "", "text/x-python"),
    SAMPLE("a.png", "", "text/plain"),
};

static void content_comes_first_and_the_name_refines(void **state) {
  (void)state;
  struct mime *mime = mime_open();
  assert_non_null(mime);
  for (size_t i = 0; i < COUNT_OF(samples); i++) {
    const struct sample *sample = &samples[i];
    char type[MIME_SIZE];
    mime_of_bytes(mime, sample->bytes, sample->size, sample->name, type);
    if (strcmp(type, sample->type) != 0)
      fail_msg("sample %zu, %s: %s, not %s", i, sample->name, type,
               sample->type);
  }
  mime_close(mime);
}

static void files_are_looked_at_without_moving(void **state) {
  const struct scratch *scratch = *state;
  struct mime *mime = mime_open();
  for (size_t i = 0; i < COUNT_OF(samples); i++) {
    const struct sample *sample = &samples[i];
    int file =
        openat(scratch->directory, "file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(file, sample->bytes, sample->size), sample->size);
    char type[MIME_SIZE];
    mime_of_file(mime, file, sample->name, type);
    assert_string_equal(type, sample->type);
    assert_int_equal(lseek(file, 0, SEEK_CUR), sample->size);
    close(file);
  }
  mime_close(mime);
}

static void big_files_are_judged_by_their_start(void **state) {
  const struct scratch *scratch = *state;
  struct mime *mime = mime_open();
  int file = openat(scratch->directory, "file", O_RDWR | O_CREAT, 0600);
  assert_int_equal(write(file, PNG, sizeof PNG - 1), sizeof PNG - 1);
  assert_int_equal(ftruncate(file, 100 << 20), 0);
  char type[MIME_SIZE];
  mime_of_file(mime, file, "file.dat", type);
  assert_string_equal(type, "image/png");
  close(file);
  mime_close(mime);
}

static void without_libmagic_the_name_decides(void **state) {
  (void)state;
  char type[MIME_SIZE];
  mime_of_bytes(NULL, "words", 5, "a/b.PNG", type);
  assert_string_equal(type, "image/png");
  mime_of_bytes(NULL, PNG, sizeof PNG, "a.tar.gz", type);
  assert_string_equal(type, "application/gzip");
  static const char *const nameless[] = {"", "a", "a.", "d.png/a", "a.x"};
  for (size_t i = 0; i < COUNT_OF(nameless); i++) {
    mime_of_file(NULL, -1, nameless[i], type);
    assert_string_equal(type, UNKNOWN);
  }
}

static void types_have_extensions(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"image/png", "png"},
      {"image/jpeg", "jpg"},
      {"image/svg+xml", "svg"},
      {"IMAGE/SVG+XML; charset=utf-8", "svg"},
      {"text/plain", "txt"},
      {"text/html", "html"},
      {"text/markdown", "md"},
      {"text/latex", "tex"},
      {"application/javascript", "js"},
      {"application/json", "json"},
      {"application/pdf", "pdf"},
      {"application/vnd.plotly.v1+json", "json"},
      {"application/rdf+xml", "xml"},
      {"application/octet-stream", "bin"},
      {"image/unheard-of", "bin"},
      {"image/pn", "bin"},
      {"+json", "bin"},
      {"", "bin"},
  };
  for (size_t i = 0; i < COUNT_OF(pairs); i++)
    assert_string_equal(mime_extension(pairs[i][0]), pairs[i][1]);
}

struct picture {
  const char *bytes;
  size_t size;
};

#define PICTURE(bytes)                                                         \
  { bytes, sizeof bytes - 1 }

static const struct picture pictures[] = {
    PICTURE(PNG),        PICTURE(GIF),           PICTURE(JPEG),
    PICTURE(BMP),        PICTURE(BMP_TOP_DOWN),  PICTURE(BMP_CORE),
    PICTURE(WEBP_LOSSY), PICTURE(WEBP_LOSSLESS), PICTURE(WEBP_EXTENDED),
    PICTURE(SVG),
};

/* Every shorter piece, in memory of just its size so that a sanitizer sees a
 * byte read too many, gives the same size or none. */
static void sizes_are_read_from_headers(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(pictures); i++) {
    for (size_t size = 0; size <= pictures[i].size; size++) {
      char *piece = malloc(size);
      memcpy(piece, pictures[i].bytes, size);
      unsigned width = 99, height = 98;
      int result = mime_image_size(piece, size, &width, &height);
      free(piece);
      if (size == pictures[i].size)
        assert_int_equal(result, 0);
      assert_int_equal(width, result == 0 ? 7 : 99);
      assert_int_equal(height, result == 0 ? 5 : 98);
    }
  }
}

static void svg_size(const char *text, unsigned width, unsigned height) {
  unsigned found[2] = {0, 0};
  int result = mime_image_size(text, strlen(text), &found[0], &found[1]);
  assert_int_equal(result, width == 0 ? -1 : 0);
  assert_int_equal(found[0], width);
  assert_int_equal(found[1], height);
}

static void svg_sizes_are_css_pixels(void **state) {
  (void)state;
  svg_size("<svg width=\"460.8pt\" height=\"345.6pt\">", 614, 461);
  svg_size("<svg width='1in' height='2.54cm'>", 96, 96);
  svg_size("<svg width='25.4mm' height='101.6Q'>", 96, 96);
  svg_size("<svg width='6pc' height=' 10px '>", 96, 10);
  svg_size("<svg width='1e2' height='5.4'>", 100, 5);
  svg_size("<svg viewBox='0 0 30 40'>", 30, 40);
  svg_size("<svg viewBox='-5,-5, 30,40' width='100%' height='auto'>", 30, 40);
  svg_size("<svg viewBox='0 0 30 40' width='60'>", 60, 80);
  svg_size("<svg viewBox='0 0 30 40' height='20'>", 15, 20);
  svg_size("\xef\xbb\xbf<?xml version='1.0'?>\n<!-- <svg width='1'> -->\n"
           "<!DOCTYPE svg PUBLIC '-//W3C' 'x' [ <!ENTITY a '>'> ]>\n"
           "<svg\n\twidth = '3' height='4'>",
           3, 4);
}

static void svg_without_a_size_has_none(void **state) {
  (void)state;
  static const char *const texts[] = {
      "<svg>",
      "<svg/>",
      "<svg width='3'>",
      "<svg width='3' height='4em'>",
      "<svg width='0' height='4'>",
      "<svg width='-3' height='4'>",
      "<svg width='0x10' height='4'>",
      "<svg width='inf' height='nan'>",
      "<svg width='1e300' height='4'>",
      "<svg width='3' height=4>",
      "<svg viewBox='0 0 30'>",
      "<svg viewBox='0 0 0 0'>",
      "<svgx width='3' height='4'>",
      "<html><svg width='3' height='4'>",
      "<!-- <svg width='3' height='4'>",
      "<!DOCTYPE svg [",
      "<?xml",
      "",
  };
  for (size_t i = 0; i < COUNT_OF(texts); i++)
    svg_size(texts[i], 0, 0);
}

static void broken_pictures_have_no_size(void **state) {
  (void)state;
  static const struct picture broken[] = {
      PICTURE("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\0\0\0\0\5"),
      PICTURE("\x89PNG\r\n\x1a\n\0\0\0\x0dXHDR\0\0\0\7\0\0\0\5"),
      PICTURE("GIF87a\7\0\0\0"),
      PICTURE("\xff\xd8\xff\xc0\0\x11\x08\0\0\0\7\3"),
      PICTURE("\xff\xd8\xff\xe0\0\0\xff\xc0\0\x11\x08\0\5\0\7\3"),
      PICTURE("\xff\xd8\xff\xe0\xff\xff\xff\xc0\0\x11\x08\0\5\0\7\3"),
      PICTURE("\xff\xd8\xff\xe0\0\2\0\xc0\0\x11\x08\0\5\0\7\3"),
      PICTURE("\xff\xd8\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
      PICTURE("\xff\xd8\xff\xd8\xff\xd8\xff\xd8\xff\xd8"),
      PICTURE("RIFF\0\0\0\0WAVEfmt \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
      PICTURE("RIFF\0\0\0\0WEBPVP8?\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
      PICTURE("BM\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\7\0\0\0\5\0\0\0"),
  };
  for (size_t i = 0; i < COUNT_OF(broken); i++) {
    unsigned width, height;
    if (mime_image_size(broken[i].bytes, broken[i].size, &width, &height) != -1)
      fail_msg("broken picture %zu has a size", i);
  }
}

int main(void) {
#define IN_SCRATCH(test)                                                       \
  cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(content_comes_first_and_the_name_refines),
      IN_SCRATCH(files_are_looked_at_without_moving),
      IN_SCRATCH(big_files_are_judged_by_their_start),
      cmocka_unit_test(without_libmagic_the_name_decides),
      cmocka_unit_test(types_have_extensions),
      cmocka_unit_test(sizes_are_read_from_headers),
      cmocka_unit_test(svg_sizes_are_css_pixels),
      cmocka_unit_test(svg_without_a_size_has_none),
      cmocka_unit_test(broken_pictures_have_no_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
