/* Tokens, sessions, keys of links, and the journal. */
#include "core/access/secret.h"
#include "core/store/access/link_key.h"
#include "core/store/access/token.h"
#include "core/store/journal.h"
#include "core/store/verify.h"
#include "store_fixture.h"

#define HOUR_US (INT64_C(3600) * 1000000)

static struct token_record a_token(const char *name, const char *secret) {
  struct token_record record = {.name = (char *)(uintptr_t)name,
                                .tenant = (char *)"crew",
                                .hint = (char *)"cp_1ab…9xYz",
                                .scopes = (char *)"read,run",
                                .tasks = (char *)"own",
                                .created_by = (char *)"test",
                                .created_at = clock_wall_us()};
  secret_hash(secret, record.hash);
  return record;
}

static void add(struct fixture *fixture, const char *name, const char *secret) {
  struct token_record record = a_token(name, secret);
  OK(fixture, token_add(fixture->store, &record, &fixture->err));
}

static bool is_good(struct fixture *fixture, const char *secret,
                    int64_t from_now) {
  char hash[CRYPTO_SHA256_HEX];
  const char *why;
  CLEANUP(token_record_free) struct token_record found = {0};
  secret_hash(secret, hash);
  if (token_find(fixture->store, hash, &found, &fixture->err) < 0)
    return false;
  return token_is_good(&found, hash, clock_wall_us() + from_now, &why);
}

static void a_token_is_found_by_its_hash(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  assert_int_equal(token_exists(fixture->store, err), 0);
  add(fixture, "anna", "one");
  assert_int_equal(token_exists(fixture->store, err), 1);
  assert_true(is_good(fixture, "one", 0));
  assert_false(is_good(fixture, "two", 0));
  struct token_record again = a_token("anna", "three");
  FAILS(fixture, ERR_CONFLICT, token_add(fixture->store, &again, err));
  CLEANUP(token_record_free) struct token_record found = {0};
  OK(fixture, token_find_name(fixture->store, "anna", &found, err));
  assert_string_equal(found.tenant, "crew");
  assert_string_equal(found.scopes, "read,run");
  assert_int_equal(found.last_used_at, 0);
  OK(fixture, token_note_use(fixture->store, &found, err));
  fixture_expect(
      fixture,
      "select last_used_at % 3600000000 = 0 and "
      "last_used_at > unixepoch() * 1000000 - 3600000000 from tokens",
      "1");
}

static void a_rotated_token_has_two_texts_for_a_while(void **state) {
  struct fixture *fixture = *state;
  char hash[CRYPTO_SHA256_HEX];
  add(fixture, "anna", "one");
  secret_hash("two", hash);
  OK(fixture, token_rotate(fixture->store, "anna", hash, "cp_2…",
                           clock_wall_us() + HOUR_US, &fixture->err));
  assert_true(is_good(fixture, "one", 0));
  assert_true(is_good(fixture, "two", 0));
  assert_false(is_good(fixture, "one", 2 * HOUR_US));
  assert_true(is_good(fixture, "two", 2 * HOUR_US));
  secret_hash("three", hash);
  OK(fixture,
     token_rotate(fixture->store, "anna", hash, "cp_3…", 0, &fixture->err));
  assert_false(is_good(fixture, "one", 0));
  assert_false(is_good(fixture, "two", 0));
  assert_true(is_good(fixture, "three", 0));
}

static void a_revoked_token_stays_revoked(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  add(fixture, "anna", "one");
  OK(fixture, token_revoke(fixture->store, "anna", err));
  assert_false(is_good(fixture, "one", 0));
  assert_int_equal(token_exists(fixture->store, err), 1);
  FAILS(fixture, ERR_NOT_FOUND, token_revoke(fixture->store, "anna", err));
  FAILS(fixture, ERR_NOT_FOUND,
        token_rotate(fixture->store, "anna", "x", "y", 0, err));
  struct token_record again = a_token("anna", "two");
  FAILS(fixture, ERR_CONFLICT, token_add(fixture->store, &again, err));
  static const char *const refused[] = {"update tokens set revoked_at = null",
                                        "delete from tokens",
                                        "update tokens set name = 'bert'"};
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_SMALL);
    assert_int_not_equal(fixture_shell(fixture, refused[i], &out), 0);
  }
}

static bool lasts(struct fixture *fixture, const char *hash) {
  CLEANUP(token_record_free) struct token_record found = {0};
  return token_of_session(fixture->store, hash, &found, &fixture->err) == 0;
}

static void a_session_lasts_as_its_token_does(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  char one[CRYPTO_SHA256_HEX], cookie[CRYPTO_SHA256_HEX],
      other[CRYPTO_SHA256_HEX], two[CRYPTO_SHA256_HEX];
  secret_hash("one", one);
  secret_hash("two", two);
  secret_hash("cookie", cookie);
  secret_hash("other", other);
  add(fixture, "anna", "one");
  CLEANUP(token_record_free) struct token_record token = {0};
  OK(fixture, token_find(fixture->store, one, &token, err));
  int64_t soon = clock_wall_us() + HOUR_US;
  OK(fixture, token_open_session(fixture->store, cookie, &token, one,
                                 "127.0.0.1", soon, err));
  OK(fixture, token_open_session(fixture->store, other, &token, one, NULL,
                                 clock_wall_us() - 1, err));
  assert_true(lasts(fixture, cookie));
  assert_false(lasts(fixture, other));
  assert_false(lasts(fixture, one));
  OK(fixture, token_rotate(fixture->store, "anna", two, "cp_2…", 0, err));
  CLEANUP(token_record_free) struct token_record found = {0};
  if (token_of_session(fixture->store, cookie, &found, err) == 0) {
    const char *why;
    assert_false(
        token_is_good(&found, found.session_hash, clock_wall_us() + 1, &why));
  }
  OK(fixture, token_close_session(fixture->store, cookie, err));
  assert_false(lasts(fixture, cookie));
}

static void own_tasks_are_those_a_token_made(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  struct store *store = fixture->store;
  add(fixture, "carl", "one");
  OK(fixture, task_put(store, "mine", "python3", NULL, "carl", err));
  struct rights crew = {.scopes = 1, .tasks = "own,open-*", .tenant = "crew"};
  struct rights other = {.scopes = 1, .tasks = "own", .tenant = "other"};
  assert_int_equal(token_may(store, &crew, "mine", err), 1);
  assert_int_equal(token_may(store, &crew, "demo", err), 0);
  assert_int_equal(token_may(store, &crew, "missing", err), 0);
  assert_int_equal(token_may(store, &crew, "open-1", err), 1);
  assert_int_equal(token_may(store, &other, "mine", err), 0);
  assert_int_equal(token_may(store, NULL, "mine", err), 1);
  OK(fixture, task_delete(store, "mine", err));
  assert_int_equal(token_may(store, &crew, "mine", err), 1);
  assert_int_equal(token_may(store, &other, "mine", err), 0);
}

static void links_are_signed_with_one_key(void **state) {
  struct fixture *fixture = *state;
  struct err *err = &fixture->err;
  struct link_key one, two;
  OK(fixture, link_key_newest(fixture->store, &one, err));
  OK(fixture, link_key_newest(fixture->store, &two, err));
  assert_int_equal(one.number, two.number);
  assert_string_equal(one.key, two.key);
  assert_int_equal(strlen(one.key), 64);
  OK(fixture, link_key_find(fixture->store, one.number, &two, err));
  FAILS(fixture, ERR_NOT_FOUND,
        link_key_find(fixture->store, one.number + 1, &two, err));
  fixture_expect(fixture, "update link_keys set retired_at = 1; select 1", "1");
  FAILS(fixture, ERR_NOT_FOUND,
        link_key_find(fixture->store, one.number, &two, err));
  OK(fixture, link_key_newest(fixture->store, &two, err));
  assert_string_not_equal(one.key, two.key);
}

static void the_journal_tells_who(void **state) {
  struct fixture *fixture = *state;
  add(fixture, "anna", "one");
  struct journal_origin anna = {
      .caller = "anna", .token = 1, .address = "10.0.0.1", .request_id = "r"};
  journal_set_origin(&anna);
  OK(fixture,
     task_put(fixture->store, "t", "python3", NULL, "anna", &fixture->err));
  OK(fixture, task_delete(fixture->store, "t", &fixture->err));
  journal_set_origin(NULL);
  OK(fixture,
     journal_append(fixture->store, "file.put", "t", NULL, &fixture->err));
  fixture_expect(fixture,
                 "select group_concat(kind || ' ' || caller || ' ' || "
                 "coalesce(address, '-') || ' ' || coalesce(token, '-'), ', ') "
                 "from journal where task = 't'",
                 "task.created anna 10.0.0.1 1, task.deleted anna 10.0.0.1 1, "
                 "file.put cellpost - -");
}

/* As somebody would who covers it up: the triggers are there again after it. */
static void tamper(struct fixture *fixture, const char *change) {
  CLEANUP(mem_free_pointer)
  char *script = mem_format(
      "drop trigger journal_stays_as_written; drop trigger journal_stays;"
      "%s;"
      "CREATE TRIGGER journal_stays_as_written\n  BEFORE UPDATE ON journal\n"
      "BEGIN\n  SELECT raise(ABORT, 'the journal cannot be changed');\nEND;"
      "CREATE TRIGGER journal_stays\n  BEFORE DELETE ON journal\n"
      "BEGIN\n  SELECT raise(ABORT, 'the journal cannot be cut');\nEND;"
      "select 1",
      change);
  fixture_expect(fixture, script, "1");
}

static void the_journal_betrays_a_change(void **state) {
  struct fixture *fixture = *state;
  int64_t runs;
  add(fixture, "anna", "one");
  OK(fixture, token_revoke(fixture->store, "anna", &fixture->err));
  assert_int_equal(verify_database(fixture->path, &runs, &fixture->err), 0);
  tamper(fixture, "update journal set caller = 'bert' where id = 2");
  assert_int_equal(verify_database(fixture->path, &runs, &fixture->err), 1);
  assert_non_null(strstr(fixture->err.text, "row 2 of the journal"));
  tamper(fixture, "delete from journal where id = 2");
  assert_int_equal(verify_database(fixture->path, &runs, &fixture->err), 1);
  assert_non_null(strstr(fixture->err.text, "row 3 of the journal"));
}

int main(void) {
#define TEST(name_)                                                            \
  cmocka_unit_test_setup_teardown(name_, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
      TEST(a_token_is_found_by_its_hash),
      TEST(a_rotated_token_has_two_texts_for_a_while),
      TEST(a_revoked_token_stays_revoked),
      TEST(a_session_lasts_as_its_token_does),
      TEST(own_tasks_are_those_a_token_made),
      TEST(links_are_signed_with_one_key),
      TEST(the_journal_tells_who),
      TEST(the_journal_betrays_a_change),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
