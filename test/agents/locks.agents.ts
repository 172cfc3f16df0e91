/** Several of the real program in one directory: one file, one writer at a time, and what each is told of the others. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BOARD_FOLDER, LOCK_FOLDER, THREAD_TITLE } from "../../shared/agent/markers.ts";
import { seededRandom } from "../../shared/random.ts";
import { AgentThread, bash, says } from "../support/agent-threads.ts";
import { inFull } from "../support/faults.ts";
import { makeFolder } from "../support/folders.ts";
import { besiegeFiles } from "../support/lock-siege.ts";
import { until } from "../support/wait.ts";
import type { ModelRequest } from "./model.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

const ROUNDS = inFull(200, 12);
const WRITE_SECONDS = inFull(2, 0.3);
const KILLS = inFull(20, 3);
const TIMEOUT_MS = inFull(1_500_000, 150_000);

/** A hook of the person's own runs beside ours: a call begins when it has ended, so it has its file for as long. */
function slowDown({ home }: AgentThread): void {
  const hook = { type: "command", command: `sleep ${WRITE_SECONDS}` };
  mkdirSync(join(home, ".claude"));
  writeFileSync(
    join(home, ".claude", "settings.json"),
    JSON.stringify({ hooks: { PreToolUse: [{ matcher: "Edit", hooks: [hook] }] } }),
  );
}

test.each(inFull([2, 5], [2]))(
  "%i of them edit the same files, under kill -9: no edit is lost, no lock is left",
  {
    timeout: TIMEOUT_MS + 30_000,
  },
  async (agents) => {
    const report = await besiegeFiles({
      agents,
      rounds: ROUNDS,
      writeMs: WRITE_SECONDS * 1_000,
      kills: KILLS,
      random: seededRandom(agents),
      program: real.program(),
      prepare: slowDown,
      timeoutMs: TIMEOUT_MS,
    });
    console.log(JSON.stringify({ agents, ...report }));
    expect(report).toMatchObject({ lost: [], twice: [], left: [], refused: 0 });
    expect(report.done).toBeGreaterThanOrEqual(ROUNDS - KILLS);
    expect(report.waits).toBeGreaterThan(0);
    expect(report.kills).toBeGreaterThan(0);
  },
);

test("what it is told of the others stands at the end: no earlier message of the conversation changes", {
  timeout: 120_000,
}, async () => {
  const root = makeFolder();
  const dir = join(root.path, "work");
  for (const name of ["work", "board", "locks"]) mkdirSync(join(root.path, name));
  const open = (number: number) => {
    const env = {
      [BOARD_FOLDER]: join(root.path, "board"),
      [LOCK_FOLDER]: join(root.path, "locks"),
      [THREAD_TITLE]: `Title ${number}`,
    };
    const agent = { permissionMode: "bypassPermissions" };
    return new AgentThread({
      number,
      dir,
      agent,
      program: real.program(),
      timeouts: { idleSeconds: 1 },
      env,
    });
  };
  const [told, other] = [open(1), open(2)];
  try {
    writeFileSync(join(dir, "a.txt"), "old");
    const rounds = Array.from({ length: 6 }, (_, i) => ({
      tools: [bash(`echo ${i}`)],
      waitFor: join(root.path, `go${i}`),
    }));
    const read = { tools: [{ name: "Read", input: { file_path: join(dir, "a.txt") } }] };
    told.write(says("told first", read, ...rounds, { text: "Done." }));
    told.start();
    for (const i of rounds.keys()) {
      await told.event("tool_call_update", i + 1);
      if (i === 2) {
        const wait = { tools: [bash("echo other > a.txt")] };
        other.write(says("other", wait, { tools: [bash("true")], waitFor: join(root.path, "never") }));
        other.start();
        await other.event("tool_call_update");
        const note = join(root.path, "board", `${other.id}.json`);
        await until("it to call its model again", () =>
          /"step":1,"doing":"Calling LLM"/.test(readFileSync(note, "utf8")),
        );
      }
      writeFileSync(join(root.path, `go${i}`), "");
    }
    await told.ended();
    const own = real.model.requests.filter(
      ({ messages, tools }) => tools?.length && textOf(messages).includes("told first"),
    );
    expect(own).toHaveLength(8);
    const last = textOf(own.at(-1)?.messages);
    expect(last).toContain("#2 Title 2: running, step 1, currently: Calling LLM");
    expect(last).toMatch(/changed by somebody else since you last read or wrote them: a\.txt\./);
    expect(last.split("#2 Title 2").length - 1).toBe(1);
    for (const [i, request] of own.slice(1).entries()) {
      const before = plain(own[i]);
      expect(plain(request).slice(0, before.length)).toEqual(before);
    }
  } finally {
    for (const thread of [told, other]) await thread.close();
    root.remove();
  }
});

const textOf = (messages: unknown) => JSON.stringify(messages);

/**
 * Without the marks that say up to where it may be kept: they move on with the conversation's end, and a text that
 * bears one is written as a list of one block.
 */
function plain(request: ModelRequest | undefined): unknown[] {
  const messages = (request?.messages ?? []).map(({ content, ...rest }) => ({
    ...rest,
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
  }));
  const text = JSON.stringify(messages, (key, value) => (key === "cache_control" ? undefined : value));
  return JSON.parse(text) as unknown[];
}
