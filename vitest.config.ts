import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{shared,vm,relay,cli,test}/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Most of the end-to-end tests wait (for tmux, for Discord's pace) rather than work: one more than two cores.
    maxWorkers: 3,
    globalSetup: ["test/support/leaks.ts"],
  },
});
