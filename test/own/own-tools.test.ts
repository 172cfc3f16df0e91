/** The tools of the engine `own` in a thread: pictures, and commands in the background. Real runners, the real program, a scripted model. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type AgentThread, openThreads, says } from "../support/agent-threads.ts";
import { envOf, killAll, modelOfFile, ownOptions, prefixBreaks, WIRES } from "../support/own-agent.ts";
import { until } from "../support/wait.ts";

const openThread = openThreads();
const model = modelOfFile();

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const background = (command: string) => ({ name: "bash", input: { command, background: true } });
const tasksOf = (thread: AgentThread) =>
  thread.of("background_update").map(({ tasks }) => tasks.map(({ taskId }) => taskId));
const isAlive = (pid: number) =>
  existsSync(`/proc/${pid}`) && !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));

describe.each(WIRES)("over the wire format of %s", (wire) => {
  test("the model sees a picture that it reads, also after a death", async () => {
    const thread = openThread(ownOptions(envOf(wire, model.url)));
    writeFileSync(join(thread.dir, "shot.png"), PNG);
    thread.write(
      says("look", { tools: [{ name: "read", input: { file_path: "shot.png" } }] }, { text: "I see." }),
    );
    thread.start();
    await thread.event("turn_end");
    const base64 = PNG.toString("base64");
    expect(JSON.stringify(model.requests[1]?.messages)).toContain(base64);
    const uri = `pictures/${createHash("sha256").update(PNG).digest("hex").slice(0, 32)}.png`;
    expect(thread.of("tool_call_update").at(-1)?.content?.[1]).toEqual({
      type: "content",
      content: { type: "image", mimeType: "image/png", uri },
    });
    expect(readFileSync(join(thread.folder, uri))).toEqual(PNG);
    rmSync(join(thread.dir, "shot.png"));
    await killAll(thread);
    thread.write(says("again", { text: "Still." }));
    await thread.eventOfRunners("turn_end", 2);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(base64);
    expect(prefixBreaks(model)).toEqual([]);
  });
});

test("commands in the background are the thread's: they are listed, a person ends one, and a kill all of them", async () => {
  const thread = openThread(
    ownOptions(envOf("anthropic", model.url), { agent: { permissionMode: "bypassPermissions" } }),
  );
  const forever = (name: string) => background(`echo $$ > ${name}; exec sleep 600`);
  thread.write(
    says(
      "go",
      { tools: [forever("one"), forever("two")] },
      { tools: [{ name: "process", input: { action: "list" } }] },
      { text: "They run." },
    ),
  );
  thread.start();
  await thread.event("turn_end");
  expect(tasksOf(thread)).toEqual([["b1"], ["b1", "b2"]]);
  expect(thread.of("background_update").at(-1)?.tasks[1]?.title).toContain("two; exec sleep 600");
  expect(model.timesInContext("b2: runs since")).toBe(1);
  const pids = ["one", "two"].map((name) => Number(readFileSync(join(thread.dir, name), "utf8")));
  expect(pids.map(isAlive)).toEqual([true, true]);
  thread.control("end_task", { taskId: "b1" });
  await until("the list without it", () => tasksOf(thread).at(-1)?.join() === "b2");
  expect(pids.map(isAlive)).toEqual([false, true]);
  await killAll(thread);
  await until("the other's end", () => !isAlive(pids[1] ?? 0));
});
