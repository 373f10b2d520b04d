// Requests to the application and to the web server. Failures are problem
// documents (RFC 9457) or the lack of any answer; both become a Problem.

export class Problem extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
  /** True when the application cannot be reached; files still can. */
  get isAbsence() {
    return this.status === 0 || this.status === 503 || this.status === 502;
  }
}

async function problemOf(response) {
  const text = await response.text();
  try {
    const told = JSON.parse(text);
    return new Problem(response.status, told.detail || told.title);
  } catch {
    return new Problem(response.status, `the answer was ${response.status}`);
  }
}

const isLogin = () => location.pathname === "/login.html";

/** Who is not known is shown the way in, and back to here. */
function goToLogin() {
  if (!isLogin()) location.replace(`/login.html?${new URLSearchParams({ next: location.pathname + location.search })}`);
}

export async function request(address, options) {
  let response;
  try {
    response = await fetch(address, { cache: "no-store", ...options });
  } catch {
    throw new Problem(0, "the server does not answer");
  }
  if (response.status === 401) goToLogin();
  if (!response.ok) throw await problemOf(response);
  return response;
}

export const getJson = async (address) => (await request(address)).json();

export async function send(method, address, body) {
  const options = { method };
  if (body !== undefined) {
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  return (await request(address, options)).json();
}

export const taskAddress = (task, more = "") => `/v1/tasks/${encodeURIComponent(task)}${more}`;
export const filesAddress = (task, path = "") =>
  `/tasks/${encodeURIComponent(task)}/files/${path.split("/").map(encodeURIComponent).join("/")}`;
export const pageAddress = (page, parameters) => `/${page}.html?${new URLSearchParams(parameters)}`;

/** All tasks that the application knows. */
export async function listTasks() {
  const tasks = [];
  let next = null;
  do {
    const query = new URLSearchParams({ limit: "1000", ...(next && { after: next }) });
    const answer = await getJson(`/v1/tasks?${query}`);
    tasks.push(...answer.tasks);
    next = answer.next;
  } while (next);
  return tasks;
}

let mayList = true;

/** The tasks that stand on disk, from the web server: also without the
 * application, but not for everybody. */
export async function listDirectories() {
  if (!mayList) return [];
  const entries = await getJson("/tasks/").catch((error) => {
    if (error.status !== 404) throw error;
    mayList = false;
    return [];
  });
  return entries
    .filter((entry) => entry.type === "directory" && !entry.name.startsWith("."))
    .map((entry) => ({ task: entry.name, changed: new Date(entry.mtime).toISOString() }));
}
