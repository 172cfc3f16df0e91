import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { SidecarClient } from "../../shared/client.ts";
import { aThreadId } from "../../test/support/ids.ts";
import { startSidecar } from "../../test/support/sidecar.ts";
import { openTerminal, refusal, untilEnded } from "../../test/support/threads.ts";
import { until } from "../../test/support/wait.ts";
import { Vm } from "../sidecar/vm.ts";
import { exportLog } from "./export.ts";

const MiB = 1024 * 1024;
const never = new AbortController().signal;

describe("a log from a real sidecar", async () => {
  const sidecar = await startSidecar();
  afterAll(() => sidecar.close());
  const exportOf = (threadId: string, maxBytes: number) =>
    exportLog({ thread: new Vm(sidecar.client).thread(aThreadId(threadId)), maxBytes, signal: never });

  it("is a text file without escape sequences when it fits", async () => {
    await openTerminal(sidecar.client, "small", "printf '\\033[31mred\\033[0m\\nä\\n'");
    await untilEnded(sidecar.client, "small");
    const { fileName, data, note } = await exportOf("small", MiB);
    expect([fileName, data.toString(), note]).toEqual(["small.txt", "red\nä\n", undefined]);
  });

  it("is compressed when it does not fit, and only its newest part when that does not fit either", async () => {
    await openTerminal(sidecar.client, "large", "seq 1 200000");
    await untilEnded(sidecar.client, "large");
    const lines = `${Array.from({ length: 200_000 }, (_, index) => index + 1).join("\n")}\n`;
    const whole = await exportOf("large", MiB);
    expect([whole.fileName, whole.note]).toEqual(["large.txt.gz", undefined]);
    expect(whole.data.length).toBeLessThanOrEqual(MiB);
    expect(gunzipSync(whole.data).toString()).toBe(lines);

    const part = await exportOf("large", 100_000);
    expect(part.data.length).toBeLessThanOrEqual(100_000);
    expect(part.data.length).toBeGreaterThan(85_000);
    const text = gunzipSync(part.data).toString();
    expect(lines.endsWith(`\n${text}`)).toBe(true);
    const count = (bytes: number) => bytes.toLocaleString("en");
    expect(part.note).toBe(
      `The log's text has ${count(lines.length)} bytes. This file has the newest ${count(text.length)}; the ${count(lines.length - text.length)} before them did not fit.`,
    );
  });

  it("says that it is empty, and that there is no such thread", async () => {
    await openTerminal(sidecar.client, "empty", "true");
    await untilEnded(sidecar.client, "empty");
    expect(await exportOf("empty", MiB)).toEqual({
      fileName: "empty.txt",
      data: Buffer.alloc(0),
      note: "The log is empty.",
    });
    expect((await refusal(exportOf("nobody", MiB))).code).toBe("not_found");
  });
});

describe("a download", () => {
  it("is never cut within a character", async () => {
    const text = "日本語".repeat(10_000);
    const client = await serve((_req, res) => res.end(text));
    for (const maxBytes of [2_000, 2_050, 2_100, 2_150]) {
      const { data } = await exportLog({
        thread: new Vm(client).thread(aThreadId("1")),
        maxBytes,
        signal: never,
      });
      const kept = gunzipSync(data).toString();
      expect(kept.length).toBeGreaterThan(100);
      expect(text.endsWith(kept)).toBe(true);
    }
  });

  it("exactly as large as allowed is left as it is; one byte more is compressed", async () => {
    const client = await serve((_req, res) => res.end("x".repeat(1_000)));
    const fits = await exportLog({
      thread: new Vm(client).thread(aThreadId("1")),
      maxBytes: 1_000,
      signal: never,
    });
    const over = await exportLog({
      thread: new Vm(client).thread(aThreadId("1")),
      maxBytes: 999,
      signal: never,
    });
    expect([fits.fileName, fits.data.length, over.fileName]).toEqual(["1.txt", 1_000, "1.txt.gz"]);
    expect(gunzipSync(over.data).length).toBe(1_000);
  });

  it("that breaks off gives no file", async () => {
    const client = await serve((_req, res) => {
      res.write("x".repeat(100_000), () => res.destroy());
    });
    const error = await refusal(
      exportLog({ thread: new Vm(client).thread(aThreadId("1")), maxBytes: MiB, signal: never }),
    );
    expect(error.code).toBe("unavailable");
  });

  it("ends when nobody wants it any more, also at the sidecar", async () => {
    let hasEnded = false;
    let hasBegun = false;
    const client = await serve((_req, res) => {
      res.on("close", () => {
        hasEnded = true;
      });
      res.write("x".repeat(100_000));
      hasBegun = true;
    });
    const controller = new AbortController();
    const exported = exportLog({
      thread: new Vm(client).thread(aThreadId("1")),
      maxBytes: MiB,
      signal: controller.signal,
    });
    const failure = expect(exported).rejects.toThrow("the person left");
    await until("the download to begin", () => hasBegun);
    controller.abort(new Error("the person left"));
    await failure;
    await until("the sidecar to hear of it", () => hasEnded);
  });
});

/** A sidecar that answers every request so. */
async function serve(listener: RequestListener): Promise<SidecarClient> {
  const server = createServer((req, res) => {
    res.on("error", () => undefined); // the caller may go
    res.setHeader("content-type", "text/plain"); // as a sidecar does
    listener(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return new SidecarClient({ url: `http://127.0.0.1:${port}`, token: "t" });
}
