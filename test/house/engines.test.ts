/** An engine's declaration says what the engine is and can; nobody else knows an engine by its name. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ENGINE_NAMES, ENGINES } from "../../shared/agent/engines/engines.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ROOMS = ["agent", "shared", "vm", "relay", "cli", "local-discord"];
const OWN = ["agent/engines/", "shared/agent/engines/"];

const files = ROOMS.flatMap((room) =>
  readdirSync(join(root, room), { recursive: true, encoding: "utf8" }).map((path) => `${room}/${path}`),
).filter(
  (path) =>
    path.endsWith(".ts") &&
    !/\.test\.ts$|\/testing\/|\/bundle\/|\/\.[^/]*$|\.d\.ts$/.test(path) &&
    !OWN.some((folder) => path.startsWith(folder)),
);

/** The lines in which one of these patterns is found, each with its place. */
function linesWith(...patterns: RegExp[]): string[] {
  return files.flatMap((path) =>
    readFileSync(join(root, path), "utf8")
      .split("\n")
      .flatMap((line, at) =>
        patterns.some((pattern) => pattern.test(line)) ? [`${path}:${at + 1} ${line.trim()}`] : [],
      ),
  );
}

const quoted = (words: readonly string[]) => `["'](${words.join("|")})["']`;
const escaped = (words: readonly string[]) =>
  words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join("|");

test("the rooms are read", () => {
  expect(files.length).toBeGreaterThan(400);
});

test("nobody outside the engines compares with an engine's name", () => {
  const names = quoted(ENGINE_NAMES);
  const engine = String.raw`\b[\w.?]*(engine|Engine|AGENT_PROGRAM|AGENT_ENGINE|program)\b`;
  const found = linesWith(
    new RegExp(String.raw`${engine}\)?\s*[!=]==?\s*${names}`),
    new RegExp(String.raw`${names}\s*[!=]==?\s*${engine}`),
    new RegExp(`case ["'](${ENGINE_NAMES.filter((name) => name !== "command").join("|")})["']`),
  );
  expect(found, "ask the engine's declaration (shared/agent/engines/) in its place").toEqual([]);
});

test("modes, tools and files of an engine are named in its declaration alone", () => {
  const all = ENGINE_NAMES.map((name) => ENGINES[name]);
  // Words such as "default" and "plan" mean other things too.
  const modes = all
    .flatMap(({ capabilities }) => capabilities.modes?.names ?? [])
    .filter((mode) => /[A-Z]/.test(mode));
  const words = all.flatMap(({ capabilities, brings, mcpCallId }) => [
    ...capabilities.questions,
    ...(brings ? [brings.memory] : []),
    ...(mcpCallId === undefined ? [] : [mcpCallId]),
  ]);
  expect(modes.length * words.length).toBeGreaterThan(0);
  const folders = all.flatMap(({ brings }) => (brings ? [brings.folder] : []));
  const isComment = (found: string) => /^\S+ (\/\/|\/?\*)/.test(found);
  const found = linesWith(
    new RegExp(quoted(modes)),
    new RegExp(escaped(words)),
    new RegExp(String.raw`(^|[^\w/])(${escaped(folders)})\b(?!\.json)`),
  );
  expect(found.filter((each) => !isComment(each))).toEqual([]);
});
