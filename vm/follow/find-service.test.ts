import { expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { refusal } from "../../test/support/threads.ts";
import { findService } from "./find-service.ts";
import { MachineServices } from "./machine-services.ts";

test("a machine without docker and journald says so", async () => {
  const { path, remove } = makeFolder();
  const machine = new MachineServices({ PATH: path }, Date.now);
  const { message } = await refusal(findService(machine, "web", { path, lines: 1 }));
  expect(message).toBe(
    'service: there is no "web": it is no file here; there is no docker on this machine; there is no journalctl on this machine.',
  );
  remove();
});
