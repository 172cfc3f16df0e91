import { expect, test } from "vitest";
import { describeEnd } from "./ending.ts";

test.each([
  [0, undefined, 0, null],
  [1, undefined, 1, null],
  [128, undefined, 128, null],
  [129, undefined, 129, "SIGHUP"],
  [130, undefined, 130, "SIGINT"],
  [134, undefined, 134, "SIGABRT"],
  [137, undefined, 137, "SIGKILL"],
  [143, undefined, 143, "SIGTERM"],
  [159, undefined, 159, "SIGSYS"],
  [200, undefined, 200, null],
  [255, undefined, 255, null],
  [null, 9, 137, "SIGKILL"],
  [null, 15, 143, "SIGTERM"],
  [null, undefined, null, null],
])("exit code %s, signal %s: %s, %s", (code, signalNumber, exitCode, signal) => {
  expect(describeEnd(code, signalNumber)).toEqual({ exitCode, signal });
});
