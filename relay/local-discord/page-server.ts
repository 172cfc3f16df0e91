import type { IncomingMessage, ServerResponse } from "node:http";
import type { World } from "./state.ts";
export class PageServer {
  readonly key: string;
  port = 0;
  constructor(options: { world: World; key: string }) {
    this.key = options.key;
  }
  async handle(_request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.refuse(response, "Not yet.");
  }
  refuse(response: ServerResponse, sentence: string): void {
    response.writeHead(403, { "content-type": "text/plain; charset=utf-8" }).end(`${sentence}\n`);
  }
  close(): void {}
}
