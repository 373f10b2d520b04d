#include "core/report/html/html.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/report/html/html_entity.h"
#include "core/report/html/html_table.h"
#include "core/report/html/html_tag.h"

#define MOST_TEXT ((size_t)1 << 20) /* bytes of what is made */
#define MOST_TABLES 8               /* one in another */
#define MOST_LISTS 8
#define MOST_ROWS 10000 /* that one cell spans */
#define MOST_NAME 200   /* characters of a picture's or frame's name */

/* Where text goes to: the page, or the cell of a table. */
struct sink {
  struct buf *out;
  size_t start; /* of the page or cell in `out` */
  int breaks;   /* line ends that are due before the next text */
  bool space;   /* likewise a blank */
};

struct list {
  bool is_numbered;
  size_t number; /* of the last item */
};

struct page {
  struct html_reader reader;
  struct sink sink;
  struct {
    struct html_table *table;
    struct sink outer;
  } tables[MOST_TABLES];
  size_t table_count;
  struct list lists[MOST_LISTS];
  size_t list_count;
  size_t pre_depth;
};

static void add_break(struct sink *sink, int lines) {
  if (sink->breaks < lines)
    sink->breaks = lines;
  sink->space = false;
}

static struct html_table *table_of(struct page *page) {
  return page->table_count > 0 ? page->tables[page->table_count - 1].table
                               : NULL;
}

static bool is_between_cells(struct page *page) {
  struct html_table *table = table_of(page);
  return table != NULL && !table->is_open;
}

static void open_cell(struct page *page, size_t columns, size_t rows) {
  struct html_table *table = table_of(page);
  html_table_open(table, columns, rows);
  page->sink = (struct sink){.out = &table->text, .start = table->text.length};
}

/* Writes the line ends or the blank that are due. What stands between the cells
 * of a table becomes a cell, so that it is not lost. */
static void settle(struct page *page) {
  if (is_between_cells(page))
    open_cell(page, 1, 1);
  struct sink *sink = &page->sink;
  if (sink->out->length > sink->start) {
    for (int i = 0; i < sink->breaks; i++)
      buf_byte(sink->out, '\n');
    if (sink->breaks == 0 && sink->space)
      buf_byte(sink->out, ' ');
    if (sink->breaks > 0)
      for (size_t i = 1; i < page->list_count; i++)
        buf_text(sink->out, "  ");
  }
  sink->breaks = 0;
  sink->space = false;
}

static void add(struct page *page, const char *bytes, size_t length) {
  settle(page);
  buf_append(page->sink.out, bytes, length);
}

static bool is_blank(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static void add_blank(struct page *page, char byte) {
  if (page->pre_depth == 0)
    page->sink.space = true;
  else if (byte == '\n')
    page->sink.breaks++;
  else
    add(page, byte == '\t' ? "    " : " ", byte == '\t' ? 4 : 1);
}

static void add_text(struct page *page, const char *text, size_t length) {
  for (size_t i = 0; i < length;) {
    char character[4];
    size_t size = 0, taken = 0, run = i;
    if (is_blank(text[i])) {
      if (!is_between_cells(page))
        add_blank(page, text[i]);
      i++;
      continue;
    }
    if (text[i] == '&')
      taken = html_entity(text + i, length - i, character, &size);
    if (taken > 0) {
      add(page, character, size);
      i += taken;
      continue;
    }
    for (run = i + 1; run < length && text[run] != '&' && !is_blank(text[run]);)
      run++;
    add(page, text + i, run - i);
    i = run;
  }
}

/* "[image: Sales by month]" */
static void add_object(struct page *page, const struct html_tag *tag,
                       const char *word, const char *attribute) {
  size_t length = 0;
  const char *name = html_attribute(tag, attribute, &length);
  settle(page);
  buf_format(page->sink.out, "[%s", word);
  if (name != NULL && length > 0 && strncmp(name, "data:", 5) != 0) {
    add(page, ": ", 2);
    add_text(page, name,
             length < MOST_NAME ? length : utf8_cut(name, length, MOST_NAME));
  }
  buf_byte(page->sink.out, ']');
}

static void open_table(struct page *page) {
  add_break(&page->sink, 1);
  if (page->table_count == MOST_TABLES)
    return;
  struct html_table *table = mem_new(sizeof *table);
  table->text = (struct buf)BUF_INIT(MOST_TEXT);
  page->tables[page->table_count].outer = page->sink;
  page->tables[page->table_count++].table = table;
}

static void close_table(struct page *page) {
  if (page->table_count == 0)
    return;
  struct html_table *table = table_of(page);
  html_table_close(table);
  page->sink = page->tables[--page->table_count].outer;
  CLEANUP(buf_free) struct buf lines = BUF_INIT(MOST_TEXT);
  html_table_write(table, &lines);
  while (lines.length > 0 && lines.data[lines.length - 1] == '\n')
    buf_truncate(&lines, lines.length - 1);
  if (lines.length > 0)
    add(page, lines.data, lines.length);
  add_break(&page->sink, 1);
  html_table_free(table);
  mem_free_pointer(&table);
}

static void open_list(struct page *page, bool is_numbered) {
  add_break(&page->sink, 1);
  if (page->list_count < MOST_LISTS)
    page->lists[page->list_count++] = (struct list){.is_numbered = is_numbered};
}

static void open_item(struct page *page) {
  struct list *list =
      page->list_count > 0 ? &page->lists[page->list_count - 1] : NULL;
  add_break(&page->sink, 1);
  settle(page);
  if (list != NULL && list->is_numbered)
    buf_format(page->sink.out, "%zu. ", ++list->number);
  else
    buf_text(page->sink.out, "- ");
}

enum action {
  ACTION_NONE,
  ACTION_BLOCK,     /* on lines of its own */
  ACTION_PARAGRAPH, /* likewise, with a blank line in front and behind */
  ACTION_BREAK,
  ACTION_SKIP, /* with all that is in it */
  ACTION_PRE,
  ACTION_LIST,
  ACTION_NUMBERS,
  ACTION_ITEM,
  ACTION_DEFINITION,
  ACTION_TABLE,
  ACTION_ROW,
  ACTION_CELL,
  ACTION_CAPTION,
  ACTION_IMAGE,
  ACTION_FRAME,
  ACTION_SOUND,
};

static enum action action_of(const char *name) {
  static const struct {
    const char name[12];
    enum action action;
  } actions[] = {
      {"address", ACTION_BLOCK},    {"article", ACTION_BLOCK},
      {"audio", ACTION_SOUND},      {"blockquote", ACTION_PARAGRAPH},
      {"br", ACTION_BREAK},         {"canvas", ACTION_SKIP},
      {"caption", ACTION_CAPTION},  {"dd", ACTION_DEFINITION},
      {"details", ACTION_BLOCK},    {"div", ACTION_BLOCK},
      {"dl", ACTION_BLOCK},         {"dt", ACTION_BLOCK},
      {"figcaption", ACTION_BLOCK}, {"figure", ACTION_BLOCK},
      {"footer", ACTION_BLOCK},     {"form", ACTION_BLOCK},
      {"h1", ACTION_PARAGRAPH},     {"h2", ACTION_PARAGRAPH},
      {"h3", ACTION_PARAGRAPH},     {"h4", ACTION_PARAGRAPH},
      {"h5", ACTION_PARAGRAPH},     {"h6", ACTION_PARAGRAPH},
      {"head", ACTION_SKIP},        {"header", ACTION_BLOCK},
      {"hr", ACTION_PARAGRAPH},     {"iframe", ACTION_FRAME},
      {"img", ACTION_IMAGE},        {"li", ACTION_ITEM},
      {"main", ACTION_BLOCK},       {"noscript", ACTION_SKIP},
      {"ol", ACTION_NUMBERS},       {"option", ACTION_BLOCK},
      {"p", ACTION_PARAGRAPH},      {"pre", ACTION_PRE},
      {"script", ACTION_SKIP},      {"section", ACTION_BLOCK},
      {"style", ACTION_SKIP},       {"summary", ACTION_BLOCK},
      {"svg", ACTION_SKIP},         {"table", ACTION_TABLE},
      {"td", ACTION_CELL},          {"template", ACTION_SKIP},
      {"th", ACTION_CELL},          {"tr", ACTION_ROW},
      {"ul", ACTION_LIST},          {"video", ACTION_SOUND},
  };
  for (size_t i = 0; i < COUNT_OF(actions); i++)
    if (strcmp(actions[i].name, name) == 0)
      return actions[i].action;
  return ACTION_NONE;
}

static bool is_void(const char *name) {
  static const char names[] =
      " area base br col embed hr img input link meta source track wbr ";
  char word[20] = " ";
  strcat(strcat(word, name), " ");
  return strstr(names, word) != NULL;
}

static bool is_hidden(const struct html_tag *tag) {
  size_t length;
  if (tag->length < 6 || is_void(tag->name))
    return false;
  if (html_attribute(tag, "hidden", &length) != NULL)
    return true;
  const char *style = html_attribute(tag, "style", &length);
  return style != NULL && (memmem(style, length, "display:none", 12) != NULL ||
                           memmem(style, length, "display: none", 13) != NULL);
}

static void open_in_table(struct page *page, const struct html_tag *tag,
                          enum action action) {
  struct html_table *table = table_of(page);
  if (table == NULL)
    return;
  if (action != ACTION_CELL)
    html_table_start_row(table);
  if (action == ACTION_CELL)
    open_cell(page, html_number(tag, "colspan", HTML_TABLE_COLUMNS),
              html_number(tag, "rowspan", MOST_ROWS));
  else if (action == ACTION_CAPTION)
    open_cell(page, HTML_TABLE_COLUMNS, 1);
}

/* In the cell of a table, lines would part what belongs together. */
static void open_break(struct page *page) {
  if (table_of(page) != NULL)
    page->sink.space = true;
  else
    page->sink.breaks++;
}

static void open_tag(struct page *page, const struct html_tag *tag) {
  enum action action = action_of(tag->name);
  if (action == ACTION_SKIP || is_hidden(tag)) {
    html_skip(&page->reader, tag);
    return;
  }
  switch (action) {
  case ACTION_BLOCK:
  case ACTION_PRE:
    add_break(&page->sink, 1);
    page->pre_depth += action == ACTION_PRE;
    break;
  case ACTION_PARAGRAPH:
    add_break(&page->sink, 2);
    break;
  case ACTION_BREAK:
    open_break(page);
    break;
  case ACTION_LIST:
  case ACTION_NUMBERS:
    open_list(page, action == ACTION_NUMBERS);
    break;
  case ACTION_ITEM:
    open_item(page);
    break;
  case ACTION_DEFINITION:
    add_break(&page->sink, 1);
    add(page, "  ", 2);
    break;
  case ACTION_TABLE:
    open_table(page);
    break;
  case ACTION_ROW:
  case ACTION_CELL:
  case ACTION_CAPTION:
    open_in_table(page, tag, action);
    break;
  case ACTION_IMAGE:
    add_object(page, tag, "image", "alt");
    break;
  case ACTION_FRAME:
    add_object(page, tag, "frame", "src");
    break;
  case ACTION_SOUND:
    add_object(page, tag, tag->name, "src");
    html_skip(&page->reader, tag);
    break;
  default:
    break;
  }
}

static void close_tag(struct page *page, const struct html_tag *tag) {
  struct html_table *table = table_of(page);
  switch (action_of(tag->name)) {
  case ACTION_BLOCK:
  case ACTION_ITEM:
  case ACTION_DEFINITION:
    add_break(&page->sink, 1);
    break;
  case ACTION_PARAGRAPH:
    add_break(&page->sink, 2);
    break;
  case ACTION_PRE:
    page->pre_depth -= page->pre_depth > 0;
    add_break(&page->sink, 1);
    break;
  case ACTION_LIST:
  case ACTION_NUMBERS:
    page->list_count -= page->list_count > 0;
    add_break(&page->sink, 1);
    break;
  case ACTION_TABLE:
    close_table(page);
    break;
  case ACTION_ROW:
  case ACTION_CELL:
  case ACTION_CAPTION:
    if (table != NULL)
      html_table_close(table);
    break;
  default:
    break;
  }
}

void html_to_text(const char *html, size_t length, struct buf *out) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(MOST_TEXT);
  bool is_cut = length > HTML_MOST;
  struct page page = {
      .reader = {html,
                 html + (is_cut ? utf8_cut(html, length, HTML_MOST) : length)},
      .sink = {.out = &text}};
  struct html_tag tag;
  enum html_part part;
  while ((part = html_next(&page.reader, &tag)) != HTML_END && !text.overflowed)
    if (part == HTML_TEXT)
      add_text(&page, tag.text, tag.length);
    else if (part == HTML_OPEN)
      open_tag(&page, &tag);
    else
      close_tag(&page, &tag);
  while (page.table_count > 0)
    close_table(&page);
  buf_append(out, buf_string(&text), text.length);
  if (is_cut || text.overflowed)
    buf_text(out, "\n[… the rest of this HTML is left out …]\n");
}
