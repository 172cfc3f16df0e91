/** The engine `own`: a message in, an answer out. Real runners, the real program, a scripted model. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { type AgentThread, openThreads, says, type ThreadOptions } from "../support/agent-threads.ts";
import { envOf, killAll, modelOfFile, ownOptions, prefixBreaks, WIRES } from "../support/own-agent.ts";
import { until } from "../support/wait.ts";

const openThread = openThreads();
const model = modelOfFile();

const said = (thread: AgentThread) => thread.of("agent_message").map(({ text }) => text);

describe.each(WIRES)("over the wire format of %s", (wire) => {
  const open = (options: ThreadOptions = {}) => openThread(ownOptions(envOf(wire, model.url), options));

  test("a message is answered after a call, and the next request begins with the one before", async () => {
    const thread = open();
    writeFileSync(join(thread.dir, "a.txt"), "what is in it\n");
    const look = {
      thinking: "Hm.",
      text: "I look.",
      tools: [{ name: "read", input: { file_path: "a.txt" } }],
    };
    thread.write(says("hello", look, { text: "All is well." }));
    thread.start();
    expect(await thread.event("turn_end")).toMatchObject({ stopReason: "end_turn" });
    expect(said(thread)).toEqual(["I look.", "All is well."]);
    expect(thread.of("tool_call")).toMatchObject([{ name: "read", kind: "read", title: "read a.txt" }]);
    expect(thread.of("tool_call_update").map(({ status }) => status)).toEqual(["completed"]);
    expect(thread.of("delivery_update").at(-1)).toMatchObject({ status: "completed" });
    expect(statusOf(thread.fold())).toBe("idle");
    expect(model.timesInContext("what is in it")).toBe(1);
    thread.write(says("and now?", { text: "Still well." }));
    await thread.event("turn_end", 2);
    expect(prefixBreaks(model)).toEqual([]);
    expect(model.timesInContext("hello @@")).toBe(1);
  });

  test("killed while the model answers: the message is there once, and the turn goes on", async () => {
    const thread = open();
    thread.write(says("go", { text: "Answered.", waitFor: join(thread.dir, "go") }));
    thread.start();
    await until("the call", () => model.requests.length === 1);
    await killAll(thread);
    writeFileSync(join(thread.dir, "go"), "");
    expect(await thread.eventOfRunners("turn_end", 2)).toMatchObject({ stopReason: "end_turn" });
    expect(said(thread)).toEqual(["Answered."]);
    expect(model.timesInContext("go @@")).toBe(1);
    expect(prefixBreaks(model)).toEqual([]);
  });

  test("a person stops it in the midst of an answer, and the next message goes on", async () => {
    const thread = open();
    thread.write(says("one", { text: "a long answer ".repeat(30), pauseFor: join(thread.dir, "never") }));
    thread.start();
    await until("the call", () => model.requests.length === 1);
    thread.control("interrupt");
    expect(await thread.event("turn_end")).toMatchObject({ stopReason: "cancelled" });
    thread.write(says("two", { text: "Two." }));
    expect(await thread.event("turn_end", 2)).toMatchObject({ stopReason: "end_turn" });
    expect(said(thread).at(-1)).toBe("Two.");
  });
});
