import { defineConfig } from "vitest/config";
import { longestFirst } from "./test/support/longest-first.ts";
import { MAX_WORKERS } from "./test/support/spare.ts";

/** `scripts/test --agents`: with the real coding agent, whose program THREADMUX_CLAUDE names. */
export default defineConfig({
  test: {
    include: ["{agent,test}/**/*.agents.ts"],
    testTimeout: 60_000,
    hookTimeout: 30_000,
    maxWorkers: MAX_WORKERS,
    sequence: {
      sequencer: longestFirst(["acp", "protocol", "limits", "kills", "foreign", "slow-servers", "trust"]),
    },
    globalSetup: ["test/support/leaks.ts"],
    setupFiles: ["test/support/setup.ts"],
  },
});
