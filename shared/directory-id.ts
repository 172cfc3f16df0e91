/** Whether two programs mean the same directory: a path alone says nothing if they run on two machines. */
import { stat } from "node:fs/promises";

/**
 * The id of a directory on its machine: device, inode, and the time at which it was made. Two machines made from one
 * image have the same first two, and a bind mount has all three of its source.
 * @throws what `stat` throws
 */
export async function directoryId(path: string): Promise<string> {
  const { dev, ino, birthtimeNs } = await stat(path, { bigint: true });
  return `${dev}:${ino}:${birthtimeNs}`;
}
