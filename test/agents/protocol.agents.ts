/**
 * The real program against its recordings: every conversation is held anew, and its lines have the recorded shape.
 * RECORD=1 writes the recordings, to be read and committed after a new version of the program.
 */
import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { effectHappensOnce, endIsPrintedWhenSaved } from "./cut-off.ts";
import { type Model, startModel } from "./model.ts";
import { claude } from "./real.ts";
import { normalise, readRecording, recordingFile } from "./recording.ts";
import { scenarios } from "./scenarios.ts";
import { Session } from "./session.ts";
import { shapesOf } from "./shape.ts";

let folder: ReturnType<typeof makeFolder>;
let model: Model;
let session: Session;

beforeEach(async () => {
  folder = makeFolder();
  model = await startModel();
  session = new Session(claude(model), folder.path);
});

afterEach(async () => {
  await session.close();
  await model.close();
  folder.remove();
});

describe("the real program speaks as recorded", () => {
  test.each(Object.entries(scenarios))("%s", async (name, run) => {
    await run(session);
    await session.finish();
    const lines = normalise(session.lines(), { app: session.cwd, home: session.home });
    if (process.env["RECORD"] === "1") {
      writeFileSync(recordingFile(name), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    }
    expect(shapesOf(lines)).toEqual(shapesOf(readRecording(name)));
  });
});

test("a message in mid-turn reaches the model once, though the program is killed after it", async () => {
  await scenarios["kill-mid-turn"]?.(session);
  expect(model.timesInContext("and this")).toBe(1);
});

test("an effect happens once, if it may begin only when its call is saved", async () => {
  await effectHappensOnce(session);
});

test("a turn's end is printed when the turn is saved: killed at once, nothing of it is forgotten", async () => {
  await endIsPrintedWhenSaved(session);
});
