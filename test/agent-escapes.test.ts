/** The stand-in tries to get out, in each mode: what is refused, and what a person is asked about. */
import { test } from "vitest";
import { openThreads } from "./support/agent-threads.ts";
import { expectKeptIn } from "./support/escapes.ts";

const open = openThreads();

test.each(["default", "acceptEdits", "bypassPermissions"])(
  "in mode %s the state folder is refused, and what looks like a secret is asked about",
  async (permissionMode) => {
    const thread = open({ agent: { permissionMode }, stateDir: true });
    await expectKeptIn(thread);
  },
);
