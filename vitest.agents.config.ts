import { defineConfig } from "vitest/config";

/** `scripts/test --agents`: with the real coding agent, whose program THREADMUX_CLAUDE names. */
export default defineConfig({
  test: {
    include: ["{agent,test}/**/*.agents.ts"],
    testTimeout: 60_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
    globalSetup: ["test/support/leaks.ts"],
  },
});
