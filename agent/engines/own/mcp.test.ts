/** Results of a server's tools: their text, and the images that a model can take. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { until } from "../../../test/support/wait.ts";
import { findMcpTools } from "./mcp.ts";
import type { ToolContext } from "./tools/tool.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let folder: string;
let server: Server;
let content: object[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tmx-mcp-"));
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      const tools = [{ name: "look", inputSchema: { type: "object" } }];
      const result = JSON.parse(body).method === "tools/list" ? { tools } : { content };
      response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers: { web: { url } } }));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

async function look() {
  const { tools } = await findMcpTools({ file: join(folder, "mcp.json"), allowed: [] });
  const call = tools[0]?.call({});
  if (!call || "problem" in call) throw new Error("there is no call");
  const context = { callId: "c", signal: new AbortController().signal } as ToolContext;
  return call.run(context);
}

test("an image goes to the model as what it is; text that says that it is one, and more than four, do not", async () => {
  const image = { type: "image", data: PNG, mimeType: "text/html" };
  content = [
    { type: "text", text: "Here." },
    image,
    { type: "image", data: "aGVsbG8=", mimeType: "image/png" },
  ];
  expect(await look()).toEqual({
    text: "Here.",
    isError: false,
    images: [{ mediaType: "image/png", data: Buffer.from(PNG, "base64") }],
  });
  content = Array.from({ length: 9 }, () => image);
  expect((await look()).images).toHaveLength(4);
  content = [{ type: "image", data: "A".repeat(6_000_000), mimeType: "image/png" }];
  expect(await look()).toEqual({ text: "", isError: false });
});

test("of a long text the model is given the beginning and the end", async () => {
  content = [{ type: "text", text: `begins ${"ä".repeat(5_000_000)} ends` }];
  const { text } = await look();
  expect(text).toMatch(/^begins ä+.?\n\n… 9,934,476 bytes are left out …\n\n.?ä+ ends$/);
  expect(Buffer.byteLength(text)).toBeLessThan(66_000);
});

test("a server whose answer does not end is given up, and named", async () => {
  let sentBytes = 0;
  let isOpen = true;
  const endless = createServer((_request, response) => {
    response.on("close", () => {
      isOpen = false;
    });
    const piece = Buffer.alloc(1024 * 1024, "x");
    const fill = () => {
      for (let isFree = true; isFree && isOpen; sentBytes += piece.length) isFree = response.write(piece);
    };
    response.on("drain", fill);
    fill();
  });
  await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void endless.close());
  const file = join(folder, "odd.json");
  const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}`;
  writeFileSync(file, JSON.stringify({ mcpServers: { odd: { url } } }));
  expect(await findMcpTools({ file, allowed: [] })).toMatchObject({
    ...{ tools: [], missing: ["odd"] },
    problems: [
      expect.stringMatching(
        /^The tools of odd are not there: its answer has more than 67108864 bytes\. They/,
      ),
    ],
  });
  await until("the connection to be closed", () => !isOpen);
  expect(sentBytes).toBeLessThan(256 * 1024 * 1024);
});
