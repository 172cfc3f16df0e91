/** A web site of a test's own, with pages that do harm. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Site {
  /** `127.0.0.1:port`. */
  host: string;
  /** The address of a page. */
  at: (path: string) => string;
  /** The paths that were asked for, the oldest first. */
  asked: string[];
  /** How many bytes of endless answers were sent. */
  sent: () => number;
  /** No endless answer is under way. */
  isIdle: () => boolean;
  close: () => Promise<void>;
}

/** A search for what begins with `slow` takes so long. */
const SLOW_MS = 3_000;

const SHOP = `<h1>Shop</h1><p><a href="/about">About us</a> <a href="/window" target="_blank">Window</a></p>
<form action="/search"><input name="q" placeholder="Search"><select name="c"><option>Red<option>Green</select><button>Go</button></form>
<label><input type="checkbox"> Agree</label> <button onclick="alert('hello')">Alert</button> <a href="/report">Report</a>
<div style="height:3000px"></div><a href="/bottom">Bottom</a>`;

const PAGES: Readonly<Record<string, string>> = {
  "/": SHOP,
  "/about": "<h1>About</h1><a href='/'>Home</a>",
  "/dialogs": "<script>for(;;)alert('again')</script>",
  "/busy": "<p>busy</p><script>setTimeout(()=>{for(;;);},300)</script>",
  "/close": "<script>setTimeout(()=>window.close(),100)</script>",
  "/eat": "<script>const a=[];setInterval(()=>a.push(new Uint8Array(3e7).fill(1)),50)</script>",
  "/ticks": "<script>setInterval(()=>fetch('/tick'),200)</script>",
  "/wide": "<div style='width:30000px;height:30000px'>wide <a href='/'>home</a></div>",
  "/windows": `<script>for(let i=0;i<100;i++)window.open("/about")</script>
<button style="width:1200px;height:700px" onclick="for(let i=0;i<100;i++)window.open('/about')">Open</button>`,
  "/long": `<p>${"word ".repeat(4_000)}</p>`,
  "/many": Array.from({ length: 100_000 }, (_, i) => `<a href="/n${i}">link ${i}</a> `).join(""),
};

export async function startSite(): Promise<Site> {
  const asked: string[] = [];
  const flood: Flood = { bytes: 0, running: 0 };
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    answer(request, response, flood);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    asked,
    sent: () => flood.bytes,
    isIdle: () => flood.running === 0,
    at: (path) => `http://${host}${path}`,
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

interface Flood {
  bytes: number;
  running: number;
}

function answer({ url = "/" }: IncomingMessage, response: ServerResponse, flood: Flood): void {
  const { pathname, searchParams } = new URL(url, "http://site");
  if (pathname === "/hang") return;
  if (pathname === "/to")
    return void response.writeHead(302, { location: searchParams.get("url") ?? "/" }).end();
  if (pathname === "/report" || pathname === "/large") {
    response.writeHead(200, { "content-disposition": "attachment; filename=report.csv" });
    if (pathname === "/report") return void response.end("a,b\n1,2\n");
    endless(response, flood);
  } else if (pathname === "/embeds")
    page(response, "Embeds", `<img src="${searchParams.get("url")}"><p>embedded</p>`);
  else if (pathname === "/datagrams") page(response, "Datagrams", datagrams(searchParams.getAll("to")));
  else if (pathname === "/title") page(response, searchParams.get("text") ?? "", "<p>titled</p>");
  else if (pathname === "/search" && searchParams.get("q")?.startsWith("slow"))
    setTimeout(() => page(response, "Found slowly", "<p>slow</p>"), SLOW_MS).unref();
  else if (pathname === "/search")
    page(response, "Found", `<p>${searchParams.get("q")} in ${searchParams.get("c")}</p>`);
  else page(response, pathname, PAGES[pathname] ?? "<h1>Nothing here</h1><a href='/'>Home</a>");
}

/** Tries each way by which a page could send UDP to these places: WebRTC's servers and candidates, WebTransport. */
function datagrams(places: readonly string[]): string {
  return `<script>
for (const place of ${JSON.stringify(places)}) {
  const [address, port] = place.split(":");
  const peer = new RTCPeerConnection({ iceServers: [{ urls: "stun:" + place }, { urls: "turn:" + place + "?transport=udp", username: "a", credential: "b" }] });
  peer.createDataChannel("x");
  peer.createOffer().then((offer) => peer.setLocalDescription(offer)).then(() => peer.setRemoteDescription({ type: "answer", sdp: peer.localDescription.sdp
    .replace(/a=setup:actpass/g, "a=setup:active") })).then(() => peer.addIceCandidate({ sdpMid: "0", sdpMLineIndex: 0,
      candidate: "candidate:1 1 udp 2122260223 " + address + " " + port + " typ host" })).catch(() => {});
  try { new WebTransport("https://" + place + "/").ready.catch(() => {}); } catch {}
  fetch("https://" + place + "/").catch(() => {});
}
setTimeout(() => { document.title = "Tried"; }, 3000);
</script>`;
}

/** Sends bytes without an end, as fast as the client takes them. */
function endless(response: ServerResponse, flood: Flood): void {
  const part = Buffer.alloc(1024 * 1024);
  flood.running += 1;
  response.on("close", () => {
    flood.running -= 1;
  });
  const more = () => {
    for (let isTaken = true; isTaken && !response.destroyed; flood.bytes += part.length)
      isTaken = response.write(part);
  };
  response.on("drain", more);
  more();
}

function page(response: ServerResponse, title: string, body: string): void {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
  response.end(`<!doctype html><title>${title.replaceAll("<", "&lt;")}</title>${body}`);
}
