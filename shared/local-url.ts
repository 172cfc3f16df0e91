/** Where programs of this machine reach a sidecar that listens there. */
export function localUrl({ host, port }: { host: string; port: number | string }): string {
  const here = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${here.includes(":") ? `[${here}]` : here}:${port}`;
}
