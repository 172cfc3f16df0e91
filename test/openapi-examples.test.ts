/** Every example in the API's description, sent as it is written: the documented status and shape. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROUTES } from "../shared/routes.ts";
import { STAND_IN_CONFIG } from "./support/agents.ts";
import { startSidecar, type TestSidecar } from "./support/sidecar.ts";
import { openTerminal } from "./support/threads.ts";

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

/** What needs a file, an ask, a change or another thread that no example can name before it is there. */
const WITHOUT = [
  "/thread/:id/home",
  "/thread/:id/branch",
  "/thread/:id/attachments",
  "/thread/:id/attachments/:name",
  "/thread/:id/blobs/:sha256",
  "/thread/:id/diff",
  "/thread/:id/asks/:requestId",
  "/thread/:id/compact",
  "/thread/:id/mode",
  "/thread/:id/model",
  "/thread/:id/undo",
  "/thread/:id/rules",
  "/thread/:id/worktree",
  "/thread/:id/worktree/remove",
];

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  await openTerminal(sidecar.client, "demo", "cat");
});
afterAll(() => sidecar?.close());

test("all of them", { timeout: 60_000 }, async () => {
  const headers = { authorization: `Bearer ${sidecar.token}` };
  const { paths } = (await (await fetch(`${sidecar.url}/openapi.json`, { headers })).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  const isLast = (path: string) => Number(path.endsWith("/kill"));
  const sent = ROUTES.filter(({ path }) => !WITHOUT.includes(path));
  for (const route of sent.sort((one, other) => isLast(one.path) - isLast(other.path))) {
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
    const body = requestBody?.content["application/json"]?.example;
    const response = await fetch(url, {
      method: route.method.toUpperCase(),
      headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
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
