/**
 * Tries every route of the API in the name of a person of every role. The table is typed here, not taken from the
 * product. The product's own description of its API says that no route is left out.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";

const ROLES = ["owner", "maker", "member", "viewer", "guest", "nobody"] as const;

/** The rights of each role; it has no others. No person may use a route of the right `none`. */
const TABLE: Record<(typeof ROLES)[number], string> = {
  owner: "read type press decide run jobs settings roles thoughts",
  maker: "read type press decide run jobs settings",
  member: "read type press decide",
  viewer: "read",
  guest: "propose",
  nobody: "",
};

const ROUTES: Record<string, string> = {
  "GET /threads": "read",
  "POST /thread/create": "run",
  "GET /last-words": "read",
  "GET /thread/{id}/browser": "read",
  "POST /thread/{id}/browser": "type",
  "GET /thread/{id}/picture": "read",
  "GET /thread/{id}": "read",
  "PUT /thread/{id}/title": "press",
  "GET /thread/{id}/screen": "read",
  "POST /thread/{id}/resize": "press",
  "POST /thread/{id}/branch": "run",
  "POST /thread/{id}/kill": "press",
  "GET /logs": "run",
  "POST /logs/create": "run",
  "PUT /thread/{id}/view": "press",
  "POST /thread/{id}/input": "type",
  "PUT /thread/{id}/input/{inputId}": "type",
  "GET /thread/{id}/output": "read",
  "POST /threads/output": "read",
  "GET /thread/{id}/log": "read",
  "GET /inbox": "read",
  "GET /thread/{id}/transcript": "read",
  "GET /thread/{id}/blobs/{sha256}": "read",
  "GET /thread/{id}/steps": "read",
  "GET /thread/{id}/diff": "read",
  "GET /thread/{id}/worktree": "read",
  "POST /thread/{id}/worktree/merge": "press",
  "POST /thread/{id}/worktree/remove": "press",
  "GET /asks": "read",
  "GET /thread/{id}/asks": "read",
  "POST /thread/{id}/asks/{requestId}": "decide",
  "GET /thread/{id}/rules": "read",
  "POST /thread/{id}/interrupt": "press",
  "POST /thread/{id}/pause": "press",
  "POST /thread/{id}/resume": "press",
  "POST /thread/{id}/compact": "press",
  "POST /thread/{id}/undo": "press",
  "POST /thread/{id}/mode": "decide",
  "POST /thread/{id}/model": "decide",
  "POST /thread/{id}/limit": "decide",
  "POST /thread/{id}/rules": "decide",
  "POST /thread/{id}/unmark": "decide",
  "POST /thread/{id}/attachments": "type",
  "GET /thread/{id}/attachments": "read",
  "GET /thread/{id}/attachments/{name}": "read",
  "DELETE /thread/{id}/attachments/{name}": "type",
  "GET /engines": "read",
  "PUT /thread/{id}/home": "none",
  "PUT /thread/{id}/delivery": "none",
  "PUT /thread/{id}/messages/{key}": "none",
  "GET /thread/{id}/messages": "read",
  "GET /threads/messages": "none",
  "PUT /channel/{channelId}/messages/{key}": "none",
  "GET /channel/{channelId}/messages": "none",
  "GET /people": "read",
  "PUT /people": "none",
  "PUT /people/role": "roles",
  "PUT /people/server-roles": "none",
  "GET /channels": "read",
  "PUT /channels": "none",
  "PUT /channel/{channelId}": "settings",
  "PUT /channel/{channelId}/place": "none",
  "DELETE /channel/{channelId}": "settings",
  "GET /conversations": "run",
  "POST /conversations/take": "run",
  "GET /directives": "read",
  "POST /jobs": "jobs",
  "GET /jobs": "read",
  "POST /jobs/preview": "jobs",
  "GET /jobs/{job}": "read",
  "GET /jobs/{job}/runs": "read",
  "POST /jobs/{job}/run": "jobs",
  "POST /jobs/{job}/pause": "jobs",
  "POST /jobs/{job}/resume": "jobs",
  "DELETE /jobs/{job}": "jobs",
  "POST /jobs/{job}/test": "jobs",
  "GET /job-news": "none",
  "PUT /job-news/{newsId}/told": "none",
  "POST /job-news/sum": "none",
  "GET /memory": "read",
  "POST /memory/file": "decide",
  "GET /memory/file": "read",
  "DELETE /memory/file": "decide",
  "GET /memory/search": "read",
  "POST /memory/undo": "decide",
  "POST /channel/{channelId}/main": "type",
  "GET /channel/{channelId}/main": "read",
  "POST /channel/{channelId}/main/hand-over": "settings",
  "POST /rooms": "run",
  "GET /rooms": "read",
  "GET /room/{id}": "read",
  "GET /room/{id}/lines": "read",
  "POST /room/{id}/add": "run",
  "POST /room/{id}/remove": "press",
  "PUT /room/{id}/protocol": "press",
  "POST /room/{id}/stop": "press",
  "GET /spoken": "none",
  "PUT /spoken/{spokenId}": "none",
  "GET /events": "none",
  "GET /repos": "read",
  "GET /metrics": "none",
  "GET /openapi.json": "none",
};
/** The routes that want no credential, so that no role decides about them. */
const OPEN = ["GET /healthz"];

/** Names that no thread and no job has: a person who is let learns that, and nothing happens. */
const VALUES: Record<string, string> = {
  ...{ id: "nosuchthread", job: "nosuchjob", channelId: "300000000000000001", requestId: "r1" },
  ...{ inputId: "i1", name: "none.txt", sha256: "0".repeat(64), key: "post.x", newsId: "1", spokenId: "1" },
};

interface Described {
  parameters?: { name: string; in: string; example?: unknown }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
}

let sidecar: TestSidecar;
let described: Record<string, Record<string, Described>>;
const people: Record<string, string> = {};

beforeAll(async () => {
  sidecar = await startSidecar();
  const { url, token } = sidecar;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  for (const [at, role] of ROLES.entries()) {
    const id = `20000000000000000${at}`;
    people[role] = id;
    if (role === "nobody") continue;
    const body = JSON.stringify({ id, role });
    expect((await fetch(`${url}/people/role`, { method: "PUT", headers, body })).status).toBe(200);
  }
  const reply = await fetch(`${url}/openapi.json`, { headers });
  described = ((await reply.json()) as { paths: typeof described }).paths;
});
afterAll(() => sidecar?.close());

async function ask(name: string, role: string, values = VALUES): Promise<{ status: number; text: string }> {
  const [method = "", path = ""] = name.split(" ");
  const { parameters = [], requestBody } = described[path]?.[method.toLowerCase()] ?? {};
  const query = parameters
    .filter(({ in: where, example }) => where === "query" && example !== undefined)
    .map(({ name: key, example }) => `${key}=${encodeURIComponent(String(example))}`);
  const [type, { example } = {}] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const body = type === "application/json" ? JSON.stringify(example ?? BODIES[name] ?? {}) : "bytes";
  const reply = await fetch(
    `${sidecar.url}${path.replace(/\{(\w+)\}/g, (_, key: string) => values[key] ?? "")}?${query.join("&")}`,
    {
      method,
      headers: {
        authorization: `Bearer ${sidecar.relayToken}`,
        "threadmux-person": people[role] ?? "",
        ...(type !== undefined && { "content-type": type }),
      },
      ...(type !== undefined && { body }),
    },
  );
  return { status: reply.status, text: await reply.text() };
}

/** The bodies for routes whose description has no example. */
const BODIES: Record<string, object> = {
  "POST /channel/{channelId}/main/hand-over": { dir: "." },
  "POST /thread/{id}/asks/{requestId}": { optionId: "once" },
  "POST /conversations/take": { threadId: "t", dir: ".", sessionId: "00000000-0000-4000-8000-000000000000" },
  "POST /memory/undo": { writeId: "w1" },
};

// Promise: S1
test("the table has each route", () => {
  const all = Object.entries(described).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(all.sort()).toEqual([...Object.keys(ROUTES), ...OPEN].sort());
});

// Promise: S1
test("each route lets whom the table lets, and nobody else; a refusal says who could", async () => {
  const found: Record<string, string> = {};
  const expected: Record<string, string> = {};
  for (const [name, right] of Object.entries(ROUTES)) {
    const those: string[] = [];
    for (const role of [...ROLES].reverse()) {
      const { status, text } = await ask(name, role);
      // A person who is let may hear that something is wrong with the request; all others hear nothing of it.
      if (status !== 403) those.unshift(role);
      else if (right !== "none") expect(text).toContain(`<@${people["owner"]}>`);
    }
    found[name] = those.join(" ");
    expected[name] = ROLES.filter((role) => TABLE[role].split(" ").includes(right)).join(" ");
  }
  expect(found).toEqual(expected);
});

// Promise: S1
test("who has a role in one channel alone gets nothing of what is in another, by any route", async () => {
  const there = "300000000000000001";
  const here = "300000000000000002";
  const elsewhere = "200000000000000009";
  people["elsewhere"] = elsewhere;
  const { url, token, relayToken } = sidecar;
  const call = async (as: string, method: string, path: string, body: object) => {
    const headers = { authorization: `Bearer ${as}`, "content-type": "application/json" };
    const reply = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
    expect([path, reply.status, await reply.text()]).toEqual([path, expect.toBeOneOf([200, 201]), anything]);
  };
  const anything = expect.any(String);
  await call(token, "PUT", "/people/role", { id: elsewhere, role: "maker", channelId: here });
  const places = { secretly: there, openly: here };
  for (const [at, [threadId, parentId]] of Object.entries(places).entries())
    await call(relayToken, "POST", "/thread/create", {
      ...{ threadId, type: "terminal", dir: ".", command: "cat" },
      home: { channelId: `30000000000000001${at}`, parentId },
    });
  const tried = Object.entries(ROUTES).filter(
    ([name, right]) => right !== "none" && /\{(id|channelId)\}/.test(name),
  );
  const heard = async (id: string, channelId: string) => {
    const those: string[] = [];
    for (const [name] of tried)
      if ((await ask(name, "elsewhere", { ...VALUES, id, channelId })).status !== 403) those.push(name);
    return those;
  };
  expect(await heard("secretly", there)).toEqual([]);
  expect(await heard("openly", here)).toEqual(tried.map(([name]) => name));
  for (const list of ["GET /threads", "GET /last-words", "GET /inbox", "GET /asks"])
    expect([list, (await ask(list, "elsewhere")).text]).toEqual([
      list,
      expect.not.stringContaining("secretly"),
    ]);
  // The lists do hold it for somebody who may read there.
  expect((await ask("GET /threads", "viewer")).text).toContain("secretly");
  await call(token, "POST", "/thread/secretly/kill", {});
});
