/* What a cell costs in notebooks of 0.1 to 100 MB, as JSON.
 *
 *   notebook_bench [DIRECTORY [SIZES]]     where to make them (default /tmp),
 *                                          and how many of the sizes
 *
 * A cell is appended and then replaced once with its outputs, as a run does.
 * "open" is a process that comes to a notebook which another one wrote, "scan"
 * the same without the index file. nbformat.write is Debian's. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/notebook/writer/notebook.h"

enum { ROUNDS = 1000, OPENINGS = 50, IMAGE = 100 * 1000 };

static void check(int result, const struct err *err) {
  if (result >= 0)
    return;
  fprintf(stderr, "notebook_bench: %s\n", err->text);
  exit(1);
}

static struct notebook *open_in(int directory, enum fs_sync sync) {
  struct notebook *notebook = NULL;
  struct err err = {0};
  check(notebook_open(directory, sync, &notebook, NULL, &err), &err);
  return notebook;
}

static struct json *image_output(void) {
  static char base64[IMAGE + 1];
  memset(base64, 'A', IMAGE);
  struct json *data = json_object(), *output = json_object();
  json_set_text(data, "image/png", base64);
  json_set_text(data, "text/plain", "<Figure size 640x480 with 1 Axes>");
  json_set(output, "data", data);
  json_set(output, "metadata", json_object());
  json_set_text(output, "output_type", "display_data");
  struct json *outputs = json_array();
  json_push(outputs, output);
  return outputs;
}

static struct json *text_output(void) {
  struct json *output = json_object();
  json_set_text(output, "name", "stdout");
  json_set_text(output, "output_type", "stream");
  json_set_text(output, "text", "0    1.0\n1    2.0\ndtype: float64\n");
  struct json *outputs = json_array();
  json_push(outputs, output);
  return outputs;
}

static struct code_cell next_cell(const struct json *outputs) {
  static const char source[] = "s = pd.Series([1.0, 2.0])\nprint(s)";
  static char id[32];
  static int number;
  snprintf(id, sizeof id, "cell-%d", number++);
  return (struct code_cell){.id = id,
                            .source = source,
                            .source_length = sizeof source - 1,
                            .execution_count = number,
                            .outputs = outputs,
                            .busy_at = 1,
                            .idle_at = 1,
                            .run = id,
                            .status = "ok"};
}

/* Fills the notebook up to `size` bytes. The first cells are small, so that
 * the tables are as long as a real notebook's. */
static void grow(struct notebook *notebook, int64_t size) {
  CLEANUP(json_done) struct json *image = image_output();
  CLEANUP(json_done) struct json *text = text_output();
  struct err err = {0};
  while (notebook_size(notebook) < size) {
    bool large = size - notebook_size(notebook) > 2 * IMAGE;
    const struct code_cell cell = next_cell(large ? image : text);
    check(notebook_append_code(notebook, &cell, &err), &err);
  }
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, compare);
  return values[count / 2];
}

static double microseconds_since(int64_t start) {
  return (double)(clock_monotonic_ns() - start) / 1000;
}

struct cost {
  double cell, publish, open, scan; /* microseconds */
  double bytes;                     /* written, a cell */
};

static void measure_cells(struct notebook *notebook, struct cost *ret) {
  CLEANUP(json_done) struct json *text = text_output();
  static double cells[ROUNDS];
  struct notebook_counters before, after;
  struct err err = {0};
  notebook_counters(&before);
  for (int i = 0; i < ROUNDS; i++) {
    struct code_cell cell = next_cell(NULL);
    int64_t start = clock_monotonic_ns();
    check(notebook_append_code(notebook, &cell, &err), &err);
    cell.outputs = text;
    check(notebook_replace_code(notebook, &cell, &err), &err);
    cells[i] = microseconds_since(start);
  }
  notebook_counters(&after);
  ret->cell = median(cells, ROUNDS);
  ret->publish = ret->cell / 2;
  ret->bytes = (double)(after.bytes - before.bytes) / ROUNDS;
}

static double measure_opening(int directory, bool without_index, int times) {
  static double values[OPENINGS];
  for (int i = 0; i < times; i++) {
    if (without_index)
      unlinkat(directory, ".notebook.index", 0);
    int64_t start = clock_monotonic_ns();
    struct notebook *notebook = open_in(directory, FS_SYNC_NONE);
    values[i] = microseconds_since(start);
    notebook_close(notebook);
  }
  return median(values, (size_t)times);
}

/* Milliseconds that nbformat takes to write the same notebook. */
static double nbformat_write(const char *path) {
  CLEANUP(mem_free_pointer)
  char *command =
      mem_format("/usr/bin/python3 -c 'import nbformat, sys, time\n"
                 "book = nbformat.read(sys.argv[1], 4)\n"
                 "times = []\n"
                 "for i in range(5):\n"
                 "    start = time.perf_counter()\n"
                 "    nbformat.write(book, sys.argv[1] + \".copy\")\n"
                 "    times.append(time.perf_counter() - start)\n"
                 "print(sorted(times)[2] * 1000)' %s/notebook.ipynb",
                 path);
  FILE *pipe = popen(command, "r");
  double result = 0;
  if (pipe == NULL || fscanf(pipe, "%lf", &result) != 1)
    result = -1;
  if (pipe != NULL)
    pclose(pipe);
  return result;
}

static struct cost measure(const char *parent, int64_t size, enum fs_sync sync,
                           double *nbformat) {
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/cellpost-bench-XXXXXX", parent);
  if (mkdtemp(path) == NULL) {
    perror(path);
    exit(1);
  }
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct notebook *notebook = open_in(directory, sync);
  struct cost cost = {0};
  grow(notebook, size);
  measure_cells(notebook, &cost);
  notebook_close(notebook);
  cost.open = measure_opening(directory, false, OPENINGS);
  cost.scan = measure_opening(directory, true, 3);
  if (nbformat != NULL)
    *nbformat = nbformat_write(path);
  close(directory);
  int above = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  fs_remove_tree(above, strrchr(path, '/') + 1, NULL);
  close(above);
  return cost;
}

static void print_cost(const char *name, const struct cost *cost) {
  printf("  \"%s\": {\"cell_us\": %.1f, \"publish_us\": %.1f, "
         "\"bytes_per_cell\": %.0f, \"open_us\": %.1f, \"scan_us\": %.1f},\n",
         name, cost->cell, cost->publish, cost->bytes, cost->open, cost->scan);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int64_t bytes;
  } sizes[] = {{"0.1 MB", 100 * 1000},
               {"1 MB", 1000 * 1000},
               {"10 MB", 10 * 1000 * 1000},
               {"100 MB", 100 * 1000 * 1000}};
  const char *parent = argc > 1 ? argv[1] : "/tmp";
  size_t wanted = argc > 2 ? (size_t)atoi(argv[2]) : COUNT_OF(sizes);
  size_t count =
      wanted >= 1 && wanted < COUNT_OF(sizes) ? wanted : COUNT_OF(sizes);
  struct cost costs[COUNT_OF(sizes)];
  double nbformat = -1;
  printf("{\n");
  for (size_t i = 0; i < count; i++) {
    costs[i] = measure(parent, sizes[i].bytes, FS_SYNC_NONE,
                       i == 2 ? &nbformat : NULL);
    print_cost(sizes[i].name, &costs[i]);
  }
  const struct cost synced = measure(parent, 1000 * 1000, FS_SYNC_DATA, NULL);
  print_cost("1 MB, synced", &synced);
  if (nbformat > 0)
    printf("  \"nbformat_write_10_MB_us\": %.0f,\n"
           "  \"times_faster_at_10_MB\": %.0f,\n",
           nbformat * 1000, nbformat * 1000 / costs[2].publish);
  printf("  \"ratio_largest_to_smallest\": %.2f\n}\n",
         costs[count - 1].cell / costs[0].cell);
  return 0;
}
