import { defineConfig } from "vitest/config";
import { longestFirst } from "./test/support/longest-first.ts";
import { MAX_WORKERS } from "./test/support/spare.ts";

/** By how long they take, so that none of them is left running alone at the end. */
const LONGEST = [
  "sidecar-kill",
  "agent-faults",
  "relay-channel",
  "relay-agent-troubles",
  "sidecar-watchdog",
  "scripts",
  "relay-limits",
  "bad-pages",
  "console-page",
  "relay-agent-faults",
  "cli-attach-away",
  "agent-troubles",
  "siege",
  "relay-faults",
  "agent-bad-input",
  "sidecar-restart",
  "agent-limits",
  "own",
  "agent-acp-faults",
  "agent-locks",
  "console-conversation",
  "gates-table",
  "agent-kills",
  "console-long",
  "page-surface",
];

export default defineConfig({
  test: {
    include: ["{shared,vm,relay,local-discord,cli,agent,follow,browser,test}/**/*.test.ts"],
    // A test waits for several things one after the other, each with a deadline of its own (test/support/wait.ts), which
    // says what did not come. The test's is only for what waits without one, and longer than a machine may stand still.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // As long as the tests' own waits: a second, which is vitest's, is short on a busy machine.
    expect: { poll: { timeout: 25_000 } },
    // Most end-to-end tests wait rather than work, but each starts processes: on a machine on which that is slow a third
    // worker makes a load of 15, at which tests run out of their time. Beyond two, one takes a file only while the cores
    // have time to spare (test/support/spare.ts).
    maxWorkers: MAX_WORKERS,
    // Of a file's concurrent tests. Each has a sidecar, a relay and programs of its own, which take all of two cores if
    // six of them print at once.
    maxConcurrency: 2,
    // The files of a worker share its modules. Each would load them anew: two seconds for a test with sidecar and relay,
    // five minutes in all. So a file leaves nothing behind in a module, and no promise that rejects later: the file that
    // runs then would be blamed.
    isolate: false,
    sequence: { sequencer: longestFirst(LONGEST) },
    globalSetup: ["test/support/leaks.ts"],
    setupFiles: ["test/support/setup.ts"],
  },
});
