/** What the relay's log may hold of a request to Discord that failed. */
import { REST } from "discord.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LocalDiscord, runLocalDiscord } from "../../local-discord/run.ts";
import { createLog } from "../../shared/log.ts";

let discord: LocalDiscord;
beforeAll(async () => {
  discord = await runLocalDiscord({ port: 0 });
});
afterAll(() => discord.close());

const TOKEN = "aW50ZXJhY3Rpb24_x-kumquat";
const PATHS = [
  `/interactions/900000000000000001/${TOKEN}/callback`,
  `/webhooks/900000000000000001/${TOKEN}?wait=true`,
  "/channels/900000000000000001/messages",
] as const;

// Promise: S36
test.each([
  ["refuses", undefined],
  ["fails at", { kind: "status", status: 500 } as const],
])(
  "what Discord %s is logged with its address, without the token in it and what was sent",
  async (_what, fault) => {
    const lines: string[] = [];
    const log = createLog("relay", "info", { write: (line) => void lines.push(line) });
    const rest = new REST({ api: discord.apiUrl, version: "10", retries: 0 }).setToken(discord.botToken);
    discord.driver.faults.rest = () => fault;
    for (const path of PATHS) {
      const body = { content: "a line of a terminal" };
      const error: unknown = await rest.post(path, { body }).catch((error: unknown) => error);
      log.error({ err: error }, "a command failed");
    }
    rest.clearHashSweeper();
    rest.clearHandlerSweeper();
    expect(lines).toHaveLength(PATHS.length);
    expect(lines.join("")).not.toMatch(/kumquat|a line of a terminal/);
    expect(lines.map((line) => new URL(JSON.parse(line).err.url).pathname)).toEqual([
      "/api/v10/interactions/900000000000000001/[Redacted]/callback",
      "/api/v10/webhooks/900000000000000001/[Redacted]",
      "/api/v10/channels/900000000000000001/messages",
    ]);
  },
);
