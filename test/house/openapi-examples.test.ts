/** Every example in the API's description, sent as it is written: the documented status and shape. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROUTES } from "../../shared/protocol/routes.ts";
import { USUAL_BROWSERS } from "../../vm/browser/settings.ts";
import { BYPASS_CONFIG, openAgent, script, untilStatus } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { type Site, startSite } from "../support/site.ts";
import { openTerminal } from "../support/threads.ts";
import { untilValue } from "../support/wait.ts";

interface Parameter {
  name: string;
  in: "path" | "query";
  example?: string | number;
}
interface Operation {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, unknown>;
}

/** They name what an agent made up: the id of an ask, the hash of a long text. No example can name it before. */
const WITHOUT = [
  "/channel/:channelId/main",
  "/channel/:channelId/main",
  "/channel/:channelId/main/hand-over",
  "/conversations/take",
  "/jobs/:job/test", // needs the hook's door
  "/memory/undo",
  "/spoken/:spokenId",
  "/thread/:id/asks/:requestId",
  "/thread/:id/blobs/:sha256",
  "/thread/:id/worktree/merge",
];
/** What ends or removes a thread's part that others look at, in this order. */
const LAST = ["/thread/:id/undo", "/thread/:id/worktree/remove", "/thread/:id/kill"];

let sidecar: TestSidecar;
let site: Site;
beforeAll(async () => {
  site = await startSite();
  sidecar = await startSidecar({ ...BYPASS_CONFIG, browser: { ...USUAL_BROWSERS, hosts: [site.host] } });
  await openTerminal(sidecar.client, "demo", "cat");
  writeFileSync(join(sidecar.reposDir, "web.log"), "GET /\n");
  const repository = join(sidecar.reposDir, "shop");
  mkdirSync(repository);
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", repository, "-c", "user.name=a", "-c", "user.email=a@b", ...args]);
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "first");
  const write = { tools: [{ name: "Write", input: { file_path: "fixed", content: "yes" } }] };
  await sidecar.client.createThread({
    threadId: "fixer",
    type: "agent",
    dir: "shop",
    command: script("Fix", write, { text: "Fixed." }),
    agent: { workspace: "worktree", permissionMode: "bypassPermissions" },
  });
  const npm = { tools: [{ name: "Bash", input: { command: "npm --version" } }] };
  await openAgent(sidecar, "tester", script("Test", npm, { text: "Tested." }));
  const ask = await untilValue(
    "an ask",
    () => sidecar.client.listAsks("tester"),
    (asks) => asks.length > 0,
  );
  await sidecar.client.answerAsk("tester", ask[0]?.requestId ?? "", { optionId: "thread" });
  for (const threadId of ["ann", "ben", "cleo"])
    await sidecar.client.createThread({
      ...{ threadId, title: threadId, type: "agent", dir: ".", command: "You are a member." },
      agent: { voice: "message" },
    });
  for (const threadId of ["fixer", "tester"]) await untilStatus(sidecar, threadId, "idle");
  await sidecar.client.createThread({ threadId: "page", type: "browser", dir: ".", command: site.at("/") });
  await untilValue(
    "a picture",
    () => sidecar.client.getThread("page"),
    ({ browser }) => (browser?.picture ?? 0) > 0,
    { timeoutMs: 90_000 },
  );
}, 180_000);
afterAll(async () => {
  await sidecar?.close();
  await site?.close();
});

test("all of them", async () => {
  const headers = { authorization: `Bearer ${sidecar.token}` };
  const { paths } = (await (await fetch(`${sidecar.url}/openapi.json`, { headers })).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  const without = ROUTES.filter(({ example }) => example === undefined).map(({ path }) => path);
  expect(without.sort()).toEqual(WITHOUT);
  const sent = ROUTES.filter(({ example }) => example !== undefined);
  for (const route of sent.sort((one, other) => LAST.indexOf(one.path) - LAST.indexOf(other.path))) {
    if (route.path === "/thread/:id/worktree/remove") {
      for (const threadId of ["fixer-2", "fixer"]) await sidecar.client.killThread(threadId);
    }
    const name = `${route.method} ${route.path}`;
    const operation = paths[route.path.replace(/:(\w+)/g, "{$1}")]?.[route.method];
    if (!operation) throw new Error(`${name} is not described`);
    const { parameters = [], requestBody } = operation;
    const url = new URL(sidecar.url);
    url.pathname = route.path.replace(/:(\w+)/g, (_, wanted) => {
      const example = parameters.find((one) => one.in === "path" && one.name === wanted)?.example;
      if (example === undefined) throw new Error(`${name} has no example of ${wanted}`);
      return encodeURIComponent(example);
    });
    for (const one of parameters) {
      if (one.in === "query" && one.example !== undefined)
        url.searchParams.set(one.name, String(one.example));
    }
    const [type = "", { example: body } = {}] = Object.entries(requestBody?.content ?? {})[0] ?? [];
    const response = await fetch(url, {
      method: route.method.toUpperCase(),
      headers: { ...headers, ...(body === undefined ? {} : { "content-type": type }) },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const isEndless = response.headers.get("content-type")?.startsWith("text/event-stream");
    const text = isEndless ? "" : await response.text();
    if (isEndless) await response.body?.cancel();
    expect(response.status, `${name}: ${text}`).toBe(route.status);
    expect(Object.keys(operation.responses)).toContain(String(response.status));
    const { reply } = route;
    if (reply === undefined) expect(text, name).toBe("");
    else if (typeof reply === "string") expect(response.headers.get("content-type"), name).toContain(reply);
    else expect(reply.safeParse(JSON.parse(text)).error, name).toBeUndefined();
  }
});
