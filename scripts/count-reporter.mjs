// vitest's counts as one plain line, "N passed, N failed", after everything else that is printed. If THREADMUX_RED names
// a file, the tests that failed are written there for the second look of .ci/run, a line each: file, tab, test.
import { writeFileSync } from "node:fs";

// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export
export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const count = { passed: 0, failed: 0, skipped: 0 };
    const red = [];
    for (const module of modules) {
      let tests = 0;
      for (const test of module.children.allTests()) {
        tests++;
        const { state } = test.result();
        count[state === "pending" ? "skipped" : state]++;
        if (state === "failed") red.push([module.relativeModuleId, test.fullName]);
      }
      // A file that breaks before its first test, or around its tests, is a failure too.
      if (module.errors().length > 0 || (tests === 0 && module.state() === "failed")) {
        count.failed++;
        red.push([module.relativeModuleId, "(around its tests)"]);
      }
    }
    for (const error of unhandledErrors) {
      count.failed++;
      const file = modules.find(({ moduleId }) => moduleId === error.VITEST_TEST_PATH)?.relativeModuleId;
      red.push([file ?? "(no file)", "(an error that nothing caught)"]);
    }
    const redFile = process.env["THREADMUX_RED"];
    if (redFile)
      writeFileSync(redFile, red.map(([file, test]) => `${file}\t${test.replace(/\s+/g, " ")}\n`).join(""));
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    process.once("exit", () => {
      process.stdout.write(`\n${count.passed} passed, ${count.failed} failed${skipped}\n`);
    });
  }
}
