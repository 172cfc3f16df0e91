import { request } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { attach, buildPages, protocolsOf, type Signed, signIn } from "../support/console.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal } from "../support/threads.ts";
import { untilValue } from "../support/wait.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let sidecar: TestSidecar;
let signed: Signed;
let skippedMs = 0;
beforeAll(async () => {
  buildPages();
  sidecar = await startSidecar(STAND_IN_CONFIG, { now: () => Date.now() + skippedMs });
  await openTerminal(sidecar.client, "a", "echo up; sleep 60");
  signed = await signIn(sidecar.url, sidecar.token);
});
afterAll(() => sidecar.close());
// A minute of its own for each test: many wrong tokens within one slow down who sends them.
beforeEach(() => {
  skippedMs += MINUTE_MS;
});

/** By node:http, since fetch lets nobody set Host or Sec-Fetch-Site. */
function status(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<number> {
  return new Promise((resolve, reject) => {
    request(`${sidecar.url}${path}`, { method, headers }, (reply) => {
      reply.resume().on("end", () => resolve(reply.statusCode ?? 0));
    })
      .on("error", reject)
      .end(body);
  });
}

describe("the page", () => {
  test.each([
    ["/console", "text/html"],
    ["/console/console.js", "text/javascript"],
    ["/console/console.css", "text/css"],
    ["/console/icon.svg", "image/svg+xml"],
  ])("%s needs no token, is never stored and may load nothing of others", async (path, type) => {
    const reply = await fetch(`${sidecar.url}${path}`);
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toContain(type);
    expect(reply.headers.get("cache-control")).toBe("no-store");
    expect(reply.headers.get("x-content-type-options")).toBe("nosniff");
    const policy = reply.headers.get("content-security-policy") ?? "";
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
    ]) {
      expect(policy.split("; ")).toContain(rule);
    }
    expect(policy).not.toMatch(/script-src[^;]*unsafe|style-src-elem[^;]*unsafe/);
    expect(await reply.text()).not.toContain(sidecar.token);
  });

  test("has another nonce each time, the one of its policy", async () => {
    const pages = await Promise.all([1, 2].map(() => fetch(`${sidecar.url}/console`)));
    const nonces = await Promise.all(
      pages.map(async (page) => {
        const nonce = /name="style-nonce" content="([^"]+)"/.exec(await page.text())?.[1] ?? "none";
        expect(page.headers.get("content-security-policy")).toContain(`'nonce-${nonce}'`);
        return nonce;
      }),
    );
    expect(nonces[0]).not.toBe(nonces[1]);
  });

  test.each(["/console/main.ts", "/console/..%2froutes.ts", "/console/constructor", "/console/a/b"])(
    "%s is not a part of it",
    async (path) => {
      expect(await status("GET", path, { authorization: `Bearer ${sidecar.token}` })).toBe(404);
    },
  );

  test.each([
    ["evil.example", 401],
    ["127.0.0.1.evil.example", 401],
    ["localhost:8080", 200],
    ["[::1]:3001", 200],
  ])("asked for as %s: %i", async (host, expected) => {
    expect(await status("GET", "/console", { host })).toBe(expected);
  });
});

// Promise: S39
describe("signing in", () => {
  test("takes the token, gives a secret, and sets no cookie", () => {
    expect(signed.status).toBe(200);
    expect(signed.secret).toMatch(/^[\w-]{43}$/);
    expect(signed.headers.get("set-cookie")).toBeNull();
    expect(signed.headers.get("cache-control")).toBe("no-store");
  });

  test("with a wrong token, or with the secret, is refused like any wrong token", async () => {
    expect(await signIn(sidecar.url, "wrong")).toMatchObject({ status: 401, secret: "" });
    for (const scheme of ["Bearer", "Session"]) {
      const headers = { authorization: `${scheme} ${signed.secret}`, origin: sidecar.url };
      expect(await status("POST", "/console/session", headers)).toBe(401);
    }
  });

  test("from another site's page is refused", async () => {
    const reply = await signIn(sidecar.url, sidecar.token, { origin: "https://evil.example" });
    expect(reply).toMatchObject({ status: 401, secret: "" });
  });
});

// Promise: S39
describe("a session", () => {
  const withSecret = (secret: string) => ({ authorization: `Session ${secret}` });
  const own = () => ({
    ...withSecret(signed.secret),
    origin: sidecar.url,
    "sec-fetch-site": "same-origin",
  });

  test.each(["/threads", "/threads?status=all", "/thread/a", "/repos", "/people", "/inbox", "/channels"])(
    "reads %s",
    async (path) => {
      expect(await status("GET", path, own())).toBe(200);
      expect(await status("GET", path, withSecret(signed.secret))).toBe(200);
      expect(await status("GET", path, {})).toBe(401);
    },
  );

  test.each([
    ["cross-site", { "sec-fetch-site": "cross-site" }],
    ["same-site, which another port of this host is too", { "sec-fetch-site": "same-site" }],
    ["another origin", { origin: "http://127.0.0.1:1" }],
    ["a rebound name", { host: "evil.example" }],
    ["a wrong secret", { authorization: `Session ${"A".repeat(43)}` }],
    ["no secret", { authorization: "Session" }],
    ["the secret in a cookie", { authorization: "", cookie: "threadmux.session=$" }],
  ])("reads nothing for %s", async (_what, headers) => {
    const sent = { ...withSecret(signed.secret), ...headers };
    if ("cookie" in sent) sent.cookie = String(sent.cookie).replace("$", signed.secret);
    expect(await status("GET", "/threads", sent)).toBe(401);
  });

  test.each([
    ["POST", "/thread/a/branch"],
    ["POST", "/thread/a/pause"],
    ["POST", "/thread/a/limit"],
    ["POST", "/thread/a/rules"],
    ["GET", "/thread/a/steps"],
    ["POST", "/thread/a/resize"],
    ["POST", "/threads/output"],
    ["PUT", "/thread/a/delivery"],
    ["PUT", "/thread/a/messages/page.0"],
    ["GET", "/threads/messages"],
    ["GET", "/thread/a/output"],
    ["GET", "/thread/a/log"],
    ["GET", "/thread/a/screen"],
    ["GET", "/events"],
    ["PUT", "/people"],
    ["PUT", "/people/server-roles"],
  ])("does not do for %s %s, from wherever", async (method, path) => {
    const body = method === "GET" ? undefined : "{}";
    expect(await status(method, path, { ...own(), "content-type": "application/json" }, body)).toBe(401);
  });

  // Promise: S39
  test("begins and ends threads, from its own page alone", async () => {
    const body = JSON.stringify({ threadId: "made", type: "terminal", dir: ".", command: "sleep 60" });
    const json = { "content-type": "application/json" };
    const foreign = [{ origin: "http://127.0.0.1:1" }, { origin: "" }, { "sec-fetch-site": "same-site" }];
    for (const path of ["/thread/create", "/thread/made/kill"]) {
      const sent = path === "/thread/create" ? body : "{}";
      for (const headers of foreign) {
        expect(await status("POST", path, { ...own(), ...json, ...headers }, sent)).toBe(401);
      }
      expect(await status("POST", path, { ...withSecret(signed.secret), ...json }, sent)).toBe(401);
      expect(await status("POST", path, { ...own(), ...json }, sent)).toBe(
        path.endsWith("create") ? 201 : 200,
      );
    }
    expect(await sidecar.client.getThread("made")).toMatchObject({ createdBy: "console", status: "killed" });
  });

  describe("with an agent's thread", () => {
    const send = (path: string, body: object, headers: Record<string, string> = {}) =>
      status(
        "POST",
        path,
        { ...own(), "content-type": "application/json", ...headers },
        JSON.stringify(body),
      );

    // Promise: S39
    test("writes and decides in the console's name, whatever the page says", async () => {
      await openAgent(
        sidecar,
        "talks",
        script("Do", { tools: [{ name: "Bash", input: { command: "touch x" } }] }, { text: "Done." }),
      );
      await untilStatus(sidecar, "talks", "waiting");
      const [ask] = await sidecar.client.listAsks("talks");
      const answer = { optionId: "once" };
      expect(await send(`/thread/talks/asks/${ask?.requestId}`, answer)).toBe(200);
      await untilStatus(sidecar, "talks", "idle");
      expect(await send("/thread/talks/input", { text: "And?" })).toBe(200);
      await untilStatus(sidecar, "talks", "idle");
      const input = { text: "More?" };
      expect(await send("/thread/talks/resume", { input })).toBe(200);
      await untilStatus(sidecar, "talks", "idle");
      expect(await send("/thread/talks/interrupt", {})).toBe(200);
      const events = await untilValue(
        "the control",
        () => transcriptOf(sidecar, "talks"),
        (all) => all.filter(({ type }) => type === "control").length === 2,
      );
      expect(events.find(({ type }) => type === "permission_response")).toMatchObject({ by: "console" });
      const written = events.filter(({ type }) => type === "user_message").slice(-2);
      expect(written).toMatchObject([{ source: "console" }, { source: "console" }]);
      expect(events.filter(({ type }) => type === "control")).toMatchObject([
        { op: "resume", by: "console" },
        { op: "interrupt", by: "console" },
      ]);
    });

    test.each(["input", "asks/x", "interrupt", "resume", "undo", "mode", "model"])(
      "changes nothing by %s from elsewhere",
      async (name) => {
        const path = `/thread/talks/${name}`;
        for (const headers of [
          { origin: "https://evil.example" },
          { "sec-fetch-site": "same-site" },
          { origin: "null" },
        ]) {
          expect(await send(path, {}, headers)).toBe(401);
        }
        const { origin: _, ...withoutOrigin } = own();
        expect(
          await status("POST", path, { ...withoutOrigin, "content-type": "application/json" }, "{}"),
        ).toBe(401);
      },
    );
  });

  test("is signed out from the page alone; then it is worth nothing and its sockets are closed", async () => {
    const { secret } = await signIn(sidecar.url, sidecar.token);
    const viewer = await attach(sidecar, "a", {
      headers: { origin: sidecar.url },
      protocols: protocolsOf(secret),
    });
    await viewer.untilScreen("up");
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: sidecar.url, "sec-fetch-site": "same-site" },
    ]) {
      expect(await status("DELETE", "/console/session", { ...withSecret(secret), ...headers })).toBe(401);
    }
    expect(await status("GET", "/threads", withSecret(secret))).toBe(200);
    const leaving = { ...withSecret(secret), origin: sidecar.url };
    expect(await status("DELETE", "/console/session", leaving)).toBe(204);
    expect(await status("GET", "/threads", withSecret(secret))).toBe(401);
    expect(await viewer.closed).toBe(4401);
    expect(await status("GET", "/threads", own())).toBe(200);
  });

  test("lasts twelve hours, and so do its sockets", async () => {
    const { secret } = await signIn(sidecar.url, sidecar.token);
    const viewer = await attach(sidecar, "a", {
      headers: { origin: sidecar.url },
      protocols: protocolsOf(secret),
    });
    skippedMs += 11.9 * HOUR_MS;
    expect(await status("GET", "/threads", withSecret(secret))).toBe(200);
    skippedMs += 0.2 * HOUR_MS;
    expect(await status("GET", "/threads", withSecret(secret))).toBe(401);
    expect(await viewer.closed).toBe(4401);
  });
});
