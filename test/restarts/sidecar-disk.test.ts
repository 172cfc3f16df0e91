/** A disk that is really full: a small file system in memory holds the sidecar's state. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeSidecarFolders, startSidecar } from "../support/sidecar.ts";
import { canMount, mountDisk } from "../support/small-disk.ts";
import { openTerminal, readAll, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

// Promise: R13
test.runIf(canMount)(
  "a full disk: no program and no other thread stops, a kill works, and the gap is said",
  async ({ onTestFinished }) => {
    const folders = makeSidecarFolders();
    const disk = mountDisk(folders.stateDir, 32);
    const sidecar = await startSidecar({}, { folders });
    onTestFinished(async () => {
      disk.unmount();
      await sidecar.close();
    });
    const { client, url, reposDir } = sidecar;
    await openTerminal(
      client,
      "worker",
      'while read -r line; do echo "got $line" | tee -a got; [ "$line" != much ] || seq 5000; done',
    );
    await openTerminal(client, "killed", "echo ready; cat");
    await untilOutput(client, "killed", "ready\r\n");
    await client.sendInput("worker", { text: "one", inputId: "1" });
    await untilOutput(client, "worker", "got one\r\n");

    disk.fill(0);
    expect(disk.freeBytes()).toBe(0);
    const health = (await (await fetch(`${url}/healthz`)).json()) as Record<string, unknown>;
    expect(health).toMatchObject({ ok: false, tmux: { up: true }, disk: { ok: false, freeBytes: 0 } });
    expect(await refusal(openTerminal(client, "new", "cat"))).toEqual({
      code: "unavailable",
      message: "The VM's disk is full; nothing was changed.",
    });
    // Its output has nowhere to go; the program does not notice.
    await client.sendInput("worker", { text: "much" });
    await client.sendInput("worker", { text: "two", inputId: "2" });
    await until("the program to go on", () =>
      readFileSync(join(reposDir, "got"), "utf8").includes("got two"),
    );
    expect(await client.killThread("killed")).toMatchObject({ killed: true, survivors: 0 });
    expect(await client.getThread("killed")).toMatchObject({ status: "killed" });
    expect((await client.listThreads()).map(({ threadId }) => threadId)).toEqual(["worker"]);
    expect((await readAll(client, "worker")).output).toContain("got one");
    await sidecar.restart();
    expect((await client.getHealth()).tmux.up).toBe(true);
    await client.sendInput("worker", { text: "three", inputId: "3" });
    await until("the program to go on", () =>
      readFileSync(join(reposDir, "got"), "utf8").includes("got three"),
    );

    disk.empty();
    await untilOutput(client, "worker", "is missing here, the log's writer had ended");
    await client.sendInput("worker", { text: "four", inputId: "4" });
    await untilOutput(client, "worker", "got four");
    await openTerminal(client, "new", "echo there is room");
    expect((await untilEnded(client, "new")).output).toBe("there is room\r\n");
  },
);
