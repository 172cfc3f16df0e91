/**
 * How the house is built: which room knows which, how long a file may be, and how much may change in one class. Circles
 * and the length of a function are biome's, `npm run check`.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";
import { findHolders } from "../support/mutable-state.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A room is the files whose paths begin with one of these; the longest beginning counts. */
type Room = readonly string[];

/** Each side's rooms, the lowest first: a room may know those above it in this list, and shared/. */
const SIDES: Record<string, readonly Room[]> = {
  vm: [
    ["vm/console/page/"], // runs in a browser
    ["vm/callers/"],
    ["vm/processes/"],
    ["vm/tmux/"],
    ["vm/store/"],
    ["vm/streams/"],
    ["vm/threads/"],
    ["vm/follow/"],
    ["vm/browser/"],
    ["vm/directives/"],
    ["vm/agents/"],
    ["vm/memory/"],
    ["vm/rooms/"],
    ["vm/hooks/"],
    ["vm/mcp/"],
    ["vm/events/"],
    ["vm/jobs/"],
    ["vm/console/"],
    ["vm/http/"],
    ["vm/"], // main, run and its wiring, config
  ],
  relay: [
    ["relay/sidecar/"], // the sidecar, as the relay sees it
    ["relay/content/", "relay/actions/"],
    ["relay/screenshot/"],
    ["relay/discord/"], // what is sent to Discord, and at which pace
    ["relay/delivery/"],
    ["relay/kinds/"], // what a terminal is to the relay, and what an agent
    ["relay/threads/"],
    [
      // What people ask of the bot.
      "relay/discord/agent-",
      "relay/discord/bot.ts",
      "relay/discord/commands",
      "relay/discord/connection.ts",
      "relay/discord/keys.ts",
      "relay/discord/press.ts",
    ],
    ["relay/"],
  ],
  agent: [
    // The words that all others share.
    [
      "agent/engine.ts",
      "agent/content.ts",
      "agent/plain-parsing.ts",
      "agent/trust/brought.ts",
      "agent/trust/head.ts",
      "agent/trust/visible.ts",
    ],
    ["agent/folder/"],
    ["agent/core/"],
    ["agent/process/"],
    ["agent/output/"],
    ["agent/locks/"],
    ["agent/others/"],
    ["agent/undo/"],
    ["agent/workspace/"],
    ["agent/show/"],
    ["agent/engines/"],
    ["agent/trust/"],
    ["agent/"],
  ],
  follow: [["follow/"]],
  browser: [["browser/"]],
  cli: [["cli/"], ["cli/commands/"], ["cli/program.ts", "cli/main.ts"]],
  "local-discord": [
    ["local-discord/seen.ts", "local-discord/types.ts"],
    ["local-discord/page/"], // runs in a browser
    ["local-discord/"],
  ],
};

/** Arrows that still point the wrong way. Take a line out as soon as the test says so; add none. */
const KNOWN_ARROWS: readonly string[] = [];

/** Folders that still know each other. Take a line out as soon as the test says so; add none. */
const KNOWN_CIRCLES: readonly string[] = [
  "agent <-> agent/core",
  "agent <-> agent/engines",
  "agent <-> agent/gates",
  "agent <-> agent/locks",
  "agent <-> agent/others",
  "agent <-> agent/places",
  "agent <-> agent/process",
  "agent <-> agent/show",
  "agent <-> agent/trust",
  "agent <-> agent/undo",
  "agent <-> agent/workspace",
  "agent/engines <-> agent/engines/acp",
  "agent/engines <-> agent/engines/command",
  "cli <-> cli/commands",
  "cli <-> cli/kinds",
  "relay/actions <-> relay/content",
  "relay/actions <-> relay/content/lists",
  "relay/actions <-> relay/content/transcript",
  "relay/content <-> relay/content/lists",
  "relay/content <-> relay/content/transcript",
  "relay/content/lists <-> relay/content/transcript",
  "relay/discord <-> relay/discord/commands",
  "relay/discord <-> relay/threads",
  "relay/discord/commands <-> relay/discord/commands/thread",
  "shared <-> shared/agent",
  "shared <-> shared/browser",
  "shared <-> shared/directives",
  "shared <-> shared/follow",
  "shared <-> shared/protocol",
  "shared <-> shared/rooms",
  "shared <-> shared/sandbox",
  "shared/agent <-> shared/agent/engines",
  "vm <-> vm/wiring",
  "vm/console/page <-> vm/console/page/conversation",
  "vm/console/page <-> vm/console/page/kinds",
  "vm/http <-> vm/http/handlers",
  "vm/threads <-> vm/threads/kinds",
];

const MAX_LINES = 350;

/** Files that are still too long. Take a line out as soon as the test says so; add none. */
const KNOWN_LONG: readonly string[] = [];

const MAX_FIELDS = 10;

/** Interfaces that describe what is inside a package; what is written to there is not our state. */
const FOREIGN: readonly string[] = ["relay/content/emulator.ts Core"];

function filesOf(folder: string, isWanted: (path: string) => boolean): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => posix.join(entry.parentPath.slice(root.length), entry.name))
    .filter((path) => isWanted(path) && !isGenerated(path))
    .sort();
}

/** What builds put beside the sources. */
function isGenerated(path: string): boolean {
  const isCompiled = path.endsWith(".js") && existsSync(join(root, path.replace(/\.js$/, ".ts")));
  return isCompiled || /\/bundle\/|\/\.[^/]*$/.test(path);
}

const read = (path: string) => readFileSync(join(root, path), "utf8");
const isTest = (path: string) => /\.test\.ts$|\/testing\//.test(path);

/** What a file imports of ours, types included. */
function importsOf(path: string): string[] {
  const { importedFiles } = ts.preProcessFile(read(path), true, true);
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith("."))
    .map(({ fileName }) => posix.join(dirname(path), fileName));
}

function roomOf(rooms: readonly Room[], path: string): number {
  const length = (room: Room) =>
    Math.max(-1, ...room.filter((start) => path.startsWith(start)).map((start) => start.length));
  const lengths = rooms.map(length);
  return Math.max(...lengths) < 0 ? -1 : lengths.indexOf(Math.max(...lengths));
}

/** Imports of a higher room. */
function wrongArrows(rooms: readonly Room[], from: string, targets: readonly string[]): string[] {
  const room = roomOf(rooms, from);
  return targets.filter((target) => roomOf(rooms, target) > room).map((target) => `${from} -> ${target}`);
}

test("a wrong arrow is found, by the longest beginning", () => {
  const rooms = [["a/low/", "a/high/but-low.ts"], ["a/high/"], ["a/"]];
  expect(
    wrongArrows(rooms, "a/low/x.ts", ["a/high/y.ts", "a/high/but-low.ts", "a/low/z.ts", "b/c.ts"]),
  ).toEqual(["a/low/x.ts -> a/high/y.ts"]);
  expect(wrongArrows(rooms, "a/main.ts", ["a/high/y.ts", "a/low/x.ts"])).toEqual([]);
});

test.each(Object.entries(SIDES))("in %s/ a lower room never knows a higher one", (side, rooms) => {
  const files = filesOf(side, (path) => path.endsWith(".ts") && !isTest(path));
  for (const [index, room] of rooms.entries()) {
    const some = files.some((path) => roomOf(rooms, path) === index);
    expect(some, `${room.join(", ")} has no file: take this room out of SIDES`).toBe(true);
  }
  const arrows = files.flatMap((path) => wrongArrows(rooms, path, importsOf(path)));
  const known = KNOWN_ARROWS.filter((arrow) => arrow.startsWith(`${side}/`));
  expect(
    arrows.filter((arrow) => !known.includes(arrow)),
    "These files import from a higher room (SIDES has the rooms, the lowest first). Move what both need into the lower room, hand it over as a parameter from run.ts, or, if the file or its folder is a room that SIDES does not have yet, add it there",
  ).toEqual([]);
  expect(
    known.filter((arrow) => !arrows.includes(arrow)),
    "These arrows are gone: take them out of KNOWN_ARROWS",
  ).toEqual([]);
});

/** Pairs of folders that know each other. */
function foldersThatMeet(imports: readonly { from: string; to: string }[]): string[] {
  const arrows = new Set(imports.map(({ from, to }) => `${dirname(from)} ${dirname(to)}`));
  const pairs = [...arrows].map((arrow) => arrow.split(" ")).filter(([from, to]) => from !== to);
  return pairs
    .filter(([from = "", to = ""]) => from < to && arrows.has(`${to} ${from}`))
    .map(([from, to]) => `${from} <-> ${to}`)
    .sort();
}

test("of two folders one does not know the other", () => {
  expect(
    foldersThatMeet([
      { from: "a/x.ts", to: "a/b/y.ts" },
      { from: "a/b/z.ts", to: "a/w.ts" },
      { from: "a/c/v.ts", to: "a/w.ts" },
      { from: "a/x.ts", to: "a/w.ts" },
    ]),
  ).toEqual(["a <-> a/b"]);
  const files = ["shared", ...Object.keys(SIDES)].flatMap((folder) =>
    filesOf(folder, (path) => path.endsWith(".ts") && !isTest(path)),
  );
  const pairs = foldersThatMeet(files.flatMap((from) => importsOf(from).map((to) => ({ from, to }))));
  expect(
    pairs.filter((pair) => !KNOWN_CIRCLES.includes(pair)),
    "These folders import each other now. Move what both need into the lower one, or hand it over as a parameter",
  ).toEqual([]);
  expect(
    KNOWN_CIRCLES.filter((pair) => !pairs.includes(pair)),
    "These circles are gone: take them out of KNOWN_CIRCLES",
  ).toEqual([]);
});

test("zod is imported as a namespace", () => {
  const files = ["shared", ...Object.keys(SIDES)].flatMap((folder) =>
    filesOf(folder, (path) => path.endsWith(".ts")),
  );
  expect(
    files.filter((path) => /import (type )?\{[^}]*\} from "zod"/.test(read(path))),
    'A bundle has all of zod, twice as much, if one file asks for its export `z`: write import * as z from "zod"',
  ).toEqual([]);
});

test("numbers are written without the tables of the languages", () => {
  const files = ["shared", ...Object.keys(SIDES)].flatMap((folder) =>
    filesOf(folder, (path) => path.endsWith(".ts") && !path.includes("/page/") && !isTest(path)),
  );
  expect(
    files.filter((path) => /\.toLocaleString\(/.test(read(path))),
    "Its first call takes 20 ms and 2 MB: use formatCount",
  ).toEqual([]);
});

test(`no file has more than ${MAX_LINES} lines`, () => {
  const folders = ["shared", ...Object.keys(SIDES), "bench", "scripts"];
  const long = folders
    .flatMap((folder) => filesOf(folder, (path) => !isTest(path) && /(\.(ts|mjs|js|sh)|\/[^.]+)$/.test(path)))
    .filter((path) => read(path).split("\n").length - 1 > MAX_LINES);
  expect(
    long.filter((path) => !KNOWN_LONG.includes(path)),
    `These files have more than ${MAX_LINES} lines: give each of their ideas a file of its own`,
  ).toEqual([]);
  expect(
    KNOWN_LONG.filter((path) => !long.includes(path)),
    "These files are short now, or gone: take them out of KNOWN_LONG",
  ).toEqual([]);
});

/** A person, an agent, a program or the sidecar's own work as it is printed: made by hand, or told by its looks. */
const ACTOR_BY_HAND =
  /[`"'/^(](discord|thread|caller|job|api):(\$|["'`(]|\\[dw])|\b(source|by)\.startsWith\(/;

test("who acts is printed and read in one file", () => {
  const folders = ["shared", "vm", "relay", "agent", "follow", "browser", "cli"];
  const made = folders
    .flatMap((folder) => filesOf(folder, (path) => !isTest(path) && path.endsWith(".ts")))
    .filter((path) => path !== "shared/principal.ts" && ACTOR_BY_HAND.test(read(path)));
  expect(made, "Use shared/principal.ts").toEqual([]);
  // What there was before would be found.
  for (const old of [
    `by: \`discord:\${user.id}\``,
    "/^discord:(\\d+)$/",
    'event.source.startsWith("thread:")',
    '"api:" + name',
  ])
    expect(old).toMatch(ACTOR_BY_HAND);
});

test("what may change in a class is counted, however it is kept", () => {
  const text = `
    interface Shared { count: number; readonly name: string; deep: { isOpen: boolean } }
    export class Counted {
      #field = 1;
      readonly #never: number;
      readonly #map = new Map<string, number>();
      readonly #untouched = new Map<string, number>();
      readonly #state: Shared;
      constructor(state: Shared) { this.#never = 1; this.#state = state; }
      change() { this.#map.set("a", this.#never + this.#field + this.#untouched.size); this.#state.count++; }
    }
    export const reopen = (shared: Shared) => { shared.deep.isOpen = true; };
    export function closure() { let total = 0; let still = 0; return () => { total += still; return total; }; }
  `;
  expect(findHolders(["/counted.ts"], { files: new Map([["/counted.ts", text]]) })).toEqual([
    {
      path: "/counted.ts",
      name: "Counted",
      fields: ["#field", "#map", "#state.count", "#state.deep.isOpen"],
    },
    { path: "/counted.ts", name: "closure", fields: ["total"] },
  ]);
});

test(`in no class more than ${MAX_FIELDS} things may change`, () => {
  const paths = ["shared", ...Object.keys(SIDES), "bench"].flatMap((folder) =>
    filesOf(folder, (path) => path.endsWith(".ts") && !isTest(path)),
  );
  const holders = findHolders(
    paths.map((path) => join(root, path)),
    { isForeign: (path, name) => FOREIGN.includes(`${path.slice(root.length)} ${name}`) },
  );
  expect(holders.length).toBeGreaterThan(100);
  const large = holders.filter(({ fields }) => fields.length > MAX_FIELDS);
  expect(
    large.map(({ path, name, fields }) => `${path.slice(root.length)} ${name}: ${fields.join(", ")}`),
    "Too much may change in these: give each of their ideas a class or a pure function of its own",
  ).toEqual([]);
}, 120_000);
