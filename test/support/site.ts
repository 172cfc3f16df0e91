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
  "/wide": "<div style='width:30000px;height:30000px'>wide <a href='/'>home</a></div>",
  "/many": Array.from({ length: 100_000 }, (_, i) => `<a href="/n${i}">link ${i}</a> `).join(""),
};

export async function startSite(): Promise<Site> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    asked,
    at: (path) => `http://${host}${path}`,
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

function answer({ url = "/" }: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url, "http://site");
  if (pathname === "/hang") return;
  if (pathname === "/to")
    return void response.writeHead(302, { location: searchParams.get("url") ?? "/" }).end();
  if (pathname === "/report" || pathname === "/large") {
    response.writeHead(200, { "content-disposition": "attachment; filename=report.csv" });
    if (pathname === "/report") return void response.end("a,b\n1,2\n");
    endless(response);
  } else if (pathname === "/embeds")
    page(response, "Embeds", `<img src="${searchParams.get("url")}"><p>embedded</p>`);
  else if (pathname === "/title") page(response, searchParams.get("text") ?? "", "<p>titled</p>");
  else if (pathname === "/search" && searchParams.get("q")?.startsWith("slow"))
    setTimeout(() => page(response, "Found slowly", "<p>slow</p>"), SLOW_MS).unref();
  else if (pathname === "/search")
    page(response, "Found", `<p>${searchParams.get("q")} in ${searchParams.get("c")}</p>`);
  else page(response, pathname, PAGES[pathname] ?? "<h1>Nothing here</h1><a href='/'>Home</a>");
}

/** Sends bytes without an end, as fast as the client takes them. */
function endless(response: ServerResponse): void {
  const part = Buffer.alloc(1024 * 1024);
  const more = () => {
    while (!response.destroyed && response.write(part));
  };
  response.on("drain", more);
  more();
}

function page(response: ServerResponse, title: string, body: string): void {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
  response.end(`<!doctype html><title>${title.replaceAll("<", "&lt;")}</title>${body}`);
}
