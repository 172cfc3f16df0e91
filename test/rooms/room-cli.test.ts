/** Rooms at the command line, with members that directives make. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { STAND_IN_CONFIG } from "../support/agents.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { openMember, passing, roomsOf, saying, untilRests } from "../support/rooms.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";

let sidecar: TestSidecar;
let cli: Cli;
const run = (...args: string[]) => cli.run(args);
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  const folder = join(sidecar.stateDir, "directives");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "critic.md"), "---\nname: critic\ndescription: d\n---\nYou doubt.");
  cli = await buildCli(sidecar);
});
afterAll(() => sidecar?.close());

test("a room is made, spoken to, shown, changed and stopped", async () => {
  await openMember(sidecar, "ann", [...saying("I would wait."), ...passing(true)]);
  const made = await run(
    "room",
    "new",
    "ann",
    "as:critic",
    "as:critic",
    "--protocol",
    "reactive",
    "--id",
    "plan",
  );
  expect(made).toMatchObject({ code: 0, stdout: "plan\n" });
  const { members } = await roomsOf(sidecar).get("plan");
  expect(members.map(({ name, threadId, directive }) => [name, threadId, directive])).toEqual([
    ["ann", "ann", null],
    ["critic", "plan-1", "critic"],
    ["critic-2", "plan-2", "critic"],
  ]);
  expect(await sidecar.client.getThread("plan-1")).toMatchObject({ voice: "message", status: "idle" });
  expect(await run("room", "say", "plan", "@ann shall we?")).toMatchObject({ code: 0 });
  await untilRests(sidecar, "plan");
  const { stdout } = await run("room", "show", "plan");
  expect(stdout).toContain("the turn is of nobody: the last text names nobody");
  expect(stdout).toMatch(/owner: @ann shall we\?\nann #\d+: I would wait\.\n-- The round has ended/);
  expect((await run("room", "ls")).stdout).toMatch(
    /^plan\treactive\tnobody\t1\/30\t\$0\.00\/\$5\.00\t@ann, @critic/,
  );
  expect((await run("room", "remove", "plan", "critic-2")).stdout).toContain("@ann, @critic\n");
  const led = await run("room", "protocol", "plan", "orchestrated", "--lead", "ann");
  expect(led.stdout).toContain("plan\torchestrated\t");
  expect(await run("room", "stop", "plan")).toMatchObject({
    code: 0,
    stderr: "the room rested already\n",
  });
});

test("what can't be is said in a sentence that names the argument, and leaves nothing behind", async () => {
  const asked = async (...args: string[]) => (await run("room", "new", ...args)).stderr;
  expect(await asked("ann", "as:critic", "--protocol", "free")).toContain(
    'protocol: "free" is none of round_robin, on_demand, reactive, orchestrated.',
  );
  expect(await asked("as:critic", "as:nobody", "--protocol", "reactive")).toContain(
    'members.1.directive: there is no directive "nobody" here',
  );
  expect(await asked("as:critic", "as:critic", "--protocol", "orchestrated", "--lead", "zoe")).toContain(
    'lead: "zoe" is no member of this room; those are @critic, @critic-2.',
  );
  const open = await sidecar.client.listThreads({ status: "open" });
  expect(open.map(({ threadId }) => threadId).sort()).toEqual(["ann", "plan", "plan-1", "plan-2"]);
});
