/** `threadmux doctor` on relays' set-ups that are broken in one way each, beside the local Discord and a real sidecar. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WIDE_LIMITS } from "../../local-discord/rate-limits.ts";
import { type LocalDiscord, runLocalDiscord } from "../../local-discord/run.ts";
import { looksOfRelay } from "../../relay/doctor/looks.ts";
import { lookAll } from "../../shared/doctor.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";

let sidecar: TestSidecar;
let discord: LocalDiscord;
/** The environment of a set-up without a fault. */
let sound: Record<string, string>;

beforeAll(async () => {
  [sidecar, discord] = await Promise.all([startSidecar(), runLocalDiscord({ port: 0, limits: WIDE_LIMITS })]);
  sound = {
    ...sidecar.folders.env,
    VM_URL: sidecar.url,
    DISCORD_TOKEN: discord.botToken,
    DISCORD_API_URL: discord.apiUrl,
    DISCORD_CHANNEL_ID: discord.channelId,
    ALLOWED_USER_IDS: discord.you.id,
  };
});
afterAll(async () => {
  await discord?.close();
  await sidecar?.close();
});

interface Broken {
  env?: Record<string, string>;
  now?: () => number;
  /** Puts right what others share. */
  after?: () => void;
}

/** Every look: those before one lead to it. */
const examine = ({ env = {}, now = Date.now }: Broken) => lookAll(looksOfRelay({ ...sound, ...env }, now));

test("a sound set-up has no fault, and every look says that it is well", async () => {
  const findings = await examine({});
  // The relay has registered no command yet.
  expect(findings.filter(({ state }) => state !== "ok").map(({ look }) => look)).toEqual(["commands"]);
  expect(findings.map(({ look }) => look)).toEqual([
    ...["Discord settings", "Discord", "intents", "channel", "permissions", "commands", "people"],
    ...["Discord's clock", "the relay's token"],
  ]);
});

const BROKEN: [string, () => Broken, string, RegExp, RegExp][] = [
  [
    "no channel id",
    () => ({ env: { DISCORD_CHANNEL_ID: "" } }),
    "Discord settings",
    /^DISCORD_CHANNEL_ID: missing/,
    /set it/,
  ],
  [
    "a wrong bot token",
    () => ({ env: { DISCORD_TOKEN: "MTIz.abc.def" } }),
    "Discord",
    /refused the bot's token/,
    /set DISCORD_TOKEN/,
  ],
  [
    "Discord out of reach",
    () => ({ env: { DISCORD_API_URL: "http://127.0.0.1:1/api" } }),
    "Discord",
    /can't be reached at http:\/\/127\.0\.0\.1:1/,
    /^curl /,
  ],
  [
    "no message content",
    () => {
      discord.driver.setMessageContentGranted(false);
      return { after: () => discord.driver.setMessageContentGranted(true) };
    },
    "intents",
    /switch on the Message Content intent/,
    /developers\/applications/,
  ],
  [
    "no such channel",
    () => ({ env: { DISCORD_CHANNEL_ID: "123456789012345678" } }),
    "channel",
    /names no channel/,
    /set DISCORD_CHANNEL_ID/,
  ],
  [
    "a channel that the bot does not see",
    () => {
      discord.driver.denyBot(["viewChannel"]);
      return { after: () => discord.driver.denyBot([]) };
    },
    "channel",
    /names no channel of a server that the bot can see/,
    /set DISCORD_CHANNEL_ID/,
  ],
  [
    "permissions that the channel takes away",
    () => {
      discord.driver.denyBot(["createPublicThreads", "attachFiles"]);
      return { after: () => discord.driver.denyBot([]) };
    },
    "permissions",
    /the bot lacks: Create Public Threads, Attach Files$/,
    /channel settings of #.* allow Create Public Threads, Attach Files/,
  ],
  [
    "somebody who is not there",
    () => ({ env: { ALLOWED_USER_IDS: `${discord.you.id},123456789012345678` } }),
    "people",
    /123456789012345678 is nobody in this server/,
    /set ALLOWED_USER_IDS/,
  ],
  [
    "a role that is not there",
    () => ({ env: { ROLES: "viewer:&123456789012345678" } }),
    "people",
    /^ROLES: this server has no role 123456789012345678/,
    /set ROLES/,
  ],
  [
    "a clock that Discord's does not agree with",
    () => ({ now: () => Date.now() + 300_000 }),
    "Discord's clock",
    /(299|300|301) s ahead/,
    /timedatectl/,
  ],
  [
    "another relay token than the sidecar's",
    () => ({ env: { RELAY_TOKEN: "another-relay-token-0123456789abcdef0" } }),
    "the relay's token",
    /the sidecar refuses it/,
    /set RELAY_TOKEN/,
  ],
];

test.each(BROKEN)("%s is named, with its mend", async (_what, make, look, says, mend) => {
  const broken = make();
  try {
    const faults = (await examine(broken)).filter(({ state }) => state === "fault");
    expect(faults).toContainEqual({
      ...{ look, state: "fault" },
      ...{ says: expect.stringMatching(says), mend: expect.stringMatching(mend) },
    });
  } finally {
    broken.after?.();
  }
});

test("from outside: the build looks at Discord too", async () => {
  const program = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
  const args = [program, "doctor", "--only", "relay", "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: sound,
    cwd: sidecar.folders.home,
  });
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, findings: await examine({}) });
});
