/** What the bot did, counted: for tests and benchmarks. */

export type RequestRecord = {
  at: number;
  method: string;
  /** `METHOD /route` with parameters named, or `unknown`. */
  route: string;
  path: string;
  /** 0 while unanswered, or when a fault ended the connection. */
  status: number;
  isGlobalExempt: boolean;
  scope?: string;
};

/** What is kept of a long run: the newest. */
const MAX_REQUESTS = 200_000;

export class Stats {
  readonly requests: RequestRecord[] = [];
  identifies = 0;
  resumes = 0;
  heartbeats = 0;
  gatewaySends = 0;
  /** Close codes that the gateway ended connections with. */
  readonly closes: number[] = [];

  add(request: RequestRecord): void {
    if (this.requests.length >= MAX_REQUESTS) this.requests.splice(0, MAX_REQUESTS / 10);
    this.requests.push(request);
  }

  /** Requests whose `METHOD /route` contains `part`. */
  count(part = ""): number {
    return this.requests.filter((request) => request.route.includes(part)).length;
  }

  byRoute(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { route } of this.requests) counts[route] = (counts[route] ?? 0) + 1;
    return counts;
  }

  get rateLimited(): number {
    return this.requests.filter((request) => request.status === 429).length;
  }

  /** 401, 403 and 429 but for shared ones: 10,000 of them in 10 minutes get an address banned. */
  get invalid(): number {
    return this.requests.filter(
      ({ status, scope }) => status === 401 || status === 403 || (status === 429 && scope !== "shared"),
    ).length;
  }

  /** The most requests within any 1,000 ms; interaction answers count only when asked for. */
  maxPerSecond(options: { withInteractions?: boolean } = {}): number {
    const times = this.requests
      .filter((request) => options.withInteractions || !request.isGlobalExempt)
      .map((request) => request.at);
    let most = 0;
    let first = 0;
    for (const [index, at] of times.entries()) {
      while ((times[first] ?? at) <= at - 1000) first += 1;
      most = Math.max(most, index - first + 1);
    }
    return most;
  }

  reset(): void {
    this.requests.length = 0;
    this.closes.length = 0;
    this.identifies = 0;
    this.resumes = 0;
    this.heartbeats = 0;
    this.gatewaySends = 0;
  }
}
