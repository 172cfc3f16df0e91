/** Reading a request's body as bytes, before anybody knows who sends it. */
import type { IncomingMessage } from "node:http";
import type { Readable, Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { AppError } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";

export interface BodyLimits {
  /** The most bytes of one body, inflated. */
  maxBytes: number;
  /** The most bytes of all bodies that are being read. */
  maxTotalBytes: number;
}

/**
 * What is inflated into, in bytes. Node's own 16 KiB are garbage after each body, however small, and a flood of bodies
 * that are none would hold them for as long as no collection comes.
 */
const INFLATED = { chunkSize: 4 * 1024 };
const INFLATE: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(INFLATED),
  "x-gzip": () => createGunzip(INFLATED),
  deflate: () => createInflate(INFLATED),
  br: () => createBrotliDecompress(INFLATED),
};

export class RawBodies {
  readonly #limits: BodyLimits;
  /** The oldest first. */
  readonly #open = new Map<IncomingMessage, number>();
  #totalBytes = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /**
   * Beyond the total the body that has taken longest to come loses its connection: it is one that somebody holds back.
   * @throws AppError `too_large`, `unsupported` (its encoding), `invalid_request` (broken off, or not of its encoding)
   */
  async read(request: IncomingMessage): Promise<Buffer> {
    const { "content-encoding": encoding = "identity", "content-length": length } = request.headers;
    const name = encoding.trim().toLowerCase();
    const make = Object.hasOwn(INFLATE, name) ? INFLATE[name] : undefined;
    if (!make && name !== "identity")
      throw new AppError("unsupported", "content-encoding: must be gzip, deflate, br or none.");
    if (Number(length) > this.#limits.maxBytes) throw this.#tooLarge();
    const inflate = make?.();
    this.#open.set(request, 0);
    try {
      return await this.#collect(request, inflate);
    } finally {
      this.#totalBytes -= this.#open.get(request) ?? 0;
      this.#open.delete(request);
      inflate?.destroy();
      request.resume(); // what comes of a body that was given up is let go
    }
  }

  #collect(request: IncomingMessage, inflate: Transform | undefined): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const source: Readable = inflate ? request.pipe(inflate) : request;
      const give = (error: Error) => {
        source.off("data", onData);
        if (inflate) request.unpipe(inflate);
        reject(error);
      };
      const onData = (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > this.#limits.maxBytes) return give(this.#tooLarge());
        chunks.push(chunk);
        this.#count(request, chunk.length);
      };
      source.on("data", onData);
      source.once("end", () => resolve(Buffer.concat(chunks)));
      request.once("close", () => request.complete || give(brokenOff()));
      request.once("error", () => give(brokenOff()));
      inflate?.once("error", () => give(notOfEncoding()));
    });
  }

  #count(request: IncomingMessage, bytes: number): void {
    this.#open.set(request, (this.#open.get(request) ?? 0) + bytes);
    this.#totalBytes += bytes;
    if (this.#totalBytes > this.#limits.maxTotalBytes) [...this.#open.keys()][0]?.socket.destroy();
  }

  #tooLarge(): AppError {
    return new AppError(
      "too_large",
      `The body may have at most ${formatCount(this.#limits.maxBytes)} bytes.`,
    );
  }
}

function brokenOff(): AppError {
  return new AppError("invalid_request", "The body broke off.");
}

function notOfEncoding(): AppError {
  return new AppError("invalid_request", "The body is not what content-encoding says.");
}
