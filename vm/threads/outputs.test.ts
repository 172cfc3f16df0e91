import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { openStore } from "../store/store.ts";
import { LogWatch } from "../streams/log-watch.ts";
import { NO_AGENT } from "./kinds/kind.ts";
import { Outputs, type OutputsOptions } from "./outputs.ts";
import { ThreadFiles } from "./thread-files.ts";
import { Threads, type ThreadsOptions } from "./threads.ts";

test("a process that ends while its log is read is called ended only with all of its output", async () => {
  const folder = makeFolder();
  const files = new ThreadFiles(folder.path);
  const logWatch = new LogWatch(join(folder.path, "logs"), pino({ level: "silent" }));
  const store = openStore(":memory:");
  onTestFinished(() => {
    logWatch.close();
    store.close();
    folder.remove();
  });
  const described = { dir: ".", path: "/r", command: "true", title: "t", cols: 80, rows: 24, marker: "M=1" };
  store.threads.insert({
    threadId: "a",
    type: "terminal",
    createdBy: "1",
    createdAt: 5,
    agentSession: null,
    ...described,
  });
  store.threads.update("a", { isMade: true });
  const kinds = { terminal: { describe: () => NO_AGENT } } as unknown as ThreadsOptions["kinds"];
  const threads = new Threads({ store, files, kinds } as ThreadsOptions);
  const outputs = new Outputs({ store, files, threads, logWatch } as OutputsOptions);
  // More than is read without a wait.
  const before = "x".repeat(100_000);
  writeFileSync(files.logs.path("a"), before);
  const reading = outputs.read(
    "a",
    { since: 0, limit: 1024 * 1024, waitMs: 0 },
    new AbortController().signal,
  );
  appendFileSync(files.logs.path("a"), "its last words");
  store.threads.update("a", { status: "exited", exitCode: 3 });
  const { output, ...reply } = await reading;
  expect(reply).toMatchObject({ processRunning: false, status: "exited", exitCode: 3, more: false });
  expect(output.slice(before.length)).toBe("its last words");
});
