import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{shared,vm,relay,cli,test}/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Two cores, and every end-to-end file runs its own tmux server: more workers only make waits longer.
    maxWorkers: 2,
    globalSetup: ["test/support/leaks.ts"],
  },
});
