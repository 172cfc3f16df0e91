/** A thread's own id and the id of its Discord thread: one place a side turns one into the other, none looks at digits. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const FILES = ["agent", "cli", "relay", "shared", "vm"].flatMap((side) =>
  readdirSync(`${root}/${side}`, { recursive: true, encoding: "utf8" })
    .map((path) => `${side}/${path}`)
    .filter((path) => path.endsWith(".ts") && !/\.test\.ts$|\/testing\//.test(path))
    .sort(),
);

/** A cast to an id's type, a look into the rows of Discord threads, or the one id where the other is missing. */
const TRANSLATES =
  /\bas (unknown as |string as )?(ThreadId|DiscordId|ThreadName)\b|\bhomes\.findThreads?\(|\??\.channelId\s*\?\?/;

/** Whether something is Discord's, told by its digits. */
const LOOKS = /(\\d|\[0-9\])\{1\d,2\d\}|\/\^(\\d|\[0-9\])\+\$\/\w*\.test\((\w+\.)*\w*[iI]d\)/;

/** Where an id is made of a text that somebody typed, sent or kept; each reads what a schema, or its own side, wrote. */
const DOORS = [
  "relay/content/channel-content.ts", // of a message's key
  "relay/discord/api.ts", // of what discord.js says
  "relay/threads/channel-rows.ts", // of a row's key
  "relay/threads/channel.ts", // of a file's name
  "relay/threads/homes.ts",
  "vm/agents/folders.ts", // of a folder's name
  "vm/agents/inbox.ts",
  "vm/browser/agents-own.ts", // ids of browsers that agents open
  "vm/browser/folders.ts", // of a folder's name
  "vm/callers/people.ts", // of a principal
  "vm/http/mcp-routes.ts",
  "vm/jobs/names.ts",
  "vm/mcp/children.ts", // a new one
  "vm/mcp/may-use.ts", // of a principal
  "vm/mcp/reviews.ts",
  "vm/memory/search.ts", // of a row's key
  "vm/store/copy.ts",
  "vm/store/messages.ts",
  "vm/threads/names.ts", // of a session's name
];

const filesWith = (pattern: RegExp) =>
  FILES.filter((path) => pattern.test(readFileSync(`${root}/${path}`, "utf8")));

test("two places turn a thread's id into Discord's or back", () => {
  expect(
    filesWith(TRANSLATES),
    "Ask the sidecar's Homes (vm/threads/homes.ts), or the relay's sidecar/names.ts",
  ).toEqual(["relay/sidecar/names.ts", "vm/threads/homes.ts"]);
});

test("no id is told from another by its digits", () => {
  expect(filesWith(LOOKS), "Whether a thread is in Discord is in its row").toEqual(["shared/ids.ts"]);
});

test("ids are made of texts at doors alone", () => {
  expect(filesWith(/\bknown(Thread|Discord)Id\.(safeP|p)arse\(/), "Pass the id on with its type").toEqual(
    DOORS,
  );
});

test("what there was before would be found", () => {
  for (const old of [
    "const SNOWFLAKE = /^\\d{17,20}$/;",
    "return /^\\d+$/.test(threadId) ? thread : undefined;",
    "const isDiscordId = (id: string) => /^[0-9]+$/.test(id);",
  ])
    expect(old).toMatch(LOOKS);
  for (const old of [
    "return { ...thread, threadId: thread.home?.channelId ?? thread.threadId };",
    "const name = this.#store.homes.find(threadId)?.channelId ?? threadId;",
    "const isTaken = store.homes.findThread(threadId) !== undefined;",
    "vm.thread(id as ThreadId)",
    "api.send(threadId as unknown as DiscordId, message)",
  ])
    expect(old).toMatch(TRANSLATES);
});
