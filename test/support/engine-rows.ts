/** Tests of an agent thread over HTTP, for any engine. */
import { writeFileSync } from "node:fs";
import { expect } from "vitest";
import { script } from "./agents.ts";
import { ASK_ROWS } from "./engine-ask-rows.ts";
import type { Row } from "./engine-row.ts";
import { EngineWorld } from "./engine-world.ts";
import { refusal } from "./threads.ts";
import { until } from "./wait.ts";

const always = () => true;

export const ROWS: Readonly<Record<string, Row>> = {
  answers: {
    label: "answers, and goes on with the next message",
    isDeclared: always,
    tests: {
      "each message is answered once": async (world) => {
        await world.open("answers", "m-1", [{ text: "t-1" }]);
        expect(await world.words("answers", 1)).toEqual(["t-1"]);
        await world.say("answers", "m-2", { text: "t-2" });
        expect(await world.words("answers", 2)).toEqual(["t-1", "t-2"]);
        expect(await world.of("answers", "turn_end")).toMatchObject([
          { stopReason: "end_turn" },
          { stopReason: "end_turn" },
        ]);
      },
    },
  },
  memory: {
    label: "remembers the conversation, also after `kill -9`",
    isDeclared: ({ resume }) => resume,
    tests: {
      "killed in an answer: each message is in the conversation once": async (world) => {
        await world.open("memory", "m-1", [{ text: "t-1" }]);
        await world.words("memory", 1);
        const go = world.file("memory", "go");
        await world.say("memory", "m-2", { text: "t-2", waitFor: go });
        await until("it to be heard", () => world.engine.heard(world.sidecar, "memory").includes("m-2"));
        world.killEngine("memory");
        writeFileSync(go, "");
        await world.words("memory", 2);
        await world.say("memory", "m-3", { text: "t-3" });
        await world.words("memory", 3);
        const heard = world.engine.heard(world.sidecar, "memory").filter((word) => word !== "t-3");
        expect(heard).toEqual(["m-1", "t-1", "m-2", "t-2", "m-3"]);
      },
    },
  },
  steps: {
    label: "shows its calls as steps",
    isDeclared: ({ steps = false }) => steps,
    tests: {
      "a call has a title, and an end": async (world) => {
        const { engine } = world;
        await world.open("steps", "go", [{ tools: [engine.bash("echo it > made")] }, { text: "Done." }], {
          agent: engine.free,
        });
        await world.words("steps", 1);
        expect(await world.of("steps", "tool_call")).toMatchObject([
          { kind: "execute", title: expect.stringContaining("echo it > made") },
        ]);
        const ends = (await world.of("steps", "tool_call_update")).map(({ status }) => status);
        expect(ends.at(-1)).toBe("completed");
        expect(world.read("steps", "made")).toBe("it\n");
        const steps = await world.sidecar.client.listSteps("steps");
        expect(JSON.stringify(steps)).toContain("echo it > made");
      },
    },
  },
  ...ASK_ROWS,
  midTurn: {
    label: "hears a message in mid-turn",
    isDeclared: ({ steering }) => steering,
    tests: {
      "the message goes into the turn that runs": async (world) => {
        const { engine } = world;
        const go = world.file("mid-turn", "go");
        const waits = engine.bash(`until [ -e ${go} ]; do sleep 0.05; done`);
        await world.open("mid-turn", "m-1", [{ tools: [waits] }, { text: "t-1" }], { agent: engine.free });
        await until("the call to run", async () => (await world.of("mid-turn", "tool_call")).length === 1);
        await world.say("mid-turn", "m-2");
        await until(
          "it to be in the inbox",
          async () => (await world.of("mid-turn", "user_message")).length === 2,
        );
        writeFileSync(go, "");
        await world.words("mid-turn", 1);
        expect(await world.of("mid-turn", "turn_start")).toHaveLength(1);
        expect(world.engine.heard(world.sidecar, "mid-turn")).toContain("m-2");
      },
    },
  },
  stop: {
    label: "is stopped, and what it runs with it",
    isDeclared: always,
    tests: {
      "the turn and its call end; the next message runs": async (world) => {
        const { engine, sidecar } = world;
        const call = engine.bash("echo begun > begun; sleep 1000; echo late > late");
        await world.open("stop", "go", [{ tools: [call] }, { text: "Done." }], { agent: engine.free });
        await until("the call to run", () => world.has("stop", "begun"));
        await sidecar.client.controlAgent("stop", { control: "interrupt" });
        expect(await world.event("stop", "turn_end")).toMatchObject({ stopReason: "cancelled" });
        await world.status("stop", "idle");
        await world.say("stop", "next", { text: "Next." });
        await until("the next answer", async () => (await world.of("stop", "turn_end")).length === 2);
        expect(world.has("stop", "late")).toBe(false);
      },
    },
  },
  pause: {
    label: "is paused, and goes on where it was",
    isDeclared: always,
    tests: {
      "nothing begins while it is paused": async (world) => {
        const { engine, sidecar } = world;
        const go = world.file("pause", "go");
        const rounds = [{ text: "Waiting.", waitFor: go }];
        await world.open("pause", "go", rounds, { agent: engine.free });
        await until("it to run", async () => (await world.of("pause", "turn_start")).length === 1);
        await sidecar.client.controlAgent("pause", { control: "pause" });
        await world.status("pause", "paused");
        expect(await refusal(world.say("pause", "too early"))).toMatchObject({ code: "thread_paused" });
        writeFileSync(go, "");
        expect(await world.of("pause", "agent_message")).toEqual([]);
        const input = { text: script("go on", { text: "On." }), inputId: "m1" };
        await sidecar.client.controlAgent("pause", { control: "resume", input });
        await until("it to go on", async () =>
          (await world.of("pause", "agent_message")).some(({ text }) => text === "On."),
        );
        await world.status("pause", "idle");
      },
    },
  },
  undo: {
    label: "what it changed is undone",
    isDeclared: always,
    tests: {
      "the files of a turn go back, and what was written since is left": async (world) => {
        const { engine, sidecar } = world;
        world.makeRepository("undo", { a: "1\n", theirs: "1\n" });
        const call = engine.bash("echo 2 > a; echo 2 > theirs; echo 2 > new");
        await world.open("undo", "go", [{ tools: [call] }, { text: "Done." }], { agent: engine.free });
        await world.words("undo", 1);
        expect(await world.event("undo", "turn_changes")).toMatchObject({ files: 3 });
        writeFileSync(world.file("undo", "theirs"), "theirs\n");
        await sidecar.client.controlAgent("undo", { control: "undo" });
        expect(await world.event("undo", "undo")).toMatchObject({
          ...{ status: "completed", files: 2, left: [{ path: "theirs" }] },
        });
        const left = [world.read("undo", "a"), world.read("undo", "theirs"), world.has("undo", "new")];
        expect(left).toEqual(["1\n", "theirs\n", false]);
      },
    },
  },
  locks: {
    label: "one agent at a time writes a file",
    isDeclared: ({ steps = false }) => steps,
    tests: {
      "a file that another one asks a person about is free, one that it writes is not": async (world) => {
        const { engine, sidecar } = world;
        const file = world.file("shared", "a.txt");
        await world.open("lock-1", "go", [{ tools: [engine.write(file, "first")] }, { text: "t-1" }], {
          dir: "shared",
        });
        const ask = await world.ask("lock-1");
        const second = [{ tools: [engine.write(file, "second")] }, { text: "t-2" }];
        await world.open("lock-2", "go", second, { dir: "shared", agent: engine.free });
        await world.words("lock-2", 1);
        expect(world.read("shared", "a.txt")).toBe("second");
        await world.allow("lock-1", ask);
        await world.words("lock-1", 1);
        const locks = await sidecar.client.getHealth();
        expect(locks.ok).toBe(true);
      },
    },
  },
  limits: {
    label: "is held to a number of turns",
    isDeclared: always,
    tests: {
      "at the limit it asks, and goes on with as much again": async (world) => {
        await world.open("limits", "m-1", [{ text: "t-1" }], { agent: { limits: { turns: 1 } } });
        await world.words("limits", 1);
        await world.say("limits", "m-2", { text: "t-2" });
        const ask = await world.ask("limits");
        expect(ask.request).toMatchObject({ limit: { name: "turns", allowed: 1 } });
        await world.allow("limits", ask, "more");
        expect(await world.words("limits", 2)).toEqual(["t-1", "t-2"]);
      },
    },
  },
  calls: {
    label: "is held to a number of calls of its model",
    isDeclared: ({ calls = false }) => calls,
    tests: {
      "it is stopped between two calls, and nothing runs twice": async (world) => {
        const { engine } = world;
        const effects = [1, 2].map((n) => ({ tools: [engine.bash(`echo ${n} >> effects`)] }));
        const limits = { calls: 2 };
        await world.open("calls", "go", [...effects, { text: "Done." }], {
          agent: { ...engine.free, limits },
        });
        const ask = await world.ask("calls");
        expect(ask.request).toMatchObject({ limit: { name: "calls", allowed: 2, used: 2 } });
        expect(world.read("calls", "effects")).toBe("1\n2\n");
        await world.allow("calls", ask, "more");
        await world.words("calls", 1);
        expect(world.read("calls", "effects")).toBe("1\n2\n");
      },
    },
    refused: { agent: { limits: { calls: 2 } }, field: "limits.calls" },
  },
  cost: {
    label: "tells its cost, and is held to dollars",
    isDeclared: ({ cost }) => cost,
    tests: {
      "a turn says what it cost, and a thread stops at its limit": async (world) => {
        const CALL = { inputTokens: 10_000, outputTokens: 500 };
        await world.open("cost", "m-1", [{ text: "t-1", ...CALL }], {
          agent: { limits: { spendUsd: 0.04 } },
        });
        await world.words("cost", 1);
        const [end] = await world.of("cost", "turn_end");
        expect(end?.cost?.amount).toBeGreaterThan(0.04);
        expect(end?.usage).toMatchObject({ inputTokens: 10_000, outputTokens: 500 });
        await world.say("cost", "m-2", { text: "t-2", ...CALL });
        expect((await world.ask("cost")).request).toMatchObject({ limit: { name: "spendUsd" } });
      },
    },
    refused: { agent: { limits: { spendUsd: 1 } }, field: "limits.spendUsd" },
  },
  places: {
    label: "waits for a place (`MAX_AGENTS`)",
    isDeclared: always,
    tests: {
      "the second one begins when the first has ended": async (world) => {
        const one = await EngineWorld.start(world.engine, { maxAgents: 1 });
        try {
          await one.open("first", "go", [{ text: "First.", waitFor: one.file("first", "go") }]);
          await one.event("first", "turn_start");
          await one.open("second", "go", [{ text: "Second." }]);
          await until("it to wait", async () => {
            const { status } = await one.sidecar.client.getThread("second");
            return status === "queued";
          });
          writeFileSync(one.file("first", "go"), "");
          expect(await one.words("second", 1)).toEqual(["Second."]);
        } finally {
          await one.close();
        }
      },
    },
  },
  children: {
    label: "spawns children, with threadmux's own tools",
    isDeclared: ({ tools }) => tools,
    tests: {
      "a child does its part, and its result comes back": async (world) => {
        const { engine } = world;
        // A script within a script.
        const prompt = `Do your part @@${JSON.stringify([{ text: "My part is done." }])}`;
        await world.open("parent", "Split it", [{ tools: [engine.spawn(prompt)] }, { text: "All done." }]);
        expect(await world.words("parent", 1)).toEqual(["All done."]);
        const [spawned] = await world.of("parent", "thread_spawned");
        expect(await world.words(spawned?.threadId ?? "", 1)).toEqual(["My part is done."]);
        expect(JSON.stringify(await world.of("parent", "tool_call_update"))).toContain("My part is done.");
      },
    },
  },
  branch: {
    label: "is branched at any point, and knows what was said up to there",
    isDeclared: ({ resume }) => resume,
    tests: {
      "the branch knows what was said up to its point, and no more": async (world) => {
        const { engine, sidecar } = world;
        await world.open("trunk", "m-1", [{ text: "t-1" }]);
        await world.words("trunk", 1);
        await world.say("trunk", "m-2", { text: "t-2" });
        await world.words("trunk", 2);
        const [first] = await world.of("trunk", "agent_message");
        await sidecar.client.branchThread("trunk", {
          threadId: "branch",
          lockParent: false,
          seq: first?.seq ?? 0,
        });
        await world.say("branch", "m-9", { text: "t-9" });
        await world.words("branch", 1);
        const heard = engine.heard(sidecar, "branch").filter((word) => word !== "t-9");
        expect(heard).toEqual(["m-1", "t-1", "m-9"]);
      },
    },
  },
  schema: {
    label: "gives results that fit a JSON Schema",
    isDeclared: ({ outputSchema }) => outputSchema !== false,
    tests: {
      "a result is checked": async (world) => {
        const { engine } = world;
        const outputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
        await world.open("schema", "count", [engine.result({ n: 3 })], { agent: { outputSchema } });
        expect(await world.event("schema", "turn_end")).toMatchObject({ output: "valid", result: { n: 3 } });
      },
    },
    refused: { agent: { outputSchema: { type: "object" } }, field: "outputSchema" },
  },
  compact: {
    label: "makes its context shorter when it is told to",
    isDeclared: ({ compact }) => compact,
    tests: {
      "it is told, and a message goes on": async (world) => {
        const { sidecar } = world;
        for (const n of [1, 2, 3]) {
          const long = `t-${n} ${"word ".repeat(100)}`;
          if (n === 1) await world.open("compact", "m-1", [{ text: long }]);
          else await world.say("compact", `m-${n}`, { text: long });
          await world.words("compact", n);
        }
        await sidecar.client.controlAgent("compact", { control: "compact" });
        await until("the end of it", async () =>
          (await world.of("compact", "compaction_update")).some(({ status }) => status === "completed"),
        );
        await world.say("compact", "m-4", { text: "t-4" });
        expect((await world.words("compact", 4)).at(-1)).toBe("t-4");
      },
    },
  },
};
