#include "core/json/json_scan.h"

#include <string.h>

#include "core/base/utf8.h"

/* Is there a byte among these eight that is a quote, a backslash, a control
 * character or not ASCII? */
static bool word_is_special(uint64_t word) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  uint64_t quote = word ^ (ones * '"');
  uint64_t backslash = word ^ (ones * '\\');
  uint64_t below_space = (word - ones * 0x20) & ~word;
  uint64_t is_quote = (quote - ones) & ~quote;
  uint64_t is_backslash = (backslash - ones) & ~backslash;
  uint64_t found = word | below_space | is_quote | is_backslash;
  return (found & (ones * 0x80)) != 0;
}

static bool byte_is_special(char byte) {
  unsigned char value = (unsigned char)byte;
  return value < 0x20 || value >= 0x80 || value == '"' || value == '\\';
}

/* How many bytes at the start of `text` stand for themselves in a JSON string
 * and are ASCII. Eight at a time, because cells print megabytes. */
static size_t plain_run(const char *text, size_t length) {
  size_t run = 0;
  while (length - run >= sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, text + run, sizeof word);
    if (word_is_special(word))
      break;
    run += sizeof word;
  }
  while (run < length && !byte_is_special(text[run]))
    run++;
  return run;
}

size_t json_clean_run(const char *text, size_t length) {
  size_t run = 0;
  for (;;) {
    run += plain_run(text + run, length - run);
    if (run == length || (unsigned char)text[run] < 0x80)
      return run;
    /* Text that is not ASCII mostly goes on so. */
    while (run < length && (unsigned char)text[run] >= 0x80) {
      size_t step = utf8_length(text + run, length - run);
      if (step == 0)
        return run;
      run += step;
    }
  }
}

void json_scan_open(struct json_scan *scan, const char *text, size_t length,
                    bool tolerant) {
  /* Decoding never makes a text longer than this: U+FFFD for one byte. */
  const size_t most = 3 * length + 64; /* and the mark of a long number */
  *scan = (struct json_scan){.text = text,
                             .length = length,
                             .tolerant = tolerant,
                             .scratch = BUF_INIT(most)};
}

void json_scan_close(struct json_scan *scan) { buf_free(&scan->scratch); }

static int fault(struct err *err, size_t offset, const char *what) {
  return err_set(err, ERR_INVALID, "JSON: %s at byte %zu", what, offset);
}

static void skip_white_space(struct json_scan *scan) {
  while (scan->offset < scan->length) {
    char byte = scan->text[scan->offset];
    if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t')
      break;
    scan->offset++;
  }
}

static bool next_is(const struct json_scan *scan, const char *word) {
  size_t length = strlen(word);
  return scan->length - scan->offset >= length &&
         memcmp(scan->text + scan->offset, word, length) == 0;
}

static void append_code_point(struct buf *out, uint32_t point) {
  char bytes[4];
  buf_append(out, bytes, utf8_encode(point, bytes));
}

static int hex_value(char digit) {
  if (digit >= '0' && digit <= '9')
    return digit - '0';
  if (digit >= 'a' && digit <= 'f')
    return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F')
    return digit - 'A' + 10;
  return -1;
}

/* The UTF-16 unit of an escape \uXXXX at `offset`, or -1. */
static int32_t unit_at(const struct json_scan *scan, size_t offset) {
  if (scan->length - offset < 6 || scan->text[offset] != '\\' ||
      scan->text[offset + 1] != 'u')
    return -1;
  int32_t unit = 0;
  for (size_t i = 2; i < 6; i++) {
    int digit = hex_value(scan->text[offset + i]);
    if (digit < 0)
      return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

static bool is_high_surrogate(int32_t unit) {
  return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low_surrogate(int32_t unit) {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

static int scan_unicode_escape(struct json_scan *scan, struct err *err) {
  int32_t unit = unit_at(scan, scan->offset);
  if (unit < 0)
    return fault(err, scan->offset, "\\u without four hex digits");
  if (is_high_surrogate(unit)) {
    int32_t low = unit_at(scan, scan->offset + 6);
    if (is_low_surrogate(low)) {
      int32_t point = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
      append_code_point(&scan->scratch, (uint32_t)point);
      scan->offset += 12;
      return 0;
    }
  }
  if (is_high_surrogate(unit) || is_low_surrogate(unit)) {
    if (!scan->tolerant)
      return fault(err, scan->offset, "half of a surrogate pair");
    unit = 0xFFFD;
  }
  append_code_point(&scan->scratch, (uint32_t)unit);
  scan->offset += 6;
  return 0;
}

/* The byte that a two-character escape stands for, or -1. */
static int simple_escape(char letter) {
  switch (letter) {
  case '"':
  case '\\':
  case '/':
    return letter;
  case 'b':
    return '\b';
  case 'f':
    return '\f';
  case 'n':
    return '\n';
  case 'r':
    return '\r';
  case 't':
    return '\t';
  default:
    return -1;
  }
}

static int scan_escape(struct json_scan *scan, struct err *err) {
  if (scan->length - scan->offset < 2)
    return fault(err, scan->start, "a string that is not closed");
  char letter = scan->text[scan->offset + 1];
  if (letter == 'u')
    return scan_unicode_escape(scan, err);
  int byte = simple_escape(letter);
  if (byte < 0)
    return fault(err, scan->offset, "an unknown escape");
  buf_byte(&scan->scratch, (char)byte);
  scan->offset += 2;
  return 0;
}

/* What json_clean_run stopped at, other than the closing quote; *run is where
 * the bytes begin that have not been copied yet. */
static int scan_special(struct json_scan *scan, size_t *run, struct err *err) {
  size_t here = scan->offset;
  unsigned char byte = (unsigned char)scan->text[here];
  if (byte < 0x20)
    return fault(err, here, "a raw control character in a string");
  if (byte != '\\' && !scan->tolerant)
    return fault(err, here, "invalid UTF-8");
  buf_append(&scan->scratch, scan->text + *run, here - *run);
  if (byte == '\\') {
    if (scan_escape(scan, err) < 0)
      return -1;
  } else {
    bool valid;
    scan->offset += utf8_step(scan->text + here, scan->length - here, &valid);
    buf_text(&scan->scratch, UTF8_REPLACEMENT);
  }
  *run = scan->offset;
  return 0;
}

static int scan_string(struct json_scan *scan, struct err *err) {
  buf_reset(&scan->scratch);
  size_t begin = ++scan->offset;
  size_t run = begin;
  for (;;) {
    scan->offset +=
        json_clean_run(scan->text + scan->offset, scan->length - scan->offset);
    if (scan->offset == scan->length)
      return fault(err, scan->start, "a string that is not closed");
    if (scan->text[scan->offset] == '"')
      break;
    if (scan_special(scan, &run, err) < 0)
      return -1;
  }
  scan->bytes = scan->text + begin;
  scan->bytes_length = scan->offset - begin;
  if (run != begin) {
    buf_append(&scan->scratch, scan->text + run, scan->offset - run);
    scan->bytes = buf_string(&scan->scratch);
    scan->bytes_length = scan->scratch.length;
  }
  scan->offset++;
  return JSON_TOKEN_STRING;
}

static size_t skip_digits(struct json_scan *scan) {
  size_t begin = scan->offset;
  while (scan->offset < scan->length && scan->text[scan->offset] >= '0' &&
         scan->text[scan->offset] <= '9')
    scan->offset++;
  return scan->offset - begin;
}

static bool skip_byte(struct json_scan *scan, char byte) {
  if (scan->offset == scan->length || scan->text[scan->offset] != byte)
    return false;
  scan->offset++;
  return true;
}

/* Sets scan->integer; false when 64 bits do not hold it. "-0" is false too,
 * since an integer has no sign at zero. */
static bool fits_integer(struct json_scan *scan, bool negative) {
  const char *digit = scan->bytes + (negative ? 1 : 0);
  const char *end = scan->bytes + scan->bytes_length;
  if (negative && *digit == '0')
    return false;
  int64_t value = 0;
  for (; digit < end; digit++) {
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_sub_overflow(value, *digit - '0', &value))
      return false;
  }
  /* Counted downwards, because INT64_MIN has no positive twin. */
  if (!negative && __builtin_sub_overflow((int64_t)0, value, &value))
    return false;
  scan->integer = value;
  return true;
}

/* A whole number that many readers refuse: becomes text with a mark. */
static int number_as_text(struct json_scan *scan, size_t digits) {
  buf_reset(&scan->scratch);
  buf_append(&scan->scratch, scan->bytes, scan->bytes_length);
  buf_format(&scan->scratch, " (a number of %zu digits, given as text)",
             digits);
  scan->bytes = buf_string(&scan->scratch);
  scan->bytes_length = scan->scratch.length;
  return JSON_TOKEN_STRING;
}

static int scan_number(struct json_scan *scan, struct err *err) {
  bool negative = skip_byte(scan, '-');
  bool zero = skip_byte(scan, '0');
  size_t digits = skip_digits(scan);
  if (zero && digits != 0)
    return fault(err, scan->start, "a number with a leading zero");
  if (!zero && digits == 0)
    return fault(err, scan->start, "a number without digits");
  bool whole = true;
  if (skip_byte(scan, '.')) {
    whole = false;
    if (skip_digits(scan) == 0)
      return fault(err, scan->start, "a number with no digit after its point");
  }
  if (skip_byte(scan, 'e') || skip_byte(scan, 'E')) {
    whole = false;
    if (!skip_byte(scan, '+'))
      skip_byte(scan, '-');
    if (skip_digits(scan) == 0)
      return fault(err, scan->start, "a number with an empty exponent");
  }
  scan->bytes = scan->text + scan->start;
  scan->bytes_length = scan->offset - scan->start;
  if (whole && digits > JSON_SCAN_DIGITS)
    return number_as_text(scan, digits);
  return whole && fits_integer(scan, negative) ? JSON_TOKEN_INTEGER
                                               : JSON_TOKEN_NUMBER;
}

/* Words: those of JSON, and those that Python's json writes besides. */
static int scan_word(struct json_scan *scan, struct err *err) {
  static const struct {
    const char *text;
    enum json_token token;
  } words[] = {
      {"null", JSON_TOKEN_NULL},       {"true", JSON_TOKEN_TRUE},
      {"false", JSON_TOKEN_FALSE},     {"NaN", JSON_TOKEN_STRING},
      {"Infinity", JSON_TOKEN_STRING}, {"-Infinity", JSON_TOKEN_STRING},
  };
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (!next_is(scan, words[i].text))
      continue;
    bool foreign = words[i].token == JSON_TOKEN_STRING;
    if (foreign && !scan->tolerant)
      return fault(err, scan->start, "NaN or Infinity, which JSON lacks,");
    scan->bytes = words[i].text;
    scan->bytes_length = strlen(words[i].text);
    scan->offset += scan->bytes_length;
    return (int)words[i].token;
  }
  return fault(err, scan->start, "an unexpected character");
}

int json_scan_next(struct json_scan *scan, struct err *err) {
  skip_white_space(scan);
  scan->start = scan->offset;
  if (scan->offset == scan->length)
    return JSON_TOKEN_END;
  char byte = scan->text[scan->offset];
  static const char marks[] = "{}[]:,";
  static const enum json_token tokens[] = {
      JSON_TOKEN_OPEN_OBJECT, JSON_TOKEN_CLOSE_OBJECT, JSON_TOKEN_OPEN_ARRAY,
      JSON_TOKEN_CLOSE_ARRAY, JSON_TOKEN_COLON,        JSON_TOKEN_COMMA};
  const char *mark = byte == '\0' ? NULL : strchr(marks, byte);
  if (mark != NULL) {
    scan->offset++;
    return (int)tokens[mark - marks];
  }
  if (byte == '"')
    return scan_string(scan, err);
  if ((byte >= '0' && byte <= '9') || (byte == '-' && !next_is(scan, "-I")))
    return scan_number(scan, err);
  return scan_word(scan, err);
}

int json_scan_expected(const struct json_scan *scan, int token,
                       const char *what, struct err *err) {
  if (token < 0)
    return -1; /* the scanner has said why */
  if (token == JSON_TOKEN_END)
    return err_set(err, ERR_INVALID,
                   "JSON: the text ends at byte %zu where %s should follow",
                   scan->start, what);
  return err_set(err, ERR_INVALID, "JSON: expected %s at byte %zu", what,
                 scan->start);
}

int json_scan_too_long(const struct json_scan *scan, struct err *err) {
  return err_set(err, ERR_TOO_LARGE, "JSON: a string of 2 GiB at byte %zu",
                 scan->start);
}
