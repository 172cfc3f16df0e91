/** Jobs whose agents a directive makes: what becomes of them when its file changes. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { What } from "../../shared/jobs/job.ts";
import { HOUR, type JobsWorld, makeJobsWorld } from "../../test/support/jobs.ts";

let world: JobsWorld;
beforeEach(() => {
  world = makeJobsWorld();
});
afterEach(() => world.close());

const USUAL = "---\nname: critic\ndescription: d\n---\nYou doubt.";
const inState = () => join(world.folder, "directives", "critic.md");
const inHome = () => join(world.folder, "person", ".claude", "agents", "critic.md");

function put(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const WHAT = {
  type: "agent",
  dir: "shop",
  prompt: "go",
  agent: { directive: "critic" },
} satisfies Partial<What>;
const add = (more: object = {}) =>
  world.add({
    overlap: "allow",
    when: { type: "every", seconds: 3_600 },
    what: { ...WHAT, ...more } as never,
  });
const nightly = () => world.jobs.get("nightly");
const runs = () => world.runs().map(({ status, reason }) => [status, reason]);

test("a job keeps which file it was and what stood there, and goes on while both are the same", async () => {
  put(inState(), USUAL);
  const { directive } = await add();
  expect(directive).toMatchObject({ name: "critic", space: "user", file: inState() });
  expect(directive?.sha256).toMatch(/^[0-9a-f]{64}$/);
  put(join(dirname(inState()), "other.md"), "---\nname: other\ndescription: d\n---\nOther.");
  await world.pass(HOUR);
  await world.reopen();
  await world.pass(HOUR);
  expect(runs()).toEqual([
    ["started", null],
    ["started", null],
  ]);
});

test.each<[string, () => void, RegExp]>([
  [
    "its text has changed",
    () => put(inState(), `${USUAL} Much.`),
    /^Its directive critic has changed: \S+critic\.md is not what it was when the job was made or resumed last\. Read it, and resume the job: it goes on with the directive as it is then\.$/,
  ],
  [
    "another file has its name",
    () => put(inHome(), USUAL),
    /^Its directive critic is another file: \S+\.claude\/agents\/critic\.md now, \S+directives\/critic\.md when/,
  ],
  [
    "it has faults",
    () => put(inState(), "---\nname: critic\n---\nYou doubt."),
    /^Its directive critic \(\S+\) can't be taken any more: what\.agent\.directive: .*critic\.md:\d.*description.*Mend that, and resume the job\.$/,
  ],
  [
    "it is gone",
    () => rmSync(inState()),
    /^Its directive critic \(\S+\) can't be taken any more: what\.agent\.directive: there is no directive "critic" here/,
  ],
  [
    "it asks for more",
    () => put(inState(), USUAL.replace("d\n", "d\nthreadmux: { inputs: { n: { type: number } } }\n")),
    /can't be taken any more: what\.agent\.inputs\.n: is missing/,
  ],
])("%s: the job is paused before anything begins, and says why, once", async (_, change, why) => {
  put(inState(), USUAL);
  await add();
  change();
  await world.pass(HOUR);
  await world.pass(HOUR);
  expect(world.begun).toEqual([]);
  expect(nightly()).toMatchObject({ state: "paused", why: expect.stringMatching(why) });
  expect(runs()).toEqual([["skipped", `directive: ${nightly().why}`]]);
  expect(world.news.list(false, 9).map(({ kind, text }) => [kind, text])).toEqual([
    ["paused", nightly().why],
  ]);
});

test("resumed, it goes on with the file as it is then; with faults it stays paused", async () => {
  put(inState(), USUAL);
  await add();
  put(inState(), "---\nname: critic\n---\n");
  await world.pass(HOUR);
  await expect(world.jobs.resume("nightly")).rejects.toThrow(/^what\.agent\.directive: .*description/);
  expect(nightly().state).toBe("paused");
  put(inState(), `${USUAL} Much.`);
  const before = nightly().directive;
  expect(await world.jobs.resume("nightly")).toMatchObject({ state: "active", why: null });
  expect(nightly().directive?.sha256).not.toBe(before?.sha256);
  await world.pass(HOUR);
  expect(runs().map(([status]) => status)).toEqual(["skipped", "started"]);
});

test("run by hand, a paused job with a changed file begins nothing", async () => {
  put(inState(), USUAL);
  await add();
  world.jobs.pause("nightly", { kind: "owner" });
  put(inState(), `${USUAL} Much.`);
  world.jobs.run("nightly", { kind: "owner" });
  await world.pass(0);
  expect(world.begun).toEqual([]);
  expect(runs()).toEqual([
    ["skipped", expect.stringMatching(/^directive: Its directive critic has changed/)],
  ]);
});

test.each<[string, string, object, RegExp]>([
  [
    "unknown",
    USUAL,
    { agent: { directive: "nobody" } },
    /^what\.agent\.directive: there is no directive "nobody"/,
  ],
  ["inputs without it", USUAL, { agent: { inputs: { n: 1 } } }, /^what\.agent\.inputs: are a directive's/],
  [
    "an input that it has not",
    USUAL,
    { agent: { directive: "critic", inputs: { n: 1 } } },
    /^what\.agent\.inputs\.n: is no input of this directive/,
  ],
  [
    "two engines",
    USUAL.replace("d\n", "d\nthreadmux: { engine: own }\n"),
    { agent: { directive: "critic", engine: "claude" } },
    /^what\.agent\.engine: /,
  ],
  [
    "one message alone for all runs",
    USUAL.replace("d\n", "d\nthreadmux: { mode: single }\n"),
    { thread: "one" },
    /^what\.thread: critic takes one message alone/,
  ],
])("%s is refused with the field's name", async (_, text, more, why) => {
  put(inState(), text);
  await expect(add(more)).rejects.toThrow(why);
  expect(world.jobs.list()).toEqual([]);
});
