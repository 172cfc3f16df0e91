import { readFileSync, statSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROUTES } from "../../shared/protocol/routes.ts";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";

/** Who acts is known by the credential, and in whose name by the relay alone. */

const ADA = "123456789012345678";
const GRACE = "223456789012345678";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  await sidecar.client.putPeople([
    { id: ADA, role: "maker" },
    { id: GRACE, role: "maker" },
  ]);
});
afterAll(() => sidecar?.close());

interface Reply {
  status: number;
  body: { code?: string; error?: string };
}

/** A request with exactly these headers; one may be there twice. */
function send(
  path: string,
  headers: readonly [string, string][],
  { method = "POST", body = "{}" }: { method?: string; body?: string } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const raw = [...headers, ["content-type", "application/json"], ["content-length", String(body.length)]];
    const asked = httpRequest(sidecar.url + path, { method, headers: ["host", "localhost", ...raw.flat()] });
    asked.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: text === "" ? {} : JSON.parse(text) }),
      );
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

const said = (text: string) => script(text, { text: "Yes." });
const bearer = (token: string): [string, string] => ["authorization", `Bearer ${token}`];
const named = (id: string): [string, string] => ["Threadmux-Person", id];

test("each speaks in its own name: the owner, the relay, and people through the relay", async () => {
  const { client } = sidecar;
  await openAgent({ ...sidecar, client: sidecar.as(ADA) }, "hers", said("Hello"));
  await untilStatus(sidecar, "hers", "idle");
  await sidecar.as(GRACE).sendInput("hers", { text: said("From Grace."), inputId: "g" });
  await client.sendInput("hers", { text: said("From the owner."), inputId: "o" });
  await untilStatus(sidecar, "hers", "idle");
  await sidecar.as(ADA).controlAgent("hers", { control: "pause" });
  await client.controlAgent("hers", { control: "resume", input: { text: said("Go on."), inputId: "r" } });
  await untilStatus(sidecar, "hers", "idle");
  await sidecar.as(GRACE).sendInput("hers", { text: said("Later."), inputId: "l" });
  await untilStatus(sidecar, "hers", "idle");
  expect(await client.getThread("hers")).toMatchObject({ createdBy: `discord:${ADA}` });
  const events = await transcriptOf(sidecar, "hers");
  const sources = events.flatMap((event) => (event.type === "user_message" ? [event.source] : []));
  expect(sources).toEqual([`discord:${ADA}`, `discord:${GRACE}`, "owner", "owner", `discord:${GRACE}`]);
  const controls = events.flatMap((event) => (event.type === "control" ? [[event.op, event.by]] : []));
  expect(controls).toEqual([
    ["pause", `discord:${ADA}`],
    ["resume", "owner"],
  ]);
});

describe("nobody but the relay names a person", () => {
  const readToken = (threadId: string) =>
    /Bearer ([^"\s]+)/.exec(
      readFileSync(join(sidecar.stateDir, "threads", threadId, "mcp.json"), "utf8"),
    )?.[1] ?? "";

  test.each(ROUTES.filter(({ access }) => access !== "anybody"))(
    "the owner may not, on $method $path",
    async ({ method, path }) => {
      const place = path.replace(/:\w+/g, "1");
      const reply = await send(place, [bearer(sidecar.token), named(ADA)], { method: method.toUpperCase() });
      expect([reply.status, reply.body.code]).toEqual([403, "forbidden"]);
      expect(reply.body.error).toMatch(/^Threadmux-Person: .*RELAY_TOKEN/);
    },
  );

  test("nor a thread by its own token, which opens nothing of the API either", async () => {
    await openAgent(sidecar, "agent", said("Hello"));
    await untilStatus(sidecar, "agent", "idle");
    const token = readToken("agent");
    expect(token.length).toBeGreaterThan(20);
    const rpc = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const forged = await send("/mcp", [bearer(token), named(ADA)], { body: rpc });
    expect([forged.status, forged.body.code]).toEqual([403, "forbidden"]);
    const outside = await send("/thread/agent/pause", [bearer(token), named(ADA)]);
    expect([outside.status, outside.body.code]).toEqual([401, "unauthorized"]);
    const relays = await send("/mcp", [bearer(sidecar.relayToken), named(ADA)], { body: rpc });
    expect([relays.status, relays.body.code]).toEqual([401, "unauthorized"]);
  });

  test("nor who has no token: they are told nothing of the header", async () => {
    for (const headers of [
      [named(ADA)],
      [bearer("x".repeat(36)), named(ADA)],
      [bearer(sidecar.relayToken.slice(1))],
    ]) {
      const reply = await send("/thread/hers/pause", headers as [string, string][]);
      expect([reply.status, reply.body.code]).toEqual([401, "unauthorized"]);
      expect(reply.body.error).not.toContain("Person");
    }
  });
});

test.each([
  ["", /^Threadmux-Person: must be one/],
  ["me", /^Threadmux-Person: must be one/],
  ["42", /^Threadmux-Person: must be one/],
  [`discord:${ADA}`, /^Threadmux-Person: must be one/],
  [`${ADA} `.repeat(2), /^Threadmux-Person: must be one/],
  [`${ADA},${GRACE}`, /^Threadmux-Person: must be one/],
  ["１２３４５６７８９０１２３４５６７８".slice(0, 3), /^Threadmux-Person: must be one/],
])("the relay names %j: refused by the header's name", async (id, words) => {
  const reply = await send("/thread/hers/pause", [
    bearer(sidecar.relayToken),
    named(Buffer.from(id).toString("latin1")),
  ]);
  expect([reply.status, reply.body.code]).toEqual([400, "invalid_request"]);
  expect(reply.body.error).toMatch(words);
});

test("two headers name nobody, also if they are the same", async () => {
  for (const second of [ADA, GRACE]) {
    const headers = [bearer(sidecar.relayToken), named(ADA), named(second)];
    const reply = await send("/thread/hers/pause", headers);
    expect([reply.status, reply.body.code]).toEqual([400, "invalid_request"]);
  }
});

test("two credentials are none of the two", async () => {
  // Node keeps the first of several; the relay's token behind the owner's lends it nothing.
  const headers = [bearer(sidecar.token), bearer(sidecar.relayToken), named(ADA)];
  expect((await send("/thread/hers/pause", headers)).status).toBe(403);
});

test("nobody writes in another's name by a body: source, by and createdBy are unknown fields", async () => {
  const { token } = sidecar;
  const post = (path: string, body: object) => send(path, [bearer(token)], { body: JSON.stringify(body) });
  const create = { threadId: "forged", type: "terminal", dir: ".", command: "cat", createdBy: ADA };
  for (const [path, body, field] of [
    ["/thread/create", create, "createdBy"],
    ["/thread/hers/branch", { threadId: "forged", createdBy: ADA }, "createdBy"],
    ["/thread/hers/input", { text: "x", source: `discord:${ADA}` }, "source"],
    ["/thread/hers/pause", { by: `discord:${ADA}` }, "by"],
    ["/thread/hers/resume", { input: { text: "x", source: `discord:${ADA}` } }, "input.source"],
    ["/thread/hers/asks/x", { optionId: "once", by: `discord:${ADA}` }, "by"],
  ] as const) {
    const reply = await post(path, body);
    expect([reply.status, reply.body.error]).toEqual([
      400,
      expect.stringContaining(`${field}: not a known field`),
    ]);
  }
  expect(await refusal(sidecar.client.getThread("forged"))).toMatchObject({ code: "not_found" });
});

test("the relay's token opens no console", async () => {
  for (const headers of [[bearer(sidecar.relayToken)], [bearer(sidecar.relayToken), named(ADA)]]) {
    const reply = await send("/console/session", headers);
    expect([reply.status, reply.body.code]).toEqual([403, "forbidden"]);
  }
});

test("the relay's token is made beside the other, for nobody else to read, and stays", async ({
  onTestFinished,
}) => {
  const folders = makeSidecarFolders();
  onTestFinished(() => folders.close());
  const none = { folders };
  const first = await startSidecar({ token: undefined, relayToken: undefined }, none);
  const file = join(first.stateDir, "relay-token");
  const kept = readFileSync(file, "utf8").trim();
  expect([kept.length, statSync(file).mode & 0o777]).toEqual([64, 0o600]);
  expect(first.relayToken).toBe(kept);
  expect(kept).not.toBe(first.token);
  await first.restart();
  expect(readFileSync(file, "utf8").trim()).toBe(kept);
  await first.stop();
  // The same as the owner's, by whatever way.
  writeFileSync(file, readFileSync(join(first.stateDir, "token")));
  await expect(startSidecar({ token: undefined, relayToken: undefined }, none)).rejects.toThrow(
    /^RELAY_TOKEN: must not be/,
  );
});
