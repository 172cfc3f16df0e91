import { readdirSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

/** A test with a long form asks test/support/faults.ts which one it is to run. */
const withLongForm = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => `test/${file}`)
  .filter((file) => /\bsupport\/faults\.ts"/.test(readFileSync(file, "utf8")));

/** `npm run test:siege [group]`: the long forms of tests, and what has no short one. A group is a folder or a file. */
export default defineConfig({
  test: {
    include: [...withLongForm, "test/**/*.siege.ts"],
    env: { FAULTS: "full" },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 25_000 } },
    maxWorkers: 2,
    maxConcurrency: 2,
    globalSetup: ["test/support/leaks.ts"],
    setupFiles: ["test/support/setup.ts"],
  },
});
