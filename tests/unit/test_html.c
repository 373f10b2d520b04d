/* What a person reads of HTML. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/report/html/html.h"

static const struct {
  const char *html, *text;
} rows[] = {
    {"", ""},
    {"plain", "plain"},
    {" a \n b\t c ", "a b c"},
    {"a<b>b</b>c", "abc"},
    {"<p>one<p>two", "one\n\ntwo"},
    {"<div>one</div><div>two</div>", "one\ntwo"},
    {"one<br>two<br/>three", "one\ntwo\nthree"},
    {"<h1>Title</h1>text", "Title\n\ntext"},
    {"a &amp; b &lt;c&gt; &quot;d&quot; &#233;&#xe9; &nbsp;&middot;",
     "a & b <c> \"d\" éé  ·"},
    {"AT&T &unknown; &", "AT&T &unknown; &"},
    {"&#27;[31m&#0;&#55296;&#9999999;x", "[31m\xEF\xBF\xBD\xEF\xBF\xBD"
                                         "x"},
    {"1 < 2 and <3", "1 < 2 and <3"},
    {"<script>if (a < b) alert('</b>')</script>x", "x"},
    {"<style>p { color: red }</STYLE >x", "x"},
    {"<script>never closed", ""},
    {"a<!-- <p>no</p> -->b<!doctype html><?php ?>c", "abc"},
    {"<!-- never closed", ""},
    {"<a title=\"x>y\" href='#'>link</a>", "link"},
    {"<p hidden>no</p><div style=\"display:none\">no<div>no</div></div>yes",
     "yes"},
    {"<svg><text>no</text></svg>yes", "yes"},
    {"<pre>  a\n    b\n</pre>after", "  a\n    b\nafter"},
    {"<ul><li>one<li>two<ul><li>in</ul></ul>", "- one\n- two\n  - in"},
    {"<ol><li>one</li><li>two</li></ol>x", "1. one\n2. two\nx"},
    {"<dl><dt>term<dd>meaning</dl>", "term\n  meaning"},
    {"<img alt='Sales' src=x.png><img src='data:image/png;base64,AA'>",
     "[image: Sales][image]"},
    {"<iframe src=\"https://a.example/\"></iframe>",
     "[frame: https://a.example/]"},
    {"<video src=v.mp4>no</video>", "[video: v.mp4]"},
    {"<table><tr><td>a<td>b<tr><td>longer<td>c</table>",
     "a       b\nlonger  c"},
    {"<table><caption>Cap</caption><tr><th>x</th></tr><tr><td>1</td></tr>"
     "</table>after",
     "Cap\nx\n1\nafter"},
    {"<table><tr><td rowspan=2>k<td>1<tr><td>2</table>", "k  1\n   2"},
    {"<table><tr><td colspan=2>wide<td>z<tr><td>a<td>b<td>c</table>",
     "wide  z\na  b  c"},
    {"<table><tr><td></td><td>a</td></tr><tr><td></td><td>b</td></tr></table>",
     "a\nb"},
    {"<table><tr><td>é</td><td>b</td></tr><tr><td>cd</td><td>e</td></tr>",
     "é   b\ncd  e"},
    {"<table><tr><td>a<br>b</td><td>c</td></tr></table>", "a b  c"},
    {"<table><tr><td><table><tr><td>1<td>2<tr><td>3<td>4</table></td>"
     "<td>side</td></tr></table>",
     "1  2\n3  4\nside"},
    {"<table>stray<tr><td>a</td></tr></table>", "stray\na"},
    {"</table></td></ul></pre></p>x", "x"},
    {"<td>no table</td>", "no table"},
};

static void html_reads_as_text(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
    html_to_text(rows[i].html, strlen(rows[i].html), &text);
    if (strcmp(buf_string(&text), rows[i].text) != 0)
      fail_msg("%s: got\n%s\ninstead of\n%s", rows[i].html, buf_string(&text),
               rows[i].text);
  }
}

static void repeat(struct buf *out, const char *piece, size_t bytes) {
  while (out->length + strlen(piece) <= bytes)
    buf_text(out, piece);
}

static double seconds_for(const char *start, const char *piece, size_t bytes) {
  CLEANUP(buf_free) struct buf html = BUF_INIT(BUF_ANSWER);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  struct timespec before, after;
  buf_text(&html, start);
  repeat(&html, piece, bytes);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  html_to_text(html.data, html.length, &text);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  assert_true(text.length < HTML_MOST);
  assert_true(utf8_is_valid(buf_string(&text), text.length));
  return (double)(after.tv_sec - before.tv_sec) +
         (double)(after.tv_nsec - before.tv_nsec) / 1e9;
}

/* A thousand times as much takes a thousand times as long, or a little more:
 * a square would take a million times as long. */
static void time_grows_with_the_length(void **state) {
  (void)state;
  static const struct {
    const char *start, *piece;
  } pieces[] = {
      {"", "<"},
      {"", "<a \""},
      {"", "<a b=\""},
      {"", "<!--"},
      {"", "&"},
      {"", "&#1"},
      {"", "<script>"},
      {"", "<svg>"},
      {"", "<p hidden>"},
      {"", "</"},
      {"", "<li>"},
      {"", "<ul>"},
      {"", "<table>"},
      {"", "<td>x"},
      {"<table>", "<tr><td>x"},
      {"<table>", "<td colspan=255><td>x<tr>"},
      {"<table>", "<td rowspan=9999>x"},
      {"<pre>", "\n"},
      {"", "<br>x"},
      {"", "<table><tr><td>"},
      {"", "<img alt=x>"},
      {"", "<a b c d e f g h i j k l m n>"},
  };
  for (size_t i = 0; i < COUNT_OF(pieces); i++) {
    double few = 0;
    for (int round = 0; round < 20; round++)
      few += seconds_for(pieces[i].start, pieces[i].piece, 2000);
    double many = seconds_for(pieces[i].start, pieces[i].piece, 2000 * 1000);
    if (many > few / 20 * 1000 * 20 + 0.05)
      fail_msg("%s: %g s for 2 kB, %g s for 2 MB", pieces[i].piece, few / 20,
               many);
  }
}

static void what_is_too_long_is_cut_with_a_word(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf html = BUF_INIT(BUF_ANSWER);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  repeat(&html, "é<p>", HTML_MOST + 1000);
  html_to_text(html.data, html.length, &text);
  assert_true(utf8_is_valid(text.data, text.length));
  assert_non_null(strstr(text.data, "the rest of this HTML is left out"));
}

static void cells_beyond_the_last_column_are_kept(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf html = BUF_INIT(BUF_SMALL);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  buf_text(&html, "<table><tr>");
  for (int i = 0; i < 300; i++)
    buf_format(&html, "<td rowspan=2>%d", i);
  buf_text(&html, "<tr><td>last</table>");
  html_to_text(html.data, html.length, &text);
  assert_non_null(strstr(text.data, "0  1  2"));
  assert_non_null(strstr(text.data, "  298  299\n"));
  assert_non_null(strstr(text.data, "last"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(html_reads_as_text),
      cmocka_unit_test(time_grows_with_the_length),
      cmocka_unit_test(cells_beyond_the_last_column_are_kept),
      cmocka_unit_test(what_is_too_long_is_cut_with_a_word),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
