// vitest's counts as one plain line, "N passed, N failed", after everything else that is printed.

// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export
export default class CountReporter {
  onTestRunEnd(modules) {
    const count = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      let tests = 0;
      for (const test of module.children.allTests()) {
        tests++;
        const { state } = test.result();
        count[state === "pending" ? "skipped" : state]++;
      }
      // A file that breaks before its first test, or around its tests, is a failure too.
      if (module.errors().length > 0 || (tests === 0 && module.state() === "failed")) count.failed++;
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    process.once("exit", () => {
      process.stdout.write(`\n${count.passed} passed, ${count.failed} failed${skipped}\n`);
    });
  }
}
