/** Buckets, headers and 429s: first the machine alone, then over HTTP and with discord.js. */
import { Client } from "discord.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Releasers } from "../shared/lifecycle.ts";
import { faultBurst, randomFaults } from "./faults.ts";
import { DEFAULT_LIMITS, mergeLimits, RateLimiter } from "./rate-limits.ts";
import { type LocalDiscord, runLocalDiscord } from "./run.ts";
import { botApi, testClock } from "./testing.ts";

const EDIT = "PATCH /channels/:channel/messages/:message";

describe("the limiter", () => {
  it("counts a bucket per top-level id and opens it again when its window is over", () => {
    const clock = testClock(1_700_000_000_000);
    const limiter = new RateLimiter(mergeLimits(), clock.now);
    const take = (major: string) => limiter.take({ route: EDIT, major, isGlobalExempt: false });
    for (let n = 4; n >= 0; n -= 1) {
      const verdict = take("1");
      expect(verdict.isAllowed).toBe(true);
      expect(verdict.headers["x-ratelimit-remaining"]).toBe(String(n));
      clock.advance(100);
    }
    expect(take("1")).toMatchObject({ isAllowed: false, scope: "user", retryAfterMs: 4500 });
    expect(take("2").isAllowed).toBe(true);
    expect(take("2").headers["x-ratelimit-bucket"]).toBe(take("1").headers["x-ratelimit-bucket"]);
    clock.advance(4500);
    expect(take("1").headers).toMatchObject({
      "x-ratelimit-limit": "5",
      "x-ratelimit-remaining": "4",
      "x-ratelimit-reset": "1700000010.000",
      "x-ratelimit-reset-after": "5.000",
    });
  });

  it("has a global limit that interaction answers do not count towards", () => {
    const clock = testClock();
    const limiter = new RateLimiter(mergeLimits(), clock.now);
    const take = (n: number, isGlobalExempt: boolean) =>
      limiter.take({ route: "GET /x", major: String(n), isGlobalExempt });
    for (let n = 0; n < 50; n += 1) expect(take(n, false).isAllowed).toBe(true);
    expect(take(51, false)).toEqual({ isAllowed: false, scope: "global", retryAfterMs: 1000, headers: {} });
    expect(take(52, true).isAllowed).toBe(true);
    clock.advance(1000);
    expect(take(53, false).isAllowed).toBe(true);
  });

  it("keeps hidden limits out of the headers", () => {
    const limiter = new RateLimiter(mergeLimits(), testClock().now);
    expect(limiter.takeHidden("rename 1", DEFAULT_LIMITS.renames)).toBeUndefined();
    expect(limiter.takeHidden("rename 1", DEFAULT_LIMITS.renames)).toBeUndefined();
    expect(limiter.takeHidden("rename 1", DEFAULT_LIMITS.renames)).toBe(600_000);
    expect(limiter.takeHidden("rename 2", DEFAULT_LIMITS.renames)).toBeUndefined();
  });
});

describe("over HTTP", () => {
  let releasers: Releasers;
  let discord: LocalDiscord;
  beforeEach(async () => {
    releasers = new Releasers();
    discord = await runLocalDiscord();
    releasers.add("local Discord", () => discord.close());
  });
  afterEach(() => releasers.close());

  async function login(): Promise<Client<true>> {
    const client = new Client({
      intents: [1, 512],
      rest: { api: discord.apiUrl, timeout: 2500 },
      enforceNonce: true,
    });
    releasers.add("client", () => client.destroy());
    const ready = new Promise<Client<true>>((resolve) => client.once("clientReady", resolve));
    await client.login(discord.botToken);
    return ready;
  }

  async function sendText(client: Client, content: string) {
    const channel = await client.channels.fetch(discord.channelId);
    if (!channel?.isSendable()) throw new Error("no channel to send to");
    return channel.send(content);
  }

  it("answers 429 as Discord does: headers, whole seconds, exact body", async () => {
    // However slow the machine is, all of them come within one second.
    discord = await runLocalDiscord({ now: testClock(1_700_000_000_000).now });
    releasers.add("stopped Discord", () => discord.close());
    const api = botApi(discord);
    const send = () => api("POST", `/channels/${discord.channelId}/messages`, { content: "x" });
    for (let n = 0; n < 5; n += 1) expect((await send()).status).toBe(200);
    const refused = await send();
    expect(refused.status).toBe(429);
    expect(refused.headers.get("x-ratelimit-scope")).toBe("user");
    expect(refused.headers.get("x-ratelimit-remaining")).toBe("0");
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(refused.body).toMatchObject({ message: "You are being rate limited.", global: false });
    const retryAfter = Number(refused.body["retry_after"]);
    expect(retryAfter).toBeGreaterThan(4);
    expect(retryAfter).toBeLessThanOrEqual(5);
    expect(discord.driver.stats).toMatchObject({ rateLimited: 1, invalid: 1 });
    expect(discord.driver.stats.count("POST /channels/:channel/messages")).toBe(6);
    expect(discord.driver.stats.maxPerSecond()).toBe(6);
  });

  it("forces 429s of every scope; shared ones are not held against the bot", async () => {
    const api = botApi(discord);
    const { driver } = discord;
    const ask = async (scope: "user" | "shared" | "global", hasHeaders?: boolean) => {
      driver.faults.rest = () => ({
        kind: "rate-limit",
        scope,
        retryAfterMs: 1500,
        ...(hasHeaders === undefined ? {} : { hasHeaders }),
      });
      return api("GET", "/users/@me");
    };
    const global = await ask("global");
    expect(global.headers.get("x-ratelimit-global")).toBe("true");
    expect(global.body).toMatchObject({ global: true, retry_after: 1.5 });
    expect((await ask("shared")).body["message"]).toBe("The resource is being rate limited.");
    expect((await ask("user", false)).headers.get("retry-after")).toBeNull();
    expect(driver.stats.invalid).toBe(2);
    driver.faults.rest = undefined;
    expect((await api("GET", "/users/@me")).status).toBe(200);
  });

  it("a request that was applied and then reset is sent again by discord.js and deduplicated", async () => {
    const client = await login();
    const { driver, channelId } = discord;
    const isSend = (request: { route: string }) => request.route.startsWith("POST /channels");
    driver.faults.rest = faultBurst(1, { kind: "drop", how: "rst", isApplied: true }, isSend);
    await sendText(client, "once");
    expect(driver.stats.count("POST /channels/:channel/messages")).toBe(2);
    expect(driver.messages(channelId).map((message) => message.content)).toEqual(["once"]);
  });

  it("ends, stalls and breaks requests on demand", async () => {
    const client = await login();
    const { driver, channelId } = discord;
    driver.faults.rest = () => ({ kind: "drop", how: "fin", isApplied: false });
    await expect(sendText(client, "a")).rejects.toThrow();
    driver.faults.rest = () => ({ kind: "status", status: 503 });
    await expect(sendText(client, "b")).rejects.toThrow("Service Unavailable");
    expect(driver.messages(channelId)).toEqual([]);
    driver.faults.rest = faultBurst(1, { kind: "stall", isApplied: true });
    await sendText(client, "c"); // after discord.js's time-out and another try
    expect(driver.messages(channelId).map((message) => message.content)).toEqual(["c"]);
    driver.faults.rest = () => ({ kind: "stall-body" });
    const stalled = sendText(client, "d").catch(() => "ended");
    await driver.until(() => driver.messages(channelId).length === 2, {
      what: "the effect of the stalled request",
    });
    await discord.close();
    expect(await stalled).toBe("ended");
  });

  it("draws the same faults for the same seed", () => {
    const draw = (seed: number) => {
      const hook = randomFaults({
        seed,
        probability: 0.3,
        faults: [{ kind: "stall-body" }, { kind: "status", status: 502 }],
      });
      return Array.from(
        { length: 200 },
        () => hook({ method: "GET", route: "", path: "", body: undefined })?.kind,
      );
    };
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
    const share = draw(7).filter(Boolean).length / 200;
    expect(share).toBeGreaterThan(0.2);
    expect(share).toBeLessThan(0.4);
  });
});
