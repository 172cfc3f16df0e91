/** Ways out of a page that are no request for a page: none leads to a refused address, by TCP or by UDP. */
import { createSocket, type Socket } from "node:dgram";
import { chmodSync, writeFileSync } from "node:fs";
import { createServer as createHttp, type Server as HttpServer } from "node:http";
import { type AddressInfo, createServer as createTcp, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { USUAL_BROWSERS } from "../../vm/browser/settings.ts";
import { openBrowser, START_MS, untilState } from "../support/browsers.ts";
import { isFull } from "../support/faults.ts";
import { makeFolder } from "../support/folders.ts";
import { startSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const CHROMIUM = "/usr/bin/chromium";

/** Where something is heard that should not be: a TCP server and a UDP socket at one address and port. */
interface Ear {
  /** `address:port`. */
  place: string;
  heard: string[];
  close(): void;
}

async function listen(address: string): Promise<Ear> {
  const heard: string[] = [];
  const server: Server = createTcp((socket) => {
    heard.push("tcp");
    socket.on("error", () => undefined);
    socket.end();
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  const datagrams: Socket = createSocket("udp4");
  datagrams.on("message", () => heard.push("udp"));
  await new Promise<void>((resolve) => datagrams.bind(port, address, resolve));
  const close = () => {
    server.close();
    datagrams.close();
  };
  return { place: `${address}:${port}`, heard, close };
}

/** Those of them that a server can tell. */
const TOLD = [
  ...["beacon", "events", "fetch", "form", "frame", "image", "prefetch", "service", "shared", "socket"],
  ...["style", "worker"],
];

/** Tries each way to each place, by a path with the way's name. */
function pageOf(places: readonly string[]): string {
  return `<!doctype html><title>Trying</title><body><script>
const add = (name, fields) => document.body.append(Object.assign(document.createElement(name), fields));
const ways = {
  image: (url) => { new Image().src = url; },
  fetch: (url) => fetch(url, { mode: "no-cors" }),
  beacon: (url) => navigator.sendBeacon(url, "x"),
  socket: (url) => new WebSocket(url.replace("http", "ws")),
  events: (url) => new EventSource(url),
  style: (url) => add("link", { rel: "stylesheet", href: url }),
  icon: (url) => add("link", { rel: "icon", href: url }),
  prefetch: (url) => add("link", { rel: "prefetch", href: url }),
  preconnect: (url) => add("link", { rel: "preconnect", href: url }),
  resolve: (url) => add("link", { rel: "dns-prefetch", href: url }),
  speculate: (url) => add("script", { type: "speculationrules",
    textContent: JSON.stringify({ prefetch: [{ urls: [url], eagerness: "immediate" }], prerender: [{ urls: [url], eagerness: "immediate" }] }) }),
  ping: (url) => { const a = Object.assign(document.createElement("a"), { href: "#x", ping: url }); document.body.append(a); a.click(); },
  frame: (url) => add("iframe", { src: url }),
  form: (url) => { add("iframe", { name: url }); const form = Object.assign(document.createElement("form"), { action: url, target: url, method: "post" }); document.body.append(form); form.submit(); },
  worker: (url) => new Worker("/worker.js?" + encodeURIComponent(url)),
  shared: (url) => new SharedWorker("/worker.js?" + encodeURIComponent(url), url),
  service: (url) => navigator.serviceWorker.register("/worker.js?" + encodeURIComponent(url), { scope: "/" + url.replace(/\\W/g, "") }),
  transport: (url) => new WebTransport(url.replace("http:", "https:")).ready,
  relay: (url) => { const { host } = new URL(url); const peer = new RTCPeerConnection({ iceTransportPolicy: "all", iceServers: [
    { urls: "stun:" + host }, ...["udp", "tcp"].map((by) => ({ urls: "turn:" + host + "?transport=" + by, username: "a", credential: "b" })),
    { urls: "turns:" + host, username: "a", credential: "b" }] }); peer.createDataChannel("x"); return peer.createOffer().then((offer) => peer.setLocalDescription(offer)); },
};
for (const place of ${JSON.stringify(places)}) for (const [name, go] of Object.entries(ways)) {
  try { Promise.resolve(go("http://" + place + "/" + name)).catch(() => {}); } catch {}
}
setTimeout(() => { document.title = "Tried"; }, 2500);
</script>`;
}

/** Tells the paths that it was asked for. */
async function startWeb(bodyOf: (path: string) => { type: string; body: string }) {
  const asked: string[] = [];
  const server: HttpServer = createHttp(({ url = "/" }, response) => {
    asked.push(url.slice(1));
    const { type, body } = bodyOf(url);
    response.writeHead(200, { "content-type": type }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close };
}

const own = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;
const ears: Ear[] = [];
beforeAll(async () => {
  for (const address of ["127.0.0.1", ...(own === undefined ? [] : [own])]) ears.push(await listen(address));
});
afterAll(() => {
  for (const ear of ears) ear.close();
});

// Promise: S50
test(
  "workers, prefetches, sockets, beacons, frames and the rest reach what is open, and nothing that is refused",
  async () => {
    const witness = await startWeb(() => ({ type: "text/plain", body: "seen" }));
    const page = pageOf([...ears.map(({ place }) => place), witness.host]);
    const worker = 'fetch(decodeURIComponent(location.search.slice(1)), { mode: "no-cors" });';
    const web = await startWeb((path) =>
      path.startsWith("/worker.js")
        ? { type: "text/javascript", body: worker }
        : { type: "text/html", body: page },
    );
    const hosts = [web.host, witness.host];
    const sidecar = await startSidecar({ browser: { ...USUAL_BROWSERS, hosts } });
    try {
      await openBrowser(sidecar, "page", `http://${web.host}/`);
      await untilState(sidecar, "page", "that it has tried", ({ title }) => title === "Tried");
      const lacking = () => TOLD.filter((name) => !witness.asked.includes(name));
      await until("each way to be told where it is open", () => lacking().length === 0).catch(
        () => undefined,
      );
      expect(lacking()).toEqual([]);
      expect(ears.map(({ heard }) => heard)).toEqual(ears.map(() => []));
    } finally {
      await sidecar.close();
      for (const server of [web, witness]) server.close();
    }
  },
  START_MS,
);

/** Chromium is told to take QUIC for this place, and no certificate stands in its way. */
const quicArgs = (place: string) => ["--ignore-certificate-errors", `--origin-to-force-quic-on=${place}`];

// Promise: S50
test(
  "QUIC is not spoken, even if Chromium is told to speak nothing else",
  async () => {
    const ear = await listen("127.0.0.1");
    const folder = makeFolder();
    const program = join(folder.path, "chromium");
    writeFileSync(
      program,
      `#!/bin/sh\nexec ${CHROMIUM} "$@" ${quicArgs(ear.place).join(" ")} --enable-quic\n`,
    );
    chmodSync(program, 0o755);
    const browser = { ...USUAL_BROWSERS, program, hosts: [ear.place] };
    const sidecar = await startSidecar({ browser });
    try {
      await openBrowser(sidecar, "page", `https://${ear.place}/`);
      await untilState(sidecar, "page", "that it does not come", ({ status }) => status === "failed");
      expect([...new Set(ear.heard)]).toEqual(["tcp"]);
    } finally {
      await sidecar.close();
      ear.close();
      folder.remove();
    }
  },
  START_MS,
);

test.runIf(isFull)(
  "without our options Chromium speaks QUIC there",
  async () => {
    const ear = await listen("127.0.0.1");
    const args = ["--no-sandbox", "--disable-gpu", ...quicArgs(ear.place)];
    const browser = await chromium.launch({ executablePath: CHROMIUM, args });
    try {
      const page = await browser.newPage();
      const opening = page.goto(`https://${ear.place}/`).catch(() => undefined);
      await until("a datagram", () => ear.heard.includes("udp"));
      await page.close();
      await opening;
    } finally {
      await browser.close();
      ear.close();
    }
  },
  60_000,
);
