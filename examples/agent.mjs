// The same loop in JavaScript (Node 18 or newer):
//   MODEL_URL=https://…/v1/chat/completions MODEL=… API_KEY=… node agent.mjs "Plot sin(x)"
const { CELLPOST = "http://localhost:8080", MODEL, MODEL_URL, API_KEY = "" } = process.env;
const post = async (url, body, headers = {}) =>
  (await fetch(url, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers } })).json();

const given = await (await fetch(`${CELLPOST}/v1/tools?format=openai`)).json();
const messages = [{ role: "system", content: given.system }, { role: "user", content: process.argv[2] }];
for (;;) {
  const answer = await post(MODEL_URL, { model: MODEL, messages, tools: given.tools }, { Authorization: `Bearer ${API_KEY}` });
  const message = answer.choices[0].message;
  messages.push(message);
  if (!message.tool_calls?.length) break;
  for (const call of message.tool_calls) {
    const params = { name: call.function.name, arguments: JSON.parse(call.function.arguments) };
    const { result } = await post(`${CELLPOST}/mcp`, { jsonrpc: "2.0", id: 1, method: "tools/call", params });
    messages.push({ role: "tool", tool_call_id: call.id, content: result.content[0].text });
  }
}
console.log(messages.at(-1).content);
