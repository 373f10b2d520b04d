// Run where npm has put the packages: speaks to the URL with the client of the
// package named, and prints what came of it as one line of JSON.
const [, , name, url] = process.argv;
const version = { name: "test", version: "1" };

async function connect() {
  if (name === "sdk") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client(version);
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client(version, name === "modern" ? { versionNegotiation: { mode: "auto" } } : {});
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

const client = await connect();
const call = (tool, args, ...more) => client.callTool({ name: tool, arguments: args }, ...more);
const tools = await client.listTools();
const cell = await call("execute", { task: "npm", code: "x = 41\nprint('hi')\nx + 1" });
const failed = await call("execute", { task: "npm", code: "1/0" });
const notebook = await client.readResource({ uri: "cellpost://tasks/npm/notebook.ipynb" });
console.log(
  JSON.stringify({
    tools: tools.tools.map((tool) => tool.name),
    cell: cell.content[0].text,
    failed: failed.isError,
    cells: JSON.parse(notebook.contents[0].text).cells.length,
  }),
);
await client.close();
