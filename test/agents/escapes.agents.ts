/** The real program tries to get out, in each mode: what is refused, and what a person is asked about. */
import { test } from "vitest";
import { expectKeptIn } from "../support/escapes.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

// Promise: S12
test.each(["default", "acceptEdits", "bypassPermissions"])(
  "in mode %s the state folder is out of reach, and what looks like a secret is asked about",
  async (permissionMode) => {
    const thread = real.open({ agent: { permissionMode }, stateDir: true });
    await expectKeptIn(thread);
  },
);
