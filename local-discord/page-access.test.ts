/** Nobody types into a terminal without the key: no other page, no other user, no rebound name. */
import { request } from "node:http";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildPages } from "../test/support/console.ts";
import { type LocalDiscord, runLocalDiscord } from "./run.ts";

type Answer = { status: number; headers: Record<string, string | string[] | undefined>; body: string };

let discord: LocalDiscord;
beforeAll(buildPages);
beforeEach(async () => {
  discord = await runLocalDiscord();
});
afterEach(() => discord.close());

/** `fetch` would not let a test lie about Host and Origin. */
function ask(
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
) {
  return new Promise<Answer>((resolve, reject) => {
    const { method = "GET", headers = {}, body } = options;
    const sent = request(discord.origin + path, { method, headers }, (response) => {
      let text = "";
      const finish = () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
      };
      response.on("data", (chunk) => {
        text += chunk;
        // An event stream does not end by itself: its first piece is enough.
        if (response.headers["content-type"] === "text/event-stream") {
          finish();
          sent.destroy();
        }
      });
      response.on("end", finish);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const pagePath = () => discord.pageUrl.slice(discord.origin.length);

async function enter(): Promise<string> {
  const { headers } = await ask(pagePath());
  return String(headers["set-cookie"]).split(";")[0] ?? "";
}

const post = (headers: Record<string, string>) =>
  ask("/page/messages", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ channelId: discord.channelId, content: "typed" }),
  });

const READ_PATHS = [
  "/",
  "/page.js",
  "/page.css",
  "/icon.svg",
  "/page/events",
  "/page/messages?channel=1",
  "/page/attachments/1/a",
];

describe("getting in", () => {
  it("turns the key into a strict cookie and takes it out of the address", async () => {
    const { status, headers } = await ask(pagePath());
    expect([status, headers["location"]]).toEqual([303, "/"]);
    const cookie = String(headers["set-cookie"]);
    expect(cookie).toMatch(
      new RegExp(`^local_discord_${discord.port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`),
    );
    const key = new URL(discord.pageUrl).searchParams.get("key") ?? "";
    expect(key).toMatch(/^[\w-]{43}$/); // 256 bits
    expect(cookie).not.toContain(key);
    for (const path of READ_PATHS.slice(0, 5)) {
      expect((await ask(path, { headers: { cookie: await enter() } })).status).toBe(200);
    }
  });

  it("goes on by a refresh when a link on another site was followed", async () => {
    const { status, body, headers } = await ask(pagePath(), { headers: { "sec-fetch-site": "cross-site" } });
    expect(status).toBe(200);
    expect(headers["set-cookie"]).toBeDefined();
    expect(body).toContain('content="0;url=/"');
  });

  it.each(READ_PATHS)("refuses %s without the cookie or with a wrong one", async (path) => {
    const wrong = `local_discord_${discord.port}=${"x".repeat(43)}`;
    for (const headers of [
      {},
      { cookie: wrong },
      { cookie: (await enter()).replace("local_discord_", "other_") },
    ]) {
      const { status, body } = await ask(path, { headers });
      expect(status).toBe(403);
      expect(body).toBe(
        "Open the address that local Discord printed when it started: only it lets you in.\n",
      );
    }
  });

  it("refuses a wrong key, the cookie's secret as a key, and the bot token", async () => {
    const secret = (await enter()).split("=")[1];
    for (const key of [
      "",
      "x",
      `${new URL(discord.pageUrl).searchParams.get("key")}x`,
      secret,
      discord.botToken,
    ]) {
      const { status, headers } = await ask(`/?key=${key}`);
      expect([status, headers["set-cookie"]]).toEqual([403, undefined]);
    }
  });
});

describe("once in", () => {
  it("takes writes from its own origin only", async () => {
    const cookie = await enter();
    const own = discord.origin;
    const cases: [Record<string, string>, number][] = [
      [{ cookie, origin: own }, 200],
      [{ cookie, origin: own, "sec-fetch-site": "same-origin" }, 200],
      [{ cookie }, 403],
      [{ cookie, origin: "null" }, 403],
      [{ cookie, origin: "http://evil.example" }, 403],
      [{ cookie, origin: `http://127.0.0.1:${discord.port + 1}` }, 403],
      [{ cookie, origin: `http://localhost:${discord.port}` }, 403], // not the host that was asked
      [{ cookie, origin: own, "sec-fetch-site": "same-site" }, 403],
      [{ origin: own }, 403],
      [{ cookie, origin: own, host: "evil.example" }, 403],
      [{ cookie, origin: "http://evil.example", host: "evil.example" }, 403],
    ];
    for (const [headers, status] of cases) {
      expect([headers, (await post(headers)).status]).toEqual([headers, status]);
    }
    expect(discord.driver.messages(discord.channelId)).toHaveLength(2);
  });

  it("reads only for its own origin: no other site's script, frame or picture", async () => {
    const cookie = await enter();
    for (const path of ["/page/events", "/page/messages?channel=1", "/page.js"]) {
      for (const headers of [
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { origin: "http://evil.example" },
      ]) {
        expect((await ask(path, { headers: { cookie, ...headers } })).status).toBe(403);
      }
    }
  });

  it("answers nothing at all to a foreign host name, the bot's side neither", async () => {
    for (const path of ["/", pagePath(), "/api/v10/gateway/bot", "/attachments/1/2/a"]) {
      const headers = { host: `evil.example:${discord.port}`, authorization: `Bot ${discord.botToken}` };
      expect((await ask(path, { headers })).status).toBe(403);
    }
  });

  it("cannot be framed, sniffed or kept, and runs its own scripts only", async () => {
    const { headers } = await ask("/", { headers: { cookie: await enter() } });
    expect(headers).toMatchObject({
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
    const policy = String(headers["content-security-policy"]);
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ]) {
      expect(policy).toContain(rule);
    }
    expect(policy).not.toContain("unsafe");
  });

  it("hands files out as downloads, never as pages of its own", async () => {
    const cookie = await enter();
    const files = [{ name: "evil.html", data: "<script>alert(1)</script>", type: "text/html" }];
    const message = discord.driver.post(discord.you.id, discord.channelId, "file", { files });
    const id = message.attachments[0]?.id;
    const { status, headers } = await ask(`/page/attachments/${id}/evil.html`, { headers: { cookie } });
    expect(status).toBe(200);
    expect(headers["content-disposition"]).toContain("attachment");
    expect(headers["content-security-policy"]).toContain("sandbox");
  });

  it("knows no other paths", async () => {
    const cookie = await enter();
    for (const path of ["/../run.ts", "/page/../../package.json", "/run.ts", "/%2e%2e/run.ts"]) {
      expect((await ask(path, { headers: { cookie } })).status).toBe(404);
    }
  });

  it("says refusals in words", async () => {
    const cookie = await enter();
    const answer = await ask("/page/messages", {
      method: "POST",
      headers: { cookie, origin: discord.origin, "content-type": "application/json" },
      body: JSON.stringify({ channelId: discord.channelId, content: "x".repeat(2001) }),
    });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body).error).toBe("Must be 2000 or fewer in length.");
  });
});
