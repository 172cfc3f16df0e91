import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { attach, protocolsOf, refusedWith, signIn, startForViewers } from "../support/console.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal } from "../support/threads.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startForViewers();
});
afterAll(() => sidecar.close());

// Promise: S39
describe("who may attach", () => {
  let secret = "";
  const named = (value: string) => ({ "sec-websocket-protocol": protocolsOf(value).join(", ") });
  const from = (origin: string) => ({ ...named(secret), origin });
  const own = () => from(sidecar.url);
  beforeAll(async () => {
    secret = (await signIn(sidecar.url, sidecar.token)).secret;
    await openTerminal(sidecar.client, "door", "echo up; sleep 60");
  });

  test("the session's secret with an Origin of this host; the secret is not sent back", async () => {
    const headers = { origin: sidecar.url };
    const viewer = await attach(sidecar, "door", { headers, protocols: protocolsOf(secret) });
    await viewer.untilScreen("up");
    expect(viewer.socket.protocol).toBe("threadmux");
    await viewer.close();
  });

  test.each([
    ["nothing", () => ({})],
    ["a wrong token", () => ({ authorization: "Bearer wrong" })],
    ["a wrong token beside the secret", () => ({ ...own(), authorization: "Bearer wrong" })],
    ["an Origin without the secret", () => ({ origin: sidecar.url })],
    ["a made-up secret", () => ({ ...own(), ...named("A".repeat(43)) })],
    ["the secret without an Origin", () => named(secret)],
    ["the secret from another site", () => from("https://evil.example")],
    ["the secret from another port of this host", () => from("http://127.0.0.1:1")],
    ["the secret from a file", () => from("null")],
    ["the secret in a cookie", () => ({ cookie: `threadmux.session=${secret}`, origin: sidecar.url })],
    ["a request that the browser calls cross-site", () => ({ ...own(), "sec-fetch-site": "cross-site" })],
    ["a name that was rebound to loopback", () => ({ ...from("http://evil.example"), host: "evil.example" })],
  ])("not with %s", async (_what, headers) => {
    expect(await refusedWith(attach(sidecar, "door", { headers: headers() }))).toBe(401);
  });

  test.each(["/threads", "/thread/door", "/thread/door/attach/x", "/thread/%2e%2e/attach", "/", "//["])(
    "no socket is at %s",
    async (path) => {
      expect(await upgradeStatus(path)).toBe(404);
    },
  );

  test("wrong tokens count, as on every route: the twenty-first within a minute waits", async () => {
    const own = await startSidecar();
    try {
      const knock = () => refusedWith(attach(own, "a", { headers: { authorization: "Bearer wrong" } }));
      for (let i = 0; i < 20; i++) expect(await knock()).toBe(401);
      const startedAt = performance.now();
      expect(await knock()).toBe(401);
      expect(performance.now() - startedAt).toBeGreaterThan(1_900);
    } finally {
      await own.close();
    }
  });

  test("an unknown mode is refused in words", async () => {
    expect(await refusedWith(attach(sidecar, "door", { query: "?mode=write" }))).toBe(400);
  });

  async function upgradeStatus(path: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${sidecar.token}`,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      };
      request(`${sidecar.url}${path}`, { headers })
        .on("response", (reply) => {
          reply.resume();
          resolve(reply.statusCode ?? 0);
        })
        .on("upgrade", (_reply, socket) => {
          socket.destroy();
          resolve(101);
        })
        .on("error", reject)
        .end();
    });
  }
});
