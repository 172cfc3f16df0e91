import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { bundlePrograms } from "../test/support/programs.ts";
import { percentile, withSidecar } from "./measure.ts";

await bundlePrograms();
const agent = new http.Agent({ keepAlive: true });
const call = (url: string, method: string, headers: any, body?: string) =>
  new Promise<any>((res, rej) => {
    const q = http
      .request(
        url,
        {
          agent,
          method,
          headers: {
            ...headers,
            ...(body
              ? { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
              : {}),
          },
        },
        (r) => {
          const c: Buffer[] = [];
          r.on("data", (d) => c.push(d));
          r.on("end", () => res(JSON.parse(Buffer.concat(c).toString())));
        },
      )
      .on("error", rej);
    q.end(body);
  });
await withSidecar(
  {
    LOG_LEVEL: process.env["LL"] ?? "info",
    ...(process.env["PROF"] ? { NODE_OPTIONS: "--require /tmp/pre.cjs" } : {}),
  },
  async ({ open, url, headers, pids }) => {
    await open("key", "stty raw -echo; cat");
    await sleep(500);
    let since = 0;
    const a: number[] = [],
      b: number[] = [];
    for (let i = 0; i < 3000; i++) {
      if (i === 500 && process.env["PROF"]) process.kill(pids()[0]!, "SIGUSR2");
      const echo = call(`${url}/thread/key/output?since=${since}&waitMs=10000`, "GET", headers);
      const t0 = performance.now();
      const inp = call(`${url}/thread/key/input`, "POST", headers, '{"text":"x","enter":false}').then(() =>
        a.push(performance.now() - t0),
      );
      since = (await echo).offset;
      b.push(performance.now() - t0);
      await inp;
    }
    if (process.env["PROF"]) {
      process.kill(pids()[0]!, "SIGUSR2");
      await sleep(1500);
    }
    for (const [n, l] of Object.entries({ a, b })) {
      l.sort((x, y) => x - y);
      console.log(
        n,
        percentile(l, 10).toFixed(2),
        percentile(l, 50).toFixed(2),
        percentile(l, 95).toFixed(2),
      );
    }
  },
);
