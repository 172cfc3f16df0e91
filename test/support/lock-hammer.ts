/** Takes and gives back one lock many times, or dies with it. Says so if two have it at once. */
import { closeSync, openSync, rmSync } from "node:fs";
import { thisProcess } from "../../agent/locks/alive.ts";
import { LockFolder } from "../../agent/locks/lock-folder.ts";

const [folder = "", inside = "", id = "", rounds = "0", end = ""] = process.argv.slice(2);
const locks = new LockFolder(folder);
const self = thisProcess();
for (let n = 0; n < Number(rounds); n++) {
  // So long ago that the queue does not count: nothing but the claims keeps two apart.
  const claim = {
    v: 1 as const,
    path: "/f",
    threadId: id,
    callId: `${n}`,
    sinceMs: 0,
    holder: self,
  };
  while (locks.take(claim, self, Date.now())) {}
  try {
    closeSync(openSync(inside, "wx"));
  } catch {
    process.stdout.write("two at once\n");
  }
  for (const endMs = performance.now() + 1; performance.now() < endMs; ) {}
  rmSync(inside, { force: true });
  // Its claim stays; whoever waits finds it at once.
  if (end === "dies" && n === Number(rounds) - 1) process.kill(process.pid, "SIGKILL");
  locks.release(claim);
}
process.stdout.write("done\n");
