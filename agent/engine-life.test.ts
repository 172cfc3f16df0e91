import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { threadConfigSchema } from "../shared/agent/config.ts";
import { DEMO } from "../test/support/agent-threads.ts";
import { makeFolder } from "../test/support/folders.ts";
import { bringHooks, noting } from "../test/support/trust.ts";
import type { Engine } from "./engine.ts";
import { EngineLife } from "./engine-life.ts";
import { claudeEngine } from "./engines/claude/claude.ts";
import { config } from "./testing/thread.ts";
import { ThreadFiles } from "./thread-files.ts";
import { TurnWatch } from "./turn-watch.ts";

let place: ReturnType<typeof makeFolder>;
beforeEach(() => {
  place = makeFolder();
});
afterEach(() => place.remove());

// Promise: S9
test("what a directory comes to bring between the look at it and the start: nothing of it runs", async () => {
  const root = realpathSync(place.path);
  const [folder, dir, home] = ["thread", "dir", "home"].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [folder, dir, home]) mkdirSync(path);
  const program = noting(root, DEMO.program, DEMO.args);
  const real = claudeEngine("claude");
  let looks = 0;
  const engine: Engine = {
    ...real,
    lookAround: async (...of) => {
      const found = await real.lookAround(...of);
      looks += 1;
      if (looks === 1) bringHooks(dir);
      return found;
    },
  };
  const launch = { ...config.launch, program: program.file };
  const options = {
    folder,
    config: threadConfigSchema.parse({ ...config, dir, launch }),
    engine,
    env: { PATH: process.env["PATH"] ?? "", HOME: home },
  };
  const thread = new ThreadFiles(folder, options.config, new PassThrough().resume());
  const turns = new TurnWatch(options, thread);
  const life = new EngineLife({
    ...options,
    thread,
    turns,
    onChange: () => undefined,
    spareFifo: Promise.resolve(),
  });
  try {
    await life.start();
    expect([life.seat, program.starts()]).toEqual([undefined, []]);
    await life.start();
    expect([...thread.history()].at(-1)).toMatchObject({ type: "permission_request", trust: true });
    expect(program.starts()).toEqual([]);
  } finally {
    await life.end("killed", "crash");
    thread.close();
  }
});
