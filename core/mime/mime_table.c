#include "core/mime/mime_table.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"

#define OPENXML "application/vnd.openxmlformats-officedocument."
#define OPENDOCUMENT "application/vnd.oasis.opendocument."

/* Types as registered with IANA where there is a registration. */
const struct mime_row mime_rows[] = {
    {"png", "image/png", MIME_CONTENT},
    {"jpg", "image/jpeg", MIME_CONTENT},
    {"jpeg", "image/jpeg", MIME_CONTENT},
    {"gif", "image/gif", MIME_CONTENT},
    {"svg", "image/svg+xml", MIME_CONTENT},
    {"webp", "image/webp", MIME_CONTENT},
    {"bmp", "image/bmp", MIME_CONTENT},
    {"tif", "image/tiff", MIME_CONTENT},
    {"tiff", "image/tiff", MIME_CONTENT},
    {"avif", "image/avif", MIME_CONTENT},
    {"heic", "image/heic", MIME_CONTENT},
    {"ico", "image/vnd.microsoft.icon", MIME_CONTENT},
    {"tga", "image/x-tga", MIME_CONTENT},
    {"ppm", "image/x-portable-pixmap", MIME_CONTENT},
    {"pgm", "image/x-portable-graymap", MIME_CONTENT},
    {"pbm", "image/x-portable-bitmap", MIME_CONTENT},
    {"pdf", "application/pdf", MIME_CONTENT},

    {"txt", "text/plain", MIME_TEXT},
    {"log", "text/plain", MIME_TEXT},
    {"out", "text/plain", MIME_TEXT},
    {"cfg", "text/plain", MIME_TEXT},
    {"conf", "text/plain", MIME_TEXT},
    {"ini", "text/plain", MIME_TEXT},
    {"csv", "text/csv", MIME_TEXT},
    {"tsv", "text/tab-separated-values", MIME_TEXT},
    {"md", "text/markdown", MIME_TEXT},
    {"markdown", "text/markdown", MIME_TEXT},
    {"rst", "text/x-rst", MIME_TEXT},
    {"tex", "text/x-tex", MIME_TEXT},
    {"tex", "text/latex", MIME_TEXT},
    {"bib", "text/x-bibtex", MIME_TEXT},
    {"html", "text/html", MIME_TEXT},
    {"htm", "text/html", MIME_TEXT},
    {"css", "text/css", MIME_TEXT},
    {"js", "text/javascript", MIME_TEXT},
    {"mjs", "text/javascript", MIME_TEXT},
    {"js", "application/javascript", MIME_TEXT},
    {"json", "application/json", MIME_TEXT},
    {"ipynb", "application/x-ipynb+json", MIME_TEXT},
    {"geojson", "application/geo+json", MIME_TEXT},
    {"jsonl", "application/x-ndjson", MIME_TEXT},
    {"ndjson", "application/x-ndjson", MIME_TEXT},
    {"xml", "application/xml", MIME_TEXT},
    {"xml", "text/xml", MIME_TEXT},
    {"yaml", "application/yaml", MIME_TEXT},
    {"yml", "application/yaml", MIME_TEXT},
    {"toml", "application/toml", MIME_TEXT},
    {"sql", "application/sql", MIME_TEXT},
    {"py", "text/x-python", MIME_TEXT},
    {"pyi", "text/x-python", MIME_TEXT},
    {"r", "text/x-r", MIME_TEXT},
    {"jl", "text/x-julia", MIME_TEXT},
    {"m", "text/x-matlab", MIME_TEXT},
    {"sh", "text/x-shellscript", MIME_TEXT},
    {"bash", "text/x-shellscript", MIME_TEXT},
    {"c", "text/x-c", MIME_TEXT},
    {"h", "text/x-c", MIME_TEXT},
    {"cpp", "text/x-c++", MIME_TEXT},
    {"cc", "text/x-c++", MIME_TEXT},
    {"hpp", "text/x-c++", MIME_TEXT},
    {"rs", "text/x-rust", MIME_TEXT},
    {"go", "text/x-go", MIME_TEXT},
    {"java", "text/x-java", MIME_TEXT},
    {"scala", "text/x-scala", MIME_TEXT},
    {"rb", "text/x-ruby", MIME_TEXT},
    {"pl", "text/x-perl", MIME_TEXT},
    {"lua", "text/x-lua", MIME_TEXT},
    {"ts", "text/x-typescript", MIME_TEXT},
    {"diff", "text/x-diff", MIME_TEXT},
    {"patch", "text/x-diff", MIME_TEXT},
    {"ics", "text/calendar", MIME_TEXT},
    {"dot", "text/vnd.graphviz", MIME_TEXT},
    {"stl", "model/stl", MIME_TEXT},
    {"pdb", "chemical/x-pdb", MIME_TEXT},

    {"docx", OPENXML "wordprocessingml.document", MIME_ZIP},
    {"xlsx", OPENXML "spreadsheetml.sheet", MIME_ZIP},
    {"pptx", OPENXML "presentationml.presentation", MIME_ZIP},
    {"odt", OPENDOCUMENT "text", MIME_ZIP},
    {"ods", OPENDOCUMENT "spreadsheet", MIME_ZIP},
    {"odp", OPENDOCUMENT "presentation", MIME_ZIP},
    {"epub", "application/epub+zip", MIME_ZIP},
    {"npz", "application/x-npz", MIME_ZIP},
    {"whl", "application/x-wheel+zip", MIME_ZIP},
    {"jar", "application/java-archive", MIME_ZIP},
    {"pt", "application/x-pytorch", MIME_ZIP},
    {"pth", "application/x-pytorch", MIME_ZIP},
    {"kmz", "application/vnd.google-earth.kmz", MIME_ZIP},
    {"zip", "application/zip", MIME_ZIP},

    {"doc", "application/msword", MIME_OLE},
    {"xls", "application/vnd.ms-excel", MIME_OLE},
    {"ppt", "application/vnd.ms-powerpoint", MIME_OLE},

    {"npy", "application/x-npy", MIME_CONTENT},
    {"parquet", "application/vnd.apache.parquet", MIME_CONTENT},
    {"arrow", "application/vnd.apache.arrow.file", MIME_CONTENT},
    {"feather", "application/vnd.apache.arrow.file", MIME_CONTENT},
    {"sqlite", "application/vnd.sqlite3", MIME_CONTENT},
    {"sqlite3", "application/vnd.sqlite3", MIME_CONTENT},
    {"h5", "application/x-hdf5", MIME_CONTENT},
    {"hdf5", "application/x-hdf5", MIME_CONTENT},
    {"gz", "application/gzip", MIME_CONTENT},
    {"bz2", "application/x-bzip2", MIME_CONTENT},
    {"xz", "application/x-xz", MIME_CONTENT},
    {"zst", "application/zstd", MIME_CONTENT},
    {"7z", "application/x-7z-compressed", MIME_CONTENT},
    {"tar", "application/x-tar", MIME_CONTENT},
    {"pkl", "application/x-pickle", MIME_BINARY},
    {"pickle", "application/x-pickle", MIME_BINARY},
    {"joblib", "application/x-joblib", MIME_BINARY},
    {"safetensors", "application/x-safetensors", MIME_BINARY},
    {"wasm", "application/wasm", MIME_CONTENT},
    {"bin", "application/octet-stream", MIME_BINARY},

    {"mp3", "audio/mpeg", MIME_BINARY},
    {"wav", "audio/wav", MIME_CONTENT},
    {"wav", "audio/x-wav", MIME_CONTENT},
    {"ogg", "audio/ogg", MIME_CONTENT},
    {"flac", "audio/flac", MIME_CONTENT},
    {"mp4", "video/mp4", MIME_CONTENT},
    {"webm", "video/webm", MIME_CONTENT},
    {"avi", "video/x-msvideo", MIME_CONTENT},
    {"mov", "video/quicktime", MIME_CONTENT},
    {"woff2", "font/woff2", MIME_CONTENT},
    {"ttf", "font/sfnt", MIME_CONTENT},
};

const size_t mime_row_count = COUNT_OF(mime_rows);

const struct mime_row *mime_row_of(const char *name) {
  const char *slash = strrchr(name, '/');
  const char *dot = strrchr(slash == NULL ? name : slash + 1, '.');
  if (dot == NULL)
    return NULL;
  for (size_t i = 0; i < mime_row_count; i++)
    if (strcasecmp(mime_rows[i].extension, dot + 1) == 0)
      return &mime_rows[i];
  return NULL;
}

struct signature {
  const char *bytes;
  size_t size;
  const char *type;
};

/* numpy.lib.format; parquet-format's README; Arrow's IPC file format; the
 * SQLite file format, section 1.3; [MS-CFB] 2.2. */
static const struct signature signatures[] = {
    {"\x93NUMPY", 6, "application/x-npy"},
    {"PAR1", 4, "application/vnd.apache.parquet"},
    {"ARROW1\0\0", 8, "application/vnd.apache.arrow.file"},
    {"SQLite format 3\0", 16, "application/vnd.sqlite3"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, "application/x-ole-storage"},
};

const char *mime_by_signature(const void *bytes, size_t size) {
  for (size_t i = 0; i < COUNT_OF(signatures); i++)
    if (size >= signatures[i].size &&
        memcmp(bytes, signatures[i].bytes, signatures[i].size) == 0)
      return signatures[i].type;
  return NULL;
}
