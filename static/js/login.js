// A token for a session's cookie, which no script can read; then back to where
// the reader came from.
import { send } from "./api.js";
import { byId, parameter } from "./dom.js";
import "./shell.js";

/** A page of this place, or the list of tasks. */
function whereTo() {
  const next = parameter("next");
  return /^\/(?![/\\])/.test(next) && !next.startsWith("/login.html") ? next : "/";
}

byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await send("POST", "/v1/session", { token: byId("token").value.trim() });
    location.replace(whereTo());
  } catch (error) {
    byId("fault").textContent = error.message;
    byId("fault").hidden = false;
    byId("token").select();
  }
});
byId("token").focus();
