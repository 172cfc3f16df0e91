/** The engine `own`: what its model calls is asked about, run once, and told, however often it is killed. Real runners, the real program, a scripted model. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { type AgentThread, openThreads, says, type ThreadOptions } from "../support/agent-threads.ts";
import { bash, envOf, killAll, modelOfFile, ownOptions, prefixBreaks, WIRES } from "../support/own-agent.ts";
import { until } from "../support/wait.ts";

const openThread = openThreads();
const model = modelOfFile();

const said = (thread: AgentThread) => thread.of("agent_message").map(({ text }) => text);
const ranIn = (thread: AgentThread) =>
  existsSync(join(thread.dir, "runs")) ? readFileSync(join(thread.dir, "runs"), "utf8") : "";
const ask = (thread: AgentThread) => thread.event("permission_request");

describe.each(WIRES)("over the wire format of %s", (wire) => {
  // What the loop does between two calls of the model is the same in both.
  const isFirst = wire === WIRES[0];
  const open = (options: ThreadOptions = {}) => openThread(ownOptions(envOf(wire, model.url), options));

  test("what is asked about is run once it is allowed", async () => {
    const thread = open();
    const round = { thinking: "Hm.", text: "I look.", tools: [bash("echo x >> runs; echo done")] };
    thread.write(says("hello", round, { text: "All is well." }));
    thread.start();
    const asked = await ask(thread);
    expect(asked).toMatchObject({ title: "bash echo x >> runs; echo done", toolName: "bash" });
    expect(ranIn(thread)).toBe("");
    thread.answer(asked.requestId, "once");
    expect(await thread.event("turn_end")).toMatchObject({ stopReason: "end_turn" });
    expect(said(thread)).toEqual(["I look.", "All is well."]);
    expect(ranIn(thread)).toBe("x\n");
    expect(thread.of("tool_call_update").map(({ status }) => status)).toEqual(["in_progress", "completed"]);
    expect(thread.of("delivery_update").at(-1)).toMatchObject({ status: "completed" });
    expect(statusOf(thread.fold())).toBe("idle");
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("done");
    thread.write(says("and now?", { text: "Still well." }));
    await thread.event("turn_end", 2);
    expect(prefixBreaks(model)).toEqual([]);
    expect(model.timesInContext("hello")).toBe(1);
  });

  test.runIf(isFirst)(
    "a question that is open when the person stops the turn is over; a wrong one is told",
    async () => {
      const thread = open();
      const question = (text: string) => ({ name: "ask_user", input: { questions: [{ question: text }] } });
      thread.write(says("hello", { tools: [question("")] }, { tools: [question("Which one?")] }));
      thread.start();
      const asked = await thread.event("elicitation_request");
      expect(asked.questions).toEqual([
        { question: "Which one?", header: "Question", multiSelect: false, options: [] },
      ]);
      expect(model.timesInContext("ask_user was called wrongly. questions.0.question")).toBe(1);
      thread.control("interrupt");
      expect(await thread.event("turn_end")).toMatchObject({ stopReason: "cancelled" });
      expect(thread.of("elicitation_response")).toMatchObject([{ action: "cancel", reason: "turn_ended" }]);
      expect(thread.fold().asks).toEqual([]);
      thread.write(says("go on", { text: "On." }));
      await thread.event("turn_end", 2);
      expect(said(thread)).toEqual(["On."]);
    },
  );

  test.runIf(isFirst)(
    "killed while a command runs: it is not run again, and the model hears that nobody knows",
    async () => {
      const thread = open({ agent: { permissionMode: "bypassPermissions" } });
      thread.write(
        says(
          "go",
          { tools: [bash("echo x >> runs; until [ -e go ]; do sleep 0.05; done")] },
          { text: "I see." },
        ),
      );
      thread.start();
      await until("the command", () => ranIn(thread) === "x\n");
      await killAll(thread);
      await thread.eventOfRunners("turn_end", 2);
      expect(ranIn(thread)).toBe("x\n");
      expect(said(thread)).toEqual(["I see."]);
      expect(model.timesInContext("outcome is unknown")).toBe(1);
      expect(prefixBreaks(model)).toEqual([]);
    },
  );

  test.runIf(isFirst)(
    "killed while a person is asked: the ask stays, its answer counts once, the call runs once",
    async () => {
      const thread = open();
      thread.write(
        says("go", { tools: [bash("echo x >> runs"), bash("echo y >> runs")] }, { text: "Done." }),
      );
      thread.start();
      const [first, second] = [await ask(thread), await thread.event("permission_request", 2)];
      await killAll(thread);
      thread.answer(first.requestId, "once");
      await thread.eventOfRunners("tool_call_update", 2);
      await killAll(thread);
      thread.answer(second.requestId, "no", "not that");
      await thread.eventOfRunners("turn_end", 3);
      expect(ranIn(thread)).toBe("x\n");
      expect(thread.of("permission_request")).toHaveLength(2);
      expect(thread.of("tool_call_update").map(({ status }) => status)).toEqual([
        "in_progress",
        "completed",
        "failed",
      ]);
      expect(model.timesInContext("not that")).toBe(1);
      expect(said(thread)).toEqual(["Done."]);
    },
  );

  test("a message in the midst of a call is heard once, behind its result", async () => {
    const thread = open({ agent: { permissionMode: "bypassPermissions" } });
    const command = "echo x >> runs; until [ -e go ]; do sleep 0.05; done; echo result";
    thread.write(says("one", { tools: [bash(command)] }, { text: "Heard." }));
    thread.start();
    await until("the command", () => ranIn(thread) === "x\n");
    thread.write("two, in the midst");
    await thread.event("delivery", 2);
    writeFileSync(join(thread.dir, "go"), "");
    await thread.event("turn_end");
    expect(thread.of("turn_start")).toHaveLength(1);
    const last = JSON.stringify(model.requests.at(-1)?.messages);
    expect(last.split("two, in the midst")).toHaveLength(2);
    expect(last.indexOf("two, in the midst")).toBeGreaterThan(last.lastIndexOf("result"));
    expect(prefixBreaks(model)).toEqual([]);
  });

  test.runIf(isFirst)(
    "a person stops it in the midst of a command: that ends, and the next message goes on",
    async () => {
      const thread = open({ agent: { permissionMode: "bypassPermissions" } });
      thread.write(says("two", { tools: [bash("echo x >> runs; sleep 600")] }));
      thread.start();
      await until("the command", () => ranIn(thread) === "x\n");
      thread.control("interrupt");
      expect(await thread.event("turn_end")).toMatchObject({ stopReason: "cancelled" });
      thread.write(says("three", { text: "Three." }));
      expect(await thread.event("turn_end", 2)).toMatchObject({ stopReason: "end_turn" });
      expect(prefixBreaks(model)).toEqual([]);
    },
  );
});
