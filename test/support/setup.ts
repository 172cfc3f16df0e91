/** Around the tests of each file: a warning is no news for the reader of the output, it fails the test that caused it. */
import { afterAll, afterEach, expect } from "vitest";
import { takePlace } from "./spare.ts";
import { noteWarning, takeWarnings } from "./warned.ts";

afterAll(await takePlace(process.env["VITEST_POOL_ID"] ?? "1"));

const note = (warning: Error) => noteWarning(`${warning.name}: ${warning.message}`);
process.on("warning", note);
afterEach(() => expect(takeWarnings()).toEqual([]));
// Of what ended after the last test. The worker goes on with another file.
afterAll(() => {
  process.off("warning", note);
  expect(takeWarnings()).toEqual([]);
});
