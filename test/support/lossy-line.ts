/** A line to a sidecar on which single requests, or their answers, are lost. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** What becomes of a request: neither it nor its answer is lost, or one of them. */
export type Fate = "passes" | "request is lost" | "answer is lost";

export interface LossyLine {
  url: string;
  /** What was asked, such as `POST /thread/create`, in order; also what was lost. */
  asked: string[];
  close: () => void;
}

/** @param fateOf of a request, such as `POST /thread/create`; it waits for that */
export async function startLossyLine(
  sidecarUrl: string,
  fateOf: (asked: string) => Fate | Promise<Fate>,
): Promise<LossyLine> {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const { method = "GET", headers, url } = request;
    const body = await buffer(request);
    const what = `${method} ${url}`;
    asked.push(what);
    const fate = await fateOf(what);
    if (fate === "request is lost") return void request.socket.destroy();
    const reply = await fetch(`${sidecarUrl}${url}`, {
      method,
      headers: { authorization: headers.authorization ?? "", "content-type": "application/json" },
      ...(body.length > 0 && { body }),
    }).catch(() => undefined);
    if (!reply) return void request.socket.destroy(); // the sidecar has ended
    const text = await reply.text();
    if (fate === "answer is lost") return void request.socket.destroy();
    response.writeHead(reply.status, { "content-type": "application/json" }).end(text);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, asked, close };
}
