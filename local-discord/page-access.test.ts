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

const key = () => new URLSearchParams(new URL(discord.pageUrl).hash.slice(1)).get("key") ?? "";
const withKey = () => ({ authorization: `Bearer ${key()}` });

const post = (headers: Record<string, string>) =>
  ask("/page/messages", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ channelId: discord.channelId, content: "typed" }),
  });

const READ_PATHS = ["/page/events", `/page/messages?channel=1`];
const OPEN_PATHS = ["/", "/page.js", "/page.css", "/icon.svg"];

// Promise: S48
describe("getting in", () => {
  it("takes the key in a header, and hands out no cookie; the key is where browsers send it to nobody", async () => {
    expect(key()).toMatch(/^[\w-]{43}$/); // 256 bits
    expect(discord.pageUrl).toBe(`${discord.origin}/#key=${key()}`);
    expect((await ask("/page/events", { headers: withKey() })).status).toBe(200);
    for (const path of OPEN_PATHS) {
      const { status, headers, body } = await ask(path, { headers: withKey() });
      expect([path, status, headers["set-cookie"]]).toEqual([path, 200, undefined]);
      expect(body).not.toContain(key());
    }
  });

  it.each(READ_PATHS)(
    "refuses %s without the key, with a wrong one, and with one that is elsewhere",
    async (path) => {
      for (const headers of [
        {},
        { authorization: `Bearer ${"x".repeat(43)}` },
        { authorization: `Bearer ${key()}x` },
        { authorization: key() },
        { authorization: `Bot ${discord.botToken}` },
        { cookie: `local_discord_${discord.port}=${key()}; local-discord.key=${key()}` },
      ]) {
        const { status, body } = await ask(path, { headers });
        expect(status).toBe(403);
        expect(body).toBe(
          "Open the address that local Discord printed when it started: only it lets you in.\n",
        );
      }
      expect((await ask(`${path}${path.includes("?") ? "&" : "?"}key=${key()}`)).status).toBe(403);
    },
  );
});

// Promise: S48
describe("once in", () => {
  it("takes writes from its own origin only", async () => {
    const authorization = withKey().authorization;
    const own = discord.origin;
    const cases: [Record<string, string>, number][] = [
      [{ authorization, origin: own }, 200],
      [{ authorization, origin: own, "sec-fetch-site": "same-origin" }, 200],
      [{ authorization }, 403],
      [{ authorization, origin: "null" }, 403],
      [{ authorization, origin: "http://evil.example" }, 403],
      [{ authorization, origin: `http://127.0.0.1:${discord.port + 1}` }, 403],
      [{ authorization, origin: `http://localhost:${discord.port}` }, 403], // not the host that was asked
      [{ authorization, origin: own, "sec-fetch-site": "same-site" }, 403],
      [{ origin: own }, 403],
      [{ authorization, origin: own, host: "evil.example" }, 403],
      [{ authorization, origin: "http://evil.example", host: "evil.example" }, 403],
    ];
    for (const [headers, status] of cases) {
      expect([headers, (await post(headers)).status]).toEqual([headers, status]);
    }
    expect(discord.driver.messages(discord.channelId)).toHaveLength(2);
  });

  it("reads only for its own origin: no other site's script, frame or picture", async () => {
    const own = withKey();
    for (const path of READ_PATHS) {
      for (const headers of [
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { origin: "http://evil.example" },
      ]) {
        expect((await ask(path, { headers: { ...own, ...headers } })).status).toBe(403);
      }
    }
  });

  it("answers nothing at all to a foreign host name, the bot's side neither", async () => {
    for (const path of ["/", "/page/events", "/api/v10/gateway/bot", "/attachments/1/2/a"]) {
      const headers = { host: `evil.example:${discord.port}`, authorization: `Bot ${discord.botToken}` };
      expect((await ask(path, { headers })).status).toBe(403);
    }
  });

  it("cannot be framed, sniffed or kept, and runs its own scripts only", async () => {
    const { headers } = await ask("/", { headers: withKey() });
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
    const files = [{ name: "evil.html", data: "<script>alert(1)</script>", type: "text/html" }];
    const message = discord.driver.post(discord.you.id, discord.channelId, "file", { files });
    const [file] = message.attachments;
    const path = `/page/attachments/${file?.id}/evil.html`;
    expect(file?.url.startsWith(`${path}?hm=`)).toBe(true);
    const { status, headers } = await ask(file?.url ?? "");
    expect(status).toBe(200);
    for (const forged of [
      path,
      `${path}?hm=`,
      `${path}?hm=${"0".repeat(64)}`,
      file?.url.replace("evil", "x"),
    ]) {
      expect((await ask(forged ?? "", { headers: withKey() })).status).toBe(404);
    }
    expect(headers["content-disposition"]).toContain("attachment");
    expect(headers["content-security-policy"]).toContain("sandbox");
  });

  it("knows no other paths", async () => {
    const own = withKey();
    for (const path of ["/../run.ts", "/page/../../package.json", "/run.ts", "/%2e%2e/run.ts"]) {
      expect((await ask(path, { headers: own })).status).toBe(404);
    }
  });

  it("says refusals in words", async () => {
    const own = withKey();
    const answer = await ask("/page/messages", {
      method: "POST",
      headers: { ...own, origin: discord.origin, "content-type": "application/json" },
      body: JSON.stringify({ channelId: discord.channelId, content: "x".repeat(2001) }),
    });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body).error).toBe("Must be 2000 or fewer in length.");
  });
});
