/** A conversation that has grown too long for its engine is begun anew, from the end of the transcript. */
import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_CONVERSATION_BYTES } from "../../agent/anew.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { buildAcpAgent, heardBy, told } from "../support/acp.ts";
import { type AgentThread, openThreads, says } from "../support/agent-threads.ts";
import { envOf, modelOfFile, ownOptions } from "../support/own-agent.ts";
import { until } from "../support/wait.ts";

const openThread = openThreads();
const model = modelOfFile();
let acp: Awaited<ReturnType<typeof buildAcpAgent>>;
beforeAll(async () => {
  acp = await buildAcpAgent();
});
afterAll(() => acp?.remove());

interface Long {
  open: () => AgentThread;
  words: (text: string, answer: string) => string;
  /** What the engine was told, in whichever of its conversations. */
  heard: (thread: AgentThread) => string;
  grow: (thread: AgentThread) => void;
}
const timeouts = { idleSeconds: 1 };

/** Its transcript has so many more bytes, as of work without a word. */
function growTranscript(thread: AgentThread): void {
  const { seq } = thread.fold();
  const filler = "x".repeat(60_000);
  for (let at = 1; at * filler.length <= MAX_CONVERSATION_BYTES; at++) {
    const notice = { type: "notice", severity: "info", title: "filler", description: filler };
    const event = { seq: seq + at, id: `r${seq + at}.0`, ts: new Date().toISOString(), ...notice };
    appendFileSync(threadPath(thread.folder, "transcript"), `${JSON.stringify(event)}\n`);
  }
}

const recordsOf = ({ home }: AgentThread) => {
  const projects = join(home, ".claude/projects");
  if (!existsSync(projects)) return [];
  return readdirSync(projects, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => join(projects, name));
};

const ENGINES: Record<string, Long> = {
  demo: {
    open: () => openThread({ timeouts }),
    words: (text, answer) => says(text, { text: answer }),
    heard: (thread) =>
      recordsOf(thread)
        .map((file) => readFileSync(file, "utf8"))
        .join("\n"),
    grow: (thread) => {
      const line = `${JSON.stringify({ type: "progress", text: "x".repeat(100_000) })}\n`;
      const [file = ""] = recordsOf(thread);
      appendFileSync(file, line.repeat(Math.ceil(MAX_CONVERSATION_BYTES / line.length)));
    },
  },
  acp: {
    open: () =>
      openThread({
        timeouts,
        agent: { engine: "acp" },
        program: { program: acp.program(), args: [], env: {} },
      }),
    words: (text, answer) => told(text, { text: answer }),
    heard: (thread) => heardBy(thread).join("\n"),
    grow: growTranscript,
  },
  own: {
    open: () => openThread(ownOptions(envOf("anthropic", model.url), { timeouts })),
    words: (text, answer) => says(text, { text: answer }),
    heard: () => JSON.stringify(model.requests.at(-1)),
    grow: growTranscript,
  },
};

const turn = async (thread: AgentThread, count: number, text: string) => {
  thread.write(text);
  if (!thread.runner) thread.start();
  await thread.event("turn_end", count);
};
const sessions = (thread: AgentThread) => thread.of("engine_start").map(({ sessionId }) => sessionId);

describe.each(Object.entries(ENGINES))("with the engine %s", (_, { open, words, heard, grow }) => {
  test("the next process begins a new conversation, which knows the old one's end and what is open", async () => {
    const thread = open();
    await turn(thread, 1, words("the word is plover", "I know it."));
    thread.append({
      op: "event",
      event: { type: "thread_spawned", threadId: "child-7", mode: "async", title: "Count the files" },
    });
    await thread.event("thread_spawned");
    await thread.ended();
    // Below the bound it is gone on with.
    await turn(thread, 2, words("go on", "I do."));
    await thread.ended();
    expect(new Set(sessions(thread)).size).toBe(1);
    grow(thread);
    await turn(thread, 3, words("which word?", "Plover."));
    const [first, second, third] = thread.of("engine_start");
    expect(third).toMatchObject({ resumed: false, reseeded: true });
    expect(third?.sessionId).not.toBe(second?.sessionId);
    expect(second?.sessionId).toBe(first?.sessionId);
    for (const part of ["the word is plover", "I do.", "which word?"]) expect(heard(thread)).toContain(part);
    expect(heard(thread)).toContain("had become very long, so it begins anew");
    expect(heard(thread)).toContain("Your child child-7 is at work: Count the files");
    expect(thread.of("notice").filter(({ title }) => title !== "filler")).toMatchObject([
      { title: "The conversation begins anew" },
    ]);
    // From there on it is one like any other.
    await thread.ended();
    await turn(thread, 4, words("and now?", "Well."));
    expect(sessions(thread)).toHaveLength(4);
    expect(sessions(thread)[3]).toBe(third?.sessionId);
    expect(thread.of("engine_start")[3]).toMatchObject({ resumed: true });
    expect(heard(thread)).toContain("the word is plover");
  });

  test("a process that dies before it has read anything leaves nothing out", async () => {
    const thread = open();
    await turn(thread, 1, words("the word is plover", "I know it."));
    await thread.ended();
    grow(thread);
    thread.write(words("which word?", "Plover."));
    thread.start();
    await thread.event("engine_start", 2);
    thread.killRunner();
    for (const { pid } of thread.engineProcesses()) process.kill(pid, "SIGKILL");
    await thread.runnerDied();
    thread.start();
    const done = () => thread.of("delivery_update").filter(({ status }) => status === "completed");
    await until("both messages to be done", () => done().length === 2);
    expect(heard(thread)).toContain("the word is plover");
  });
});
