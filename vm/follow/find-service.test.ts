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

test("a journal of which only a part may be read says so", async () => {
  const { path, remove } = makeFolder();
  // As journalctl 252 does for a user who is in none of its groups.
  const hint = "Hint: You are currently not seeing messages from other users and the system.";
  const script = `case "$*" in *--quiet*) ;; *) echo '${hint}' >&2 ;; esac; echo own.service`;
  writeFileSync(join(path, "journalctl"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const machine = new MachineServices({ PATH: path }, Date.now);
  const { message } = await refusal(findService(machine, "unit:nginx", { path, lines: 1 }));
  expect(message).toBe(
    'service: there is no "nginx": the journal has no such unit that the sidecar\'s user may read; members of the group systemd-journal read all.',
  );
  const found = await findService(machine, "unit:own", { path, lines: 1 });
  expect(found.service).toBe("unit:own.service");
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
