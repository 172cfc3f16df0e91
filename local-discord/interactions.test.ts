/** Commands as they are registered and used: Discord's checks, the three seconds, the fifteen minutes. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Interaction } from "./interaction-store.ts";
import { WIDE_LIMITS } from "./rate-limits.ts";
import { type LocalDiscord, runLocalDiscord } from "./run.ts";
import { type Api, botApi, type TestClock, testClock } from "./testing.ts";

let discord: LocalDiscord;
let api: Api;
let clock: TestClock;
let last: Interaction;

beforeEach(async () => {
  clock = testClock();
  discord = await runLocalDiscord({ now: clock.now, limits: WIDE_LIMITS });
  api = botApi(discord);
  discord.driver.onEvent((event) => {
    if (event.type === "interaction-create") last = event.interaction;
  });
});
afterEach(() => discord.close());

const commandsPath = () => `/applications/${discord.applicationId}/guilds/${discord.guildId}/commands`;
const register = (...commands: object[]) => api("PUT", commandsPath(), commands);
const text = (name: string, more: object = {}) => ({ type: 3, name, description: "d", ...more });
const command = (...options: object[]) => ({ name: "run", description: "d", options });
const answer = (body: object) =>
  api("POST", `/interactions/${last.id}/${last.token}/callback`, body, { token: null });
const webhook = (rest = "") => `/webhooks/${discord.applicationId}/${last.token}${rest}`;
const use = (options: Record<string, string> = {}) =>
  discord.driver.command(discord.you.id, discord.channelId, "run", options);

describe("registering", () => {
  it.each([
    ["a name in upper case", { name: "Run", description: "d" }],
    ["a name with a space", { name: "run it", description: "d" }],
    ["a name of 33", { name: "x".repeat(33), description: "d" }],
    ["no description", { name: "run" }],
    ["a description of 101", { name: "run", description: "x".repeat(101) }],
    ["required after optional", command(text("a"), text("b", { required: true }))],
    ["the same option twice", command(text("a"), text("a"))],
    ["26 options", command(...Array.from({ length: 26 }, (_, n) => text(`o${n}`)))],
    [
      "26 choices",
      command(text("a", { choices: Array.from({ length: 26 }, (_, n) => ({ name: `c${n}`, value: "v" })) })),
    ],
    [
      "autocomplete with choices",
      command(text("a", { autocomplete: true, choices: [{ name: "c", value: "v" }] })),
    ],
    ["a sub-command beside an option", command({ type: 1, name: "s", description: "d" }, text("a"))],
    [
      "more than 8000 characters",
      command(
        ...Array.from({ length: 4 }, (_, n) =>
          text(`o${n}`, {
            choices: Array.from({ length: 25 }, (_, c) => ({
              name: `${c}`.padEnd(50, "x"),
              value: `${c}`.padEnd(50, "y"),
            })),
          }),
        ),
      ),
    ],
  ])("refuses %s", async (_, body) => {
    const refused = await register(body);
    expect([refused.status, refused.body["code"]]).toEqual([400, 50035]);
    expect(discord.driver.commands(discord.you.id)).toEqual([]);
  });

  it("overwrites with PUT, keeps ids of names that stay, refuses twins and too many", async () => {
    const first = await register(command(), { name: "other", description: "d" });
    const second = await register(command(text("a")));
    expect(second.body).toHaveLength(1);
    expect(second.body[0]).toMatchObject({
      id: (first.body[0] as { id: string }).id,
      application_id: discord.applicationId,
    });
    expect((await register(command(), command())).body["code"]).toBe(50035);
    const many = Array.from({ length: 101 }, (_, n) => ({ name: `c${n}`, description: "d" }));
    expect((await register(...many)).body["code"]).toBe(30032);
    expect((await api("PUT", "/applications/1/commands", [])).body["code"]).toBe(50001);
  });
});

describe("using", () => {
  beforeEach(() =>
    register(
      command(
        text("dir", { required: true, autocomplete: true }),
        text("mode", { choices: [{ name: "Fast", value: "f" }] }),
      ),
    ),
  );

  it("checks options as Discord's client does", () => {
    expect(() => use()).toThrow('needs "dir"');
    expect(() => use({ dir: "x", mode: "slow" })).toThrow("one of Fast");
    expect(() => use({ dir: "x", what: "y" })).toThrow('no option "what"');
    expect(() => discord.driver.command(discord.you.id, discord.channelId, "nope")).toThrow("no command");
    const thread = discord.driver.createThread(discord.you.id, "t");
    discord.driver.archiveThread(discord.you.id, thread.id);
    expect(() => discord.driver.command(discord.you.id, thread.id, "run", { dir: "x" })).toThrow("archived");
  });

  it("must be answered within 3 seconds, once", async () => {
    const late = use({ dir: "x" });
    clock.advance(3001);
    const refused = await answer({ type: 5 });
    expect([refused.status, refused.body["code"]]).toEqual([404, 10062]);
    expect(late.state).toBe("failed");

    const inTime = use({ dir: "x" });
    clock.advance(2999);
    expect((await answer({ type: 5 })).status).toBe(204);
    expect(inTime.find()?.isLoading).toBe(true);
    const second = await answer({ type: 4, data: { content: "x" } });
    expect([second.status, second.body["code"]]).toEqual([400, 40060]);
    expect((await api("POST", "/interactions/1/nonsense/callback", { type: 5 })).body["code"]).toBe(10062);
  });

  it("has its 3 seconds anew where the machine stood still", async () => {
    await discord.close();
    discord = await runLocalDiscord({ limits: WIDE_LIMITS });
    api = botApi(discord);
    discord.driver.onEvent((event) => {
      if (event.type === "interaction-create") last = event.interaction;
    });
    await register(command());
    const invocation = use();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_500);
    expect((await answer({ type: 5 })).status).toBe(204);
    expect(invocation.state).toBe("acknowledged");
  });

  it("has a token for 15 minutes that works once something was answered", async () => {
    const invocation = use({ dir: "x" });
    expect((await api("POST", webhook(), { content: "early" })).body["code"]).toBe(10015);
    await answer({ type: 5, data: { flags: 64 } });
    clock.advance(14 * 60_000);
    const edited = await api("PATCH", webhook("/messages/%40original"), { content: "done" }, { token: null });
    expect(edited.body["content"]).toBe("done");
    expect(invocation.find()).toMatchObject({ isEphemeral: true, isLoading: false, editedAt: null });
    expect(discord.driver.messages(discord.channelId)).toEqual([]);
    expect((await api("GET", webhook("/messages/1"))).body["code"]).toBe(10008);
    clock.advance(2 * 60_000);
    const expired = await api("PATCH", webhook("/messages/@original"), { content: "late" });
    expect([expired.status, expired.body["code"]]).toEqual([401, 50027]);
  });

  it("takes only answers that fit", async () => {
    for (const type of [1, 6, 7, 8, 12, 99]) {
      use({ dir: "x" });
      expect((await answer({ type, data: { choices: [] } })).body["code"]).toBe(50035);
    }
    use({ dir: "x" });
    expect((await answer({ type: 4, data: {} })).body["code"]).toBe(50006);
    expect((await answer({ type: 4, data: { content: "x".repeat(2001) } })).body["code"]).toBe(50035);
    expect((await answer({ type: 4, data: { content: "fits" } })).status).toBe(204);
  });

  it("completes with at most 25 choices", async () => {
    const ask = () => discord.driver.autocomplete(discord.you.id, discord.channelId, "run", {}, "dir");
    const choices = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ name: `c${n}`, value: `c${n}` }));
    const asked = ask();
    expect((await answer({ type: 8, data: { choices: choices(26) } })).body["code"]).toBe(50035);
    expect((await answer({ type: 5 })).body["code"]).toBe(50035);
    expect((await answer({ type: 8, data: { choices: choices(25) } })).status).toBe(204);
    expect(await asked).toHaveLength(25);
    const unanswered = ask();
    clock.advance(3001);
    discord.driver.tick();
    await expect(unanswered).rejects.toThrow("Loading options failed");
  });

  it("cannot be answered in a thread that was archived meanwhile", async () => {
    const thread = discord.driver.createThread(discord.you.id, "t");
    discord.driver.command(discord.you.id, thread.id, "run", { dir: "x" });
    discord.driver.archiveThread(discord.you.id, thread.id);
    expect((await answer({ type: 5 })).body["code"]).toBe(50083);
  });
});
