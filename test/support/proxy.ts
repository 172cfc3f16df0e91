/** A plain TCP proxy before a port of this machine: a line that can be cut, mended, and held up. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  url: string;
  /** Breaks every connection, and takes no more. */
  cut: () => Promise<void>;
  mend: () => Promise<void>;
  /** From here on nothing goes through, though every connection stays; nobody is told. */
  stall: () => void;
  flow: () => void;
  close: () => Promise<void>;
}

export async function startProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isStalled = false;
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket)).on("error", () => undefined); // cut lines are the point
    }
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on("data", (data) => {
        if (!to.write(data)) from.pause();
      });
      to.on("drain", () => isStalled || from.resume());
      from.on("end", () => to.end());
      if (isStalled) from.pause();
    }
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const cut = () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    return closed;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    mend: () => listen(port),
    stall: () => {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    flow: () => {
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
    close: () => (server.listening ? cut() : Promise.resolve()),
  };
}
