/* The probe in a real Python: it answers within its bounds whatever was raised,
 * and leaves no name behind. */
#include "tests/unit/traceback_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#define PYTHON "/usr/bin/python3"

/* Runs the code as a cell named In[3] and prints repr() of what the probe
 * says, or what it left in the namespace. */
static const char driver[] =
    "import linecache, sys\n"
    "code, probe = sys.argv[1:]\n"
    "name = '<ipython-input-3-0123456789ab>'\n"
    "linecache.cache[name] = (len(code), None, code.splitlines(True), name)\n"
    "names = {}\n"
    "try:\n"
    "    exec(compile(code, name, 'exec'), names)\n"
    "except BaseException as error:\n"
    "    sys.last_value = error\n"
    "before = set(names)\n"
    "answer = eval(probe, names, names)\n"
    "print(repr(answer) if set(names) == before else set(names) - before)\n";

static char *run_python(const char *code, const char *probe) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    execl(PYTHON, PYTHON, "-I", "-c", driver, code, probe, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  struct buf output = BUF_INIT(BUF_SMALL);
  struct err err = {0};
  assert_int_equal(fs_read_all(ends[0], &output, &err), 0);
  close(ends[0]);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  buf_truncate(&output, output.length - 1);
  return buf_take(&output);
}

static struct json *probe_after(const char *code) {
  char *plain = run_python(code, hint_probe_expression("python", "Error"));
  if (strlen(plain) > 16000)
    fail_msg("%zu bytes", strlen(plain));
  struct json *expressions = json_object(), *member = json_object();
  struct json *data = json_object();
  json_set_text(data, "text/plain", plain);
  json_set(member, "data", data);
  json_set(expressions, "probe", member);
  struct json *answer = hint_probe_result(expressions);
  if (answer == NULL)
    fail_msg("%s", plain);
  json_free(expressions);
  free(plain);
  return answer;
}

struct row {
  const char *code, *seen; /* the "seen" member */
};

static const struct row rows[] = {
    {"1 / 0", "{}"},
    {"total = 3\ntotl", "{\"name\":\"totl\",\"close\":[\"total\"],\"module\":"
                        "false}"},
    {"json.loads('1')", "{\"name\":\"json\",\"close\":[],\"module\":true}"},
    {"class Tank:\n"
     "    def __init__(self):\n"
     "        self.volume = 1\n"
     "    def __getattr__(self, name):\n"
     "        raise AttributeError(f'no attribute {name!r}', name=name, "
     "obj=self)\n"
     "Tank().volum",
     "{\"name\":\"volum\",\"type\":\"Tank\",\"close\":[\"volume\"]}"},
    {"settings = {'Alpha': 1, ('x', 2): 3}\nsettings['alpha']",
     "{\"key\":\"'alpha'\",\"kind\":\"keys\",\"count\":2,\"container\":"
     "\"settings\",\"close\":[\"'Alpha'\"],\"some\":[\"'Alpha'\",\"('x', "
     "2)\"]}"},
    {"[{'one': 1}][0]['two']", "{\"key\":\"'two'\"}"},
    {"raise KeyError", "{\"key\":\"None\"}"},
    {"import jsn", "{\"name\":\"jsn\",\"close\":[\"json\"],\"parent\":false}"},
    {"import polrs", "{\"name\":\"polrs\",\"close\":[],\"parent\":false}"},
    {"In = id\ni", "{\"name\":\"i\",\"close\":[],\"module\":false}"},
    {"lst = 1\nIn1", "{\"name\":\"In1\",\"close\":[],\"module\":false}"},
    {"N = 1\nn", "{\"name\":\"n\",\"close\":[\"N\"],\"module\":false}"},
    {"import email.mim",
     "{\"name\":\"email.mim\",\"close\":[\"mime\"],\"parent\":true}"},
    {"from math import sqroot",
     "{\"name\":\"sqroot\",\"type\":\"math\",\"close\":[\"sqrt\",\"isqrt\"]}"},
    {"open(3.5)", "{}"},
    {"raise FileNotFoundError('no name')", "{}"},
    {"class Odd(Exception):\n"
     "    def __str__(self):\n"
     "        raise SystemExit\n"
     "raise ExceptionGroup('g', [ValueError('one'), ExceptionGroup('h', "
     "[KeyError('k')])])",
     "{\"members\":[{\"text\":\"ValueError: one\"},{\"text\":\"KeyError: "
     "'k'\"}],\"more\":0}"},
};

static void exceptions_are_looked_at(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    struct json *answer = probe_after(rows[i].code);
    struct buf seen = BUF_INIT(BUF_SMALL);
    json_write(json_get(answer, "seen"), &seen);
    if (strcmp(buf_string(&seen), rows[i].seen) != 0)
      fail_msg("%s: %s", rows[i].code, buf_string(&seen));
    buf_free(&seen);
    json_free(answer);
  }
}

static void files_are_looked_for_in_the_workspace(void **state) {
  (void)state;
  static const struct {
    const char *code, *close, *missing;
  } files[] = {
      {"open('sale.csv')", "[\"sales.csv\"]", "sale.csv"},
      {"open('rows.csv')", "[\"in/deep/rows.csv\"]", "rows.csv"},
      {"open('/mnt/data/sales.csv')", "[\"sales.csv\"]", "/mnt/data/sales.csv"},
      {"open('/rows.csv')", "[\"in/deep/rows.csv\"]", "/rows.csv"},
      {"open('in/dep/rows.csv')", "[\"in/deep/rows.csv\",\"deep\"]", "dep"},
  };
  for (size_t i = 0; i < COUNT_OF(files); i++) {
    CLEANUP(mem_free_pointer)
    char *code = mem_format("import os, tempfile\n"
                            "directory = tempfile.TemporaryDirectory()\n"
                            "os.chdir(directory.name)\n"
                            "os.makedirs('in/deep')\n"
                            "for name in 'sales.csv', 'in/deep/rows.csv':\n"
                            "    open(name, 'w').close()\n"
                            "%s",
                            files[i].code);
    CLEANUP(json_done) struct json *answer = probe_after(code);
    const struct json *seen = json_get(answer, "seen");
    CLEANUP(buf_free) struct buf close = BUF_INIT(BUF_SMALL);
    json_write(json_get(seen, "close"), &close);
    if (strcmp(buf_string(&close), files[i].close) != 0 ||
        strcmp(json_get_text(seen, "missing"), files[i].missing) != 0)
      fail_msg("%s: %s, %s", files[i].code, buf_string(&close),
               json_get_text(seen, "missing"));
  }
}

static void the_network_is_looked_at(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *answer = probe_after("1 / 0");
  assert_int_equal(json_kind(json_get(answer, "network")), JSON_BOOL);
}

/* Code that would break a look that trusts it. */
static void hostile_exceptions_break_nothing(void **state) {
  (void)state;
  static const char *const codes[] = {
      "",
      "class Odd(Exception):\n"
      "    def __str__(self): raise SystemExit\n"
      "    __repr__ = __str__\n"
      "raise Odd()",
      "class Odd(KeyError):\n"
      "    def __getattribute__(self, name): raise KeyboardInterrupt\n"
      "raise Odd('x')",
      "class Odd(dict):\n"
      "    def __iter__(self): raise MemoryError\n"
      "    def keys(self): raise MemoryError\n"
      "    def __eq__(self, other): raise MemoryError\n"
      "    __hash__ = dict.__hash__\n"
      "odd = Odd({'a' * 100000: 1})\nodd['b' * 100000]",
      "names = {f'name_{i}': i for i in range(100000)}\nnames['name_x']",
      "globals().update({f'name_{i}': i for i in range(100000)})\nname_x",
      "class Odd:\n"
      "    __slots__ = ['a']\n"
      "    __class__ = property(lambda self: 1 / 0)\n"
      "Odd().b",
      "def f(): f()\nf()",
      "error = ValueError('a')\nerror.__context__ = error\nraise error",
      "exec = eval = open = __import__ = str = None\ntotl",
      "raise ExceptionGroup('g', [ValueError('x' * 100000)] * 1000)",
      "raise NameError('\\ud800 \\0')",
  };
  for (size_t i = 0; i < COUNT_OF(codes); i++) {
    struct json *answer = probe_after(codes[i]);
    assert_int_equal(json_kind(answer), JSON_OBJECT);
    json_free(answer);
  }
}

static void lines_are_those_that_raised(void **state) {
  (void)state;
  struct json *answer = probe_after("def f():\n"
                                    "    try:\n"
                                    "        1 / 0\n"
                                    "    finally:\n"
                                    "        x = 1\n"
                                    "f()");
  const struct json *frames =
      json_get(json_at(json_get(answer, "chain"), 0), "frames");
  assert_int_equal(json_length(frames), 2);
  const struct json *deepest = json_at(frames, 1);
  assert_int_equal(json_get_integer(deepest, "cell", 0), 3);
  assert_int_equal(json_get_integer(deepest, "line", 0), 3);
  assert_string_equal(json_get_text(deepest, "function"), "f");
  struct buf source = BUF_INIT(BUF_LINE);
  json_write(json_get(deepest, "source"), &source);
  assert_string_equal(buf_string(&source),
                      "[1,[\"def f():\",\"    try:\",\"        1 / 0\",\"    "
                      "finally:\",\"        x = 1\"]]");
  buf_free(&source);
  json_free(answer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exceptions_are_looked_at),
      cmocka_unit_test(files_are_looked_for_in_the_workspace),
      cmocka_unit_test(the_network_is_looked_at),
      cmocka_unit_test(hostile_exceptions_break_nothing),
      cmocka_unit_test(lines_are_those_that_raised),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
