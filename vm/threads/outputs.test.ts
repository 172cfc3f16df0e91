import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { emptyFold } from "../../shared/agent/fold.ts";
import { AppError } from "../../shared/errors.ts";
import { OWNER } from "../../shared/principal.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { aThreadId } from "../../test/support/ids.ts";
import { openStore } from "../store/store.ts";
import { LogWatch } from "../streams/log-watch.ts";
import { NO_AGENT } from "./kinds/kind.ts";
import { Outputs, type OutputsOptions } from "./outputs.ts";
import { ThreadFiles } from "./thread-files.ts";
import { Threads, type ThreadsOptions } from "./threads.ts";

const PLACE = { dir: ".", path: "/r", command: "true", title: "t", cols: 80, rows: 24, marker: "M=1" };
const MADE = { createdBy: OWNER, createdAt: 5, ...PLACE };

function openFiles() {
  const folder = makeFolder();
  const files = new ThreadFiles(folder.path);
  const logWatch = new LogWatch(join(folder.path, "logs"), pino({ level: "silent" }));
  const store = openStore(":memory:");
  onTestFinished(() => {
    logWatch.close();
    store.close();
    folder.remove();
  });
  return { store, files, logWatch };
}

test("a process that ends while its log is read is called ended only with all of its output", async () => {
  const { store, files, logWatch } = openFiles();
  store.threads.insert({ threadId: aThreadId("a"), type: "terminal", ...MADE });
  store.threads.update(aThreadId("a"), { isMade: true });
  const kinds = { terminal: { describe: () => NO_AGENT } } as unknown as ThreadsOptions["kinds"];
  const threads = new Threads({ store, files, kinds } as ThreadsOptions);
  const outputs = new Outputs({ store, files, threads, logWatch } as OutputsOptions);
  // More than is read without a wait.
  const before = "x".repeat(100_000);
  writeFileSync(files.logs.path(aThreadId("a")), before);
  const reading = outputs.read(
    aThreadId("a"),
    { since: 0, limit: 1024 * 1024, waitMs: 0 },
    new AbortController().signal,
  );
  appendFileSync(files.logs.path(aThreadId("a")), "its last words");
  store.threads.update(aThreadId("a"), { status: "exited", exitCode: 3 });
  const { output, ...reply } = await reading;
  expect(reply).toMatchObject({ processRunning: false, status: "exited", exitCode: 3, more: false });
  expect(output.slice(before.length)).toBe("its last words");
});

test("of many threads one that is removed while they are read is left out, and the others are answered", async () => {
  const { store, files, logWatch } = openFiles();
  for (const threadId of ["a", "b"])
    store.threads.insert({ threadId: aThreadId(threadId), type: "terminal", ...MADE });
  for (const [i, threadId] of ["c", "d"].entries()) {
    store.threads.insert({ threadId: aThreadId(threadId), type: "agent", ...MADE });
    store.agents.insert({ threadId: aThreadId(threadId), number: i + 1, status: "idle", fold: emptyFold() });
  }
  // Retention comes in between.
  const gone = (threadId: string) => new AppError("not_found", `There is no thread ${threadId}.`);
  const kinds = { terminal: { describe: () => NO_AGENT } } as unknown as ThreadsOptions["kinds"];
  let looks = 0;
  class Threads2 extends Threads {
    override getStored(threadId: string) {
      if (threadId === "b" && ++looks > 1) throw gone(threadId); // its log has been read by then
      return super.getStored(aThreadId(threadId));
    }
  }
  const threads = new Threads2({ store, files, kinds } as ThreadsOptions);
  const agents = {
    readTranscript: async (threadId: string) => {
      if (threadId === "d") throw gone(threadId);
      return {
        lines: "",
        start: 0,
        offset: 0,
        more: false,
        end: 0,
        status: "idle",
        problem: null,
        live: null,
      };
    },
  };
  const outputs = new Outputs({ store, files, threads, logWatch, agents } as unknown as OutputsOptions);
  for (const threadId of ["a", "b"]) writeFileSync(files.logs.path(aThreadId(threadId)), "hello");
  const at = (...ids: string[]) => Object.fromEntries(ids.map((id) => [id, 0]));
  const reply = await outputs.readMany(
    { since: at("a", "b"), transcripts: at("c", "d"), limit: 1_024, waitMs: 0 },
    new AbortController().signal,
  );
  expect([Object.keys(reply.threads), Object.keys(reply.transcripts)]).toEqual([["a"], ["c"]]);
  expect(looks).toBe(2);
});
