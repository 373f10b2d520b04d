/* Who may do what: tokens, scopes, tasks, bounds, addresses, links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/access/address.h"
#include "core/access/link.h"
#include "core/access/quota.h"
#include "core/access/rights.h"
#include "core/access/scope.h"
#include "core/access/secret.h"
#include "core/base/clock.h"
#include "core/base/mem.h"

static void a_new_token_is_whole(void **state) {
  (void)state;
  char one[SECRET_SIZE], other[SECRET_SIZE], hint[SECRET_HINT_SIZE];
  secret_make(one);
  secret_make(other);
  assert_true(secret_is_whole(one));
  assert_string_not_equal(one, other);
  assert_int_equal(strlen(one), 41);
  assert_int_equal(strncmp(one, "cp_", 3), 0);
  secret_hint(one, hint);
  assert_int_equal(strncmp(hint, one, 6), 0);
  assert_string_equal(hint + strlen(hint) - 4, one + 37);
}

/* The checksum as Python's zlib.crc32 gives it, in base62. */
static void the_checksum_is_that_of_zlib(void **state) {
  (void)state;
  assert_true(secret_is_whole("cp_00000000000000000000000000000000"
                              "1h1b8j"));
  assert_true(secret_is_whole("cp_abcdefghijklmnopqrstuvwxyz012345"
                              "2tg2qb"));
  assert_false(secret_is_whole("cp_00000000000000000000000000000000000000"));
}

static void each_typo_is_found(void **state) {
  (void)state;
  char secret[SECRET_SIZE];
  secret_make(secret);
  for (size_t i = 0; i < SECRET_SIZE - 1; i++) {
    char was = secret[i];
    secret[i] = was == 'x' ? 'y' : 'x';
    assert_false(secret_is_whole(secret));
    secret[i] = '-';
    assert_false(secret_is_whole(secret));
    secret[i] = was;
  }
  assert_true(secret_is_whole(secret));
  secret[40] = '\0';
  assert_false(secret_is_whole(secret));
  assert_false(secret_is_whole(""));
  assert_false(secret_is_whole("Bearer"));
}

static unsigned scopes_of(const char *text) {
  unsigned scopes = 0;
  struct err err;
  return scope_parse(text, &scopes, &err) < 0 ? 1000 : scopes;
}

static void scopes_are_read_and_written(void **state) {
  (void)state;
  assert_int_equal(scopes_of("read"), SCOPE_READ);
  assert_int_equal(scopes_of("run, read"), SCOPE_READ | SCOPE_RUN);
  assert_int_equal(scopes_of("admin"), SCOPE_ALL);
  assert_int_equal(scopes_of(""), 1000);
  assert_int_equal(scopes_of("rea"), 1000);
  assert_int_equal(scopes_of("read,reads"), 1000);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  scope_format(SCOPE_RUN | SCOPE_READ, &text);
  assert_string_equal(buf_string(&text), "read,run");
  buf_reset(&text);
  scope_format(SCOPE_ALL, &text);
  assert_string_equal(buf_string(&text), "admin");
}

static bool covers(const char *tasks, const char *task) {
  struct rights rights = {.scopes = SCOPE_READ, .tasks = tasks, .tenant = "t"};
  return rights_cover(&rights, task, NULL);
}

static void patterns_choose_tasks(void **state) {
  (void)state;
  static const struct {
    const char *tasks, *task;
    bool covered;
  } rows[] = {
      {"demo", "demo", true},        {"demo", "demo2", false},
      {"demo", "dem", false},        {"alice-*", "alice-1", true},
      {"alice-*", "alice-", true},   {"alice-*", "alice", false},
      {"alice-*", "bob-1", false},   {"a?c", "abc", true},
      {"a?c", "ac", false},          {"*", "anything", true},
      {"*-x", "a-x-x", true},        {"*-x", "a-x-y", false},
      {"a*b*c", "axxbxxc", true},    {"a*b*c", "axxcxxb", false},
      {"one,two", "two", true},      {"one, two", "two", true},
      {"one,two", "one,two", false}, {"own", "own", false},
      {"own,x*", "xy", true},        {"Demo", "demo", false},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    if (covers(rows[i].tasks, rows[i].task) != rows[i].covered)
      fail_msg("%s %s", rows[i].tasks, rows[i].task);
}

static void own_tasks_are_those_of_the_tenant(void **state) {
  (void)state;
  struct rights rights = {.scopes = SCOPE_READ, .tasks = "own", .tenant = "a"};
  assert_true(rights_cover(&rights, "x", "a"));
  assert_false(rights_cover(&rights, "x", "b"));
  assert_false(rights_cover(&rights, "x", NULL));
  assert_false(rights_are_whole(&rights));
  rights.tasks = "x*";
  assert_false(rights_cover(&rights, "y", "a"));
  rights.scopes = SCOPE_ALL;
  assert_true(rights_cover(&rights, "y", "b"));
  assert_true(rights_are_whole(&rights));
  assert_true(rights_are_whole(NULL));
  CLEANUP(mem_free_pointer) struct rights *copy = rights_copy(&rights);
  assert_string_equal(copy->tasks, "x*");
  assert_string_equal(copy->tenant, "a");
  assert_ptr_not_equal(copy->tasks, rights.tasks);
}

static void patterns_are_checked(void **state) {
  (void)state;
  struct err err;
  static const char *const good[] = {"*", "own", "a-*,b?c", "own,x"};
  static const char *const bad[] = {"", ",", "a/b", "[a]", "a\"b", "ä", "a%"};
  for (size_t i = 0; i < COUNT_OF(good); i++)
    assert_int_equal(rights_check_tasks(good[i], &err), 0);
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    assert_int_equal(rights_check_tasks(bad[i], &err), -1);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  struct rights rights = {.tasks = "own,a-*, b"};
  rights_globs(&rights, &text);
  assert_string_equal(buf_string(&text), "[\"a-*\",\"b\"]");
}

static void an_allowance_comes_back(void **state) {
  (void)state;
  struct quota_rate rate = {0};
  int64_t now = 1000 * CLOCK_S, wait = 0;
  for (int i = 0; i < 3; i++)
    assert_true(quota_rate_take(&rate, 3, now, &wait));
  assert_false(quota_rate_take(&rate, 3, now, &wait));
  assert_int_equal(wait, 20 * CLOCK_S);
  assert_false(quota_rate_take(&rate, 3, now + 19 * CLOCK_S, &wait));
  assert_true(quota_rate_take(&rate, 3, now + 20 * CLOCK_S, &wait));
  assert_false(quota_rate_take(&rate, 3, now + 20 * CLOCK_S, &wait));
  for (int i = 0; i < 3; i++)
    assert_true(quota_rate_take(&rate, 3, now + 200 * CLOCK_S, &wait));
  assert_false(quota_rate_take(&rate, 3, now + 200 * CLOCK_S, &wait));
}

static void limits_are_set_by_name(void **state) {
  (void)state;
  struct err err;
  struct quota quota;
  CLEANUP(json_done) struct json *limits = json_object();
  assert_int_equal(quota_set(limits, "runs", "2", &err), 0);
  assert_int_equal(quota_set(limits, "file_bytes", "1000", &err), 0);
  assert_int_equal(quota_set(limits, "kernels", "1", &err), 0);
  assert_int_equal(quota_set(limits, "kernels", "0", &err), 0);
  assert_int_equal(quota_set(limits, "run", "2", &err), -1);
  assert_int_equal(quota_set(limits, "runs", "-2", &err), -1);
  assert_int_equal(quota_set(limits, "runs", "2x", &err), -1);
  assert_int_equal(quota_set(limits, "runs", "99999999999999999999", &err), -1);
  quota_read(limits, &quota);
  assert_int_equal(quota.runs, 2);
  assert_int_equal(quota.kernels, 0);
  assert_int_equal(quota.runs_per_minute, 0);
  assert_int_equal(quota.file_bytes, 1000);
  quota_read(NULL, &quota);
  assert_int_equal(quota.runs, 0);
}

static void addresses_are_listed(void **state) {
  (void)state;
  struct err err;
  const char *list = "10.0.0.1 192.168.0.0/16  fd00::/8";
  assert_true(address_is_listed("10.0.0.1", list));
  assert_false(address_is_listed("10.0.0.2", list));
  assert_true(address_is_listed("192.168.255.1", list));
  assert_false(address_is_listed("192.169.0.1", list));
  assert_true(address_is_listed("::ffff:192.168.1.1", list));
  assert_true(address_is_listed("fd12::1", list));
  assert_false(address_is_listed("fe80::1", list));
  assert_false(address_is_listed("192.168.0.0/16", list));
  assert_false(address_is_listed("", list));
  assert_false(address_is_listed(NULL, list));
  assert_false(address_is_listed("10.0.0.1", ""));
  assert_int_equal(address_check_list(list, &err), 0);
  assert_int_equal(address_check_list("", &err), 0);
  assert_int_equal(address_check_list("localhost", &err), -1);
  assert_int_equal(address_check_list("10.0.0.0/33", &err), -1);
  assert_int_equal(address_check_list("10.0.0.0/", &err), -1);
  assert_true(address_is_loopback("127.0.0.1"));
  assert_true(address_is_loopback("::1"));
  assert_false(address_is_loopback("128.0.0.1"));
}

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void a_link_is_good_for_its_path_alone(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  struct link_parts link;
  link_write("/tasks/demo/artifacts/ab.png", 1790000400, 7, KEY, &text);
  assert_true(link_read(buf_string(&text), &link));
  assert_int_equal(link.expires_at, 1790000400);
  assert_int_equal(link.key, 7);
  assert_string_equal(link.path, "/tasks/demo/artifacts/ab.png");
  assert_true(link_is_signed(&link, KEY));
  assert_false(link_is_signed(&link, "another key"));
  for (size_t i = strlen("/s/"); i < text.length; i++) {
    char was = text.data[i];
    text.data[i] = was == '1' ? '2' : '1';
    if (link_read(buf_string(&text), &link) && link.key == 7)
      assert_false(link_is_signed(&link, KEY));
    text.data[i] = was;
  }
}

static void only_links_are_read(void **state) {
  (void)state;
  struct link_parts link;
  static const char *const bad[] = {
      "",
      "/s/",
      "/s/1/1/",
      "/s/1/1/0123456789abcdef0123456789abcdef/other/demo/x",
      "/s/01/1/0123456789abcdef0123456789abcdef/tasks/demo/x",
      "/s//1/0123456789abcdef0123456789abcdef/tasks/demo/x",
      "/s/1//0123456789abcdef0123456789abcdef/tasks/demo/x",
      "/s/1/a/0123456789abcdef0123456789abcdef/tasks/demo/x",
      "/s/1/1/0123456789abcdef0123456789abcde/tasks/demo/x",
      "/s/1/1/0123456789ABCDEF0123456789abcdef/tasks/demo/x",
      "/s/zzzzzzzzzz/1/0123456789abcdef0123456789abcdef/tasks/demo/x",
  };
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    assert_false(link_read(bad[i], &link));
  assert_true(
      link_read("/s/1/1/0123456789abcdef0123456789abcdef/tasks/demo/x", &link));
  assert_int_equal(link_expiry(1000, 3600) % 600, 0);
  assert_int_equal(link_expiry(1200, 600), 1800);
  assert_int_equal(link_expiry(1201, 600), 2400);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_new_token_is_whole),
      cmocka_unit_test(the_checksum_is_that_of_zlib),
      cmocka_unit_test(each_typo_is_found),
      cmocka_unit_test(scopes_are_read_and_written),
      cmocka_unit_test(patterns_choose_tasks),
      cmocka_unit_test(own_tasks_are_those_of_the_tenant),
      cmocka_unit_test(patterns_are_checked),
      cmocka_unit_test(an_allowance_comes_back),
      cmocka_unit_test(limits_are_set_by_name),
      cmocka_unit_test(addresses_are_listed),
      cmocka_unit_test(a_link_is_good_for_its_path_alone),
      cmocka_unit_test(only_links_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
