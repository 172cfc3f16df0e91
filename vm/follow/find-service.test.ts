import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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

test("a program that the machine can't start is no more than a list that is missing", async () => {
  const { path, remove } = makeFolder();
  writeFileSync(join(path, "docker"), "#!/bin/sh\n");
  chmodSync(join(path, "docker"), 0o755);
  // As without memory, this throws at once.
  const machine = new MachineServices({ PATH: path, BROKEN: "\0" }, Date.now);
  const { containers } = await machine.look();
  expect(containers).toEqual({ problem: expect.stringMatching(/^docker does not answer: /) });
  remove();
});
