/* Which line a faulthandler dump shows as running. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/report/traceback/stack.h"

static void lines_are_found(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t line;
  } cases[] = {
      {"", -1},
      {"Current thread 0x00007f (most recent call first):\n"
       "  File \"/usr/lib/python3.11/selectors.py\", line 468 in select\n",
       -1},
      /* The function of an earlier cell is deeper; the cell itself counts. */
      {"Current thread 0x00007f (most recent call first):\n"
       "  File \"/tmp/ipykernel_12/111.py\", line 9 in helper\n"
       "  File \"/tmp/ipykernel_12/222.py\", line 3 in <module>\n"
       "  File \"/usr/lib/python3/dist-packages/IPython/core/"
       "interactiveshell.py\", line 3442 in run_code\n"
       "  File \"/usr/lib/python3/dist-packages/ipykernel_launcher.py\", "
       "line 17 in <module>\n",
       3},
      /* A function of the cell itself is deeper, and that is where it is. */
      {"Current thread 0x00007f (most recent call first):\n"
       "  File \"/usr/lib/python3.11/socket.py\", line 5 in recv\n"
       "  File \"/tmp/ipykernel_12/222.py\", line 2 in f\n"
       "  File \"/tmp/ipykernel_12/111.py\", line 9 in helper\n"
       "  File \"/tmp/ipykernel_12/222.py\", line 3 in <module>\n",
       2},
      /* The last dump counts. */
      {"Current thread 0x1 (most recent call first):\n"
       "  File \"/tmp/ipykernel_12/222.py\", line 3 in <module>\n"
       "Current thread 0x1 (most recent call first):\n"
       "  File \"/usr/lib/python3.11/selectors.py\", line 468 in select\n",
       -1},
      {"Thread 0x1 (most recent call first):\n"
       "  File \"<ipython-input-3-abcdef>\", line 12 in <module>\n",
       12},
      {"  File \"/tmp/ipykernel_1/2.py\", line 4", 4},
      {"  File \"/tmp/ipykernel_1/2.py\", line x", -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_int_equal(stack_running_line(cases[i].text, strlen(cases[i].text)),
                     cases[i].line);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lines_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
